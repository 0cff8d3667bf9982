"""The init container that holds a worker back until the head's GCS answers (KubeRay, 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rayfleet.resources import env

NAME = "wait-gcs-ready"
COPIED = ("image", "imagePullPolicy", "securityContext")
QUIET_SECONDS = 120
STORAGE = ("csi", "ephemeral", "persistentVolumeClaim")
"""Volumes that somebody must attach or serve, perhaps a sidecar that only starts after the init containers."""

# The port first, by the shell alone: `ray health-check` loads all of Ray at each try, and the starting head needs the CPU.
SCRIPT = """\
waited=0
until said=$( (exec 3<> /dev/tcp/{host}/{port}) 2>&1 ) && said=$(ray health-check --address {host}:{port} 2>&1); do
  if [ "$waited" -ge {quiet} ]; then
    echo "$waited s: the GCS at {host}:{port} does not answer yet: $said"
  fi
  sleep {pause}
  waited=$((waited + {pause}))
done
echo "the GCS at {host}:{port} answers after about $waited s"
"""


def image_of(ray: Mapping[str, Any]) -> dict[str, Any]:
    """What a container of the operator takes over from Ray's."""
    return {field: ray[field] for field in COPIED if ray.get(field)}


def wait_container(
    ray: Mapping[str, Any],
    volumes: Iterable[Mapping[str, Any]],
    host: str,
    port: int,
    variables: list[dict[str, Any]],
    shell: list[str],
    pause: int,
) -> dict[str, Any]:
    """`ray` is the Ray container whose image it shares, `volumes` are its Pod's; `host` and `port` are the head's; `pause` the seconds
    between two tries. It sees Ray's files (certificates may be among them), but no storage: that may come up only after it."""
    small = {"cpu": "200m", "memory": "256Mi"}
    storage = {volume.get("name") for volume in volumes if any(kind in volume for kind in STORAGE)}
    mounts = [mount for mount in ray.get("volumeMounts") or () if mount.get("name") not in storage]
    return {
        "name": NAME,
        **image_of(ray),
        "command": shell,
        "args": [SCRIPT.format(host=host, port=port, quiet=QUIET_SECONDS, pause=pause)],
        "env": env.merged(ray.get("env") or (), variables),
        **({"volumeMounts": mounts} if mounts else {}),
        "resources": {"limits": dict(small), "requests": dict(small)},
    }
