"""PersistentVolumeClaims: a directory for each, below the kubelet's state directory, which lives as long as the claim.

A claim that nobody has bound is bound here, to a volume made for it, as a provisioner would do it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rayfleet.api.meta import PERSISTENTVOLUMECLAIMS, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.errors import AlreadyExists, Conflict, NotFound
from rayfleet.kubelet.env import ConfigError
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.sandbox import remove_directory
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.kubelet.volumes import used_claims

log = logging.getLogger(__name__)
PERSISTENTVOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STORAGECLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
DELETE, RETAIN = "Delete", "Retain"
PROVISIONER = "rayfleet.dev/kubelet"


async def bound(client: Client, folder: Path, namespace: str, name: str) -> Mapping[str, str]:
    """`path`: the claim's directory, which exists. Raises NotFound without the claim; ApiError."""
    claim = await client.get(PERSISTENTVOLUMECLAIMS, name, namespace)
    path = folder / claim["metadata"]["uid"]
    if (claim.get("status") or {}).get("phase") != "Bound":
        await bind(client, claim, path)
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o1777)
    return {"path": str(path)}


async def make_own(client: Client, pod: Pod, volume: Mapping[str, Any]) -> None:
    """The claim of an ephemeral volume, as a control plane makes it: it goes with the Pod. Raises ConfigError, ApiError."""
    meta, template = pod.metadata, volume["ephemeral"].get("volumeClaimTemplate") or {}
    name = f"{meta.name}-{volume['name']}"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid, "controller": True, "blockOwnerDeletion": True}
    kept = {key: value for key, value in (template.get("metadata") or {}).items() if key in ("labels", "annotations")}
    try:
        found = await client.get(PERSISTENTVOLUMECLAIMS, name, meta.namespace)
    except NotFound:
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {**kept, "name": name, "ownerReferences": [owner]},
            "spec": template.get("spec") or {},
        }
        found = await client.create(PERSISTENTVOLUMECLAIMS, body, meta.namespace)
    if not any(each.get("uid") == meta.uid for each in found["metadata"].get("ownerReferences") or ()):
        raise ConfigError(f'volume "{volume["name"]}": the claim {name} is there already, and is not this Pod\'s')


async def remove_own(client: Client, pod: Pod, name: str) -> None:
    """Raises ApiError."""
    try:
        found = await client.get(PERSISTENTVOLUMECLAIMS, name, pod.metadata.namespace)
        if any(each.get("uid") == pod.metadata.uid for each in found["metadata"].get("ownerReferences") or ()):
            await client.delete(PERSISTENTVOLUMECLAIMS, name, pod.metadata.namespace, uid=found["metadata"]["uid"])
    except (NotFound, Conflict):
        pass


async def bind(client: Client, claim: Mapping[str, Any], path: Path) -> None:
    meta, spec = claim["metadata"], claim["spec"]
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "1Gi")
    volume = spec.get("volumeName") or f"pvc-{meta['uid']}"
    granted = {"accessModes": spec.get("accessModes") or ["ReadWriteOnce"], "capacity": {"storage": size}}
    body = {
        "apiVersion": "v1",
        "kind": PERSISTENTVOLUMES.kind,
        "metadata": {"name": volume, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {
            **granted,
            "hostPath": {"path": str(path)},
            "persistentVolumeReclaimPolicy": await policy_of(client, spec.get("storageClassName") or ""),
            "storageClassName": spec.get("storageClassName") or "",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **{key: meta[key] for key in ("namespace", "name", "uid")}},
        },
    }
    try:
        await client.create(PERSISTENTVOLUMES, body)
        await client.patch(PERSISTENTVOLUMES, volume, None, {"status": {"phase": "Bound"}}, subresource="status")
    except (AlreadyExists, NotFound):  # by an earlier try; or this server has no such kind, and claims are all that there is
        pass
    who = (meta["name"], meta["namespace"])
    if not spec.get("volumeName"):
        await client.patch(PERSISTENTVOLUMECLAIMS, *who, {"spec": {"volumeName": volume}})
    await client.patch(PERSISTENTVOLUMECLAIMS, *who, {"status": {"phase": "Bound", **granted}}, subresource="status")


async def policy_of(client: Client, storage_class: str) -> str:
    """What becomes of a volume whose claim goes: Delete or Retain. Raises ApiError."""
    if not storage_class:
        return DELETE
    try:
        return str((await client.get(STORAGECLASSES, storage_class)).get("reclaimPolicy") or DELETE)
    except NotFound:
        return DELETE


async def is_retained(client: Client, uid: str) -> bool:
    """Whether somebody wants to keep what the claim of this UID held; its volume then says so. Raises ApiError."""
    name = f"pvc-{uid}"
    try:
        volume = await client.get(PERSISTENTVOLUMES, name)
        if volume["spec"].get("persistentVolumeReclaimPolicy") != RETAIN:
            return False
        if (volume.get("status") or {}).get("phase") != "Released":
            await client.patch(PERSISTENTVOLUMES, name, None, {"status": {"phase": "Released"}}, subresource="status")
        return True
    except NotFound:
        return False


async def sweep(client: Client, settings: KubeletSettings) -> None:
    """Removes the directories, and the volumes, of claims that are gone and that no Pod has, but for those to retain. Raises ApiError."""
    kept = directories(settings.claims)
    if not kept:
        return
    living = {claim["metadata"]["uid"] for claim in await client.list(PERSISTENTVOLUMECLAIMS)} | used_claims(settings.pods)
    for path in kept:
        if path.name not in living and not await is_retained(client, path.name):
            log.info("removing the directory of claim %s, which is no more", path.name)
            await asyncio.to_thread(remove_directory, path)
            try:
                await client.delete(PERSISTENTVOLUMES, f"pvc-{path.name}")
            except NotFound:
                pass


def directories(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
