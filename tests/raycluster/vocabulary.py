"""The words in which decision tests are written: clusters, groups and Pods as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode_cluster
from rayfleet.api.names import Slot, head_stem, replica_name, slot_names, worker_stem
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ChildView, PodView, ServiceView, V, decode_child
from rayfleet.planning.actions import Create, Delete, Fence
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.observed import Observed
from rayfleet.resources.services import head_service

UID = "11111111-2222-3333-4444-555555555555"
NOW = 1_800_000_000.0


def template(**container: Any) -> dict[str, Any]:
    given = {"name": "ray", "image": "rayproject/ray:2.60.0", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}, **container}
    return {"spec": {"containers": [given]}}


def group(name: str = "small", replicas: int = 2, **fields: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "minReplicas": 0, "maxReplicas": 10, "template": template(), **fields}


def cluster(
    *groups: dict[str, Any], generation: int = 1, annotations: dict[str, str] | None = None, status: Any = None, **spec: Any
) -> RayCluster:
    document = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": "demo",
            "namespace": "default",
            "uid": UID,
            "resourceVersion": "7",
            "generation": generation,
            "annotations": annotations or {},
        },
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template()},
            "workerGroupSpecs": list(groups),
            **spec,
        },
        "status": status or {},
    }
    decoded = decode_cluster(msgspec.json.encode(document))
    assert isinstance(decoded, RayCluster), decoded
    return decoded


def pod(name: str, marks: dict[str, str], *, ready: bool = True, phase: str = "Running", **more: Any) -> PodView:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "demo", "uid": UID, "controller": True}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": marks, "ownerReferences": [owner]}
    if more.pop("terminating", False):
        metadata["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    if "created" in more:
        metadata["creationTimestamp"] = more.pop("created")
    if "annotations" in more:
        metadata["annotations"] = more.pop("annotations")
    if "cost" in more:
        metadata["annotations"] = {labels.DELETION_COST: more.pop("cost")}
    status = {"phase": phase, "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": str(ready)}], **more.pop("status", {})}
    spec = {"containers": [{"name": "ray"}], **more}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, PodView)


def head(name: str = "", **more: Any) -> PodView:
    name = name or slot_names(head_stem("demo"), UID, labels.HEAD_GROUP, 0, 1, 1)[Slot(0, 0)]
    return pod(name, {labels.NODE_TYPE: labels.HEAD, labels.GROUP: labels.HEAD_GROUP}, **more)


def worker_name(replica: int, host: int = 0, *, group: str = "small", hosts: int = 1, lives: int = 0) -> str:
    return slot_names(worker_stem("demo", group), UID, group, lives, replica + 1, hosts)[Slot(replica, host)]


def worker(replica: int, host: int = 0, *, group: str = "small", hosts: int = 1, lives: int = 0, name: str = "", **more: Any) -> PodView:
    marks = {labels.NODE_TYPE: labels.WORKER, labels.GROUP: group, labels.REPLICA_INDEX: str(replica)}
    if hosts > 1:
        marks |= {labels.HOST_INDEX: str(host), labels.REPLICA_NAME: replica_name(group, UID, replica, lives)}
    return pod(name or worker_name(replica, host, group=group, hosts=hosts, lives=lives), marks, **more)


def unmarked_worker(name: str, *, group: str = "small", **more: Any) -> PodView:
    """A worker that was taken over and says nothing of its slot."""
    return pod(name, {labels.NODE_TYPE: labels.WORKER, labels.GROUP: group}, **more)


def service(of: RayCluster) -> ServiceView:
    return child_of(head_service(of, Configuration()), ServiceView)


def child_of(manifest: Mapping[str, Any], cls: type[V] = ChildView) -> V:  # type: ignore[assignment]
    """A child as the API would show it."""
    shown = {**manifest, "metadata": {**manifest["metadata"], "uid": f"uid-{manifest['metadata']['name']}"}}
    return decode_child(msgspec.json.encode(shown), cls)


def observed(of: RayCluster, *pods: PodView, gone: tuple[str, ...] = (), backoffs: tuple[Backoff, ...] = (), **more: Any) -> Observed:
    return Observed(
        cluster=of,
        now=NOW,
        pods=tuple(sorted(pods, key=lambda found: found.name)),
        services=more.pop("services") if "services" in more else (service(of),),
        gone=frozenset(gone),
        backoffs={backoff.scope: backoff for backoff in backoffs},
        **more,
    )


def created(plan: Plan) -> list[str]:
    return [action.name for action in plan.actions if isinstance(action, Create)]


def deleted(plan: Plan) -> dict[str, str]:
    """Name and reason of each delete."""
    return {action.name: action.reason for action in plan.actions if isinstance(action, Delete)}


def fences(plan: Plan) -> list[str | None]:
    return [action.annotations[labels.LIVES] for action in plan.actions if isinstance(action, Fence) and action.annotations]


def asks(plan: Plan) -> bool:
    """Is the API asked whether our copy of the cluster is the newest, before anything is done?"""
    return bool(plan.actions) and isinstance(plan.actions[0], Fence) and not plan.actions[0].annotations


def with_status(of: RayCluster, plan: Plan) -> RayCluster:
    """The cluster after the plan's status was written."""
    assert plan.status is not None
    before = msgspec.to_builtins(of.status)
    after = {**before, **plan.status.patch}
    for name, value in plan.status.patch.items():
        if isinstance(value, dict) and isinstance(before.get(name), dict):
            after[name] = {key: part for key, part in {**before[name], **value}.items() if part is not None}
    kept = {name: value for name, value in after.items() if value is not None}
    return msgspec.structs.replace(of, status=msgspec.convert(kept, type(of.status)))
