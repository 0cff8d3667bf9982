"""What Ray's processes share: memory for the object store, and logs with the containers beside them (KubeRay, 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SHARED_MEMORY = "shared-mem"
SHARED_MEMORY_PATH = "/dev/shm"
LOGS = "ray-logs"
LOGS_PATH = "/tmp/ray"


def with_shared_memory(spec: dict[str, Any], container: dict[str, Any], params: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The Pod spec and its Ray container with an emptyDir in memory at /dev/shm, as large as the container's memory.

    Left alone when the user put the plasma directory elsewhere or mounts something there.
    """
    mounts = list(container.get("volumeMounts") or ())
    volumes = list(spec.get("volumes") or ())
    taken = any(mount.get("mountPath", "").rstrip("/") == SHARED_MEMORY_PATH for mount in mounts)
    if taken or "plasma-directory" in params:
        return spec, container
    if not any(volume.get("name") == SHARED_MEMORY for volume in volumes):
        volumes.append({"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory", **size_limit(container)}})
    mounts.append({"name": SHARED_MEMORY, "mountPath": SHARED_MEMORY_PATH})
    return {**spec, "volumes": volumes}, {**container, "volumeMounts": mounts}


def size_limit(container: Mapping[str, Any]) -> dict[str, str]:
    resources: Mapping[str, Any] = container.get("resources") or {}
    memory = (resources.get("limits") or {}).get("memory") or (resources.get("requests") or {}).get("memory")
    return {"sizeLimit": str(memory)} if memory else {}


def with_shared_logs(spec: dict[str, Any], ray: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """An emptyDir at /tmp/ray, unless the user mounts something there; and the mount that the sidecar shares."""
    mounts = list(ray.get("volumeMounts") or ())
    if found := mount_of_logs(mounts):
        return spec, ray, found
    mount = {"name": LOGS, "mountPath": LOGS_PATH}
    volumes = list(spec.get("volumes") or ())
    if not any(volume.get("name") == LOGS for volume in volumes):
        volumes.append({"name": LOGS, "emptyDir": {}})
    return {**spec, "volumes": volumes}, {**ray, "volumeMounts": [*mounts, mount]}, mount


def mount_of_logs(mounts: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    return next((mount for mount in mounts if mount.get("mountPath", "").rstrip("/") == LOGS_PATH), None)
