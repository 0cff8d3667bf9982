"""A RayCluster of `cluster.ray.io/v1`, the Python operator's resource (reference: Ray, A.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.api.legacy.note import Inconvertible, Note
from rayfleet.api.legacy.old import (
    GLOBAL_MAX_WORKERS,
    HEAD_START,
    IDLE_MINUTES,
    PORTS,
    SPEED,
    WORKER_START,
    Obj,
    Old,
    PodType,
    Port,
    mapping,
    number,
    sequence,
    texts,
    whole,
)
from rayfleet.api.meta import OLD_RAYCLUSTERS

GROUP = OLD_RAYCLUSTERS.group
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
KOPF = "kopf.zalando.org/"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
FIELDS = (
    "podTypes",
    "headPodType",
    "maxWorkers",
    "upscalingSpeed",
    "idleTimeoutMinutes",
    "headServicePorts",
    "headStartRayCommands",
    "workerStartRayCommands",
)
TYPE_FIELDS = ("name", "minWorkers", "maxWorkers", "rayResources", "setupCommands", "workerSetupCommands", "podConfig")


def read_resource(document: Obj) -> tuple[Old, tuple[Note, ...]]:
    """Raises Inconvertible."""
    meta, spec = mapping(document.get("metadata"), "metadata"), mapping(document.get("spec"), "spec")
    given = enumerate(sequence(spec.get("podTypes"), "spec.podTypes"))
    types = tuple(pod_type(mapping(each, f"spec.podTypes[{index}]"), index) for index, each in given)
    head = spec.get("headPodType")
    if head not in [each.name for each in types]:
        raise Inconvertible(f"spec.headPodType: {head!r} is the name of none of spec.podTypes")
    speed = number(spec.get("upscalingSpeed"), "spec.upscalingSpeed", SPEED)
    old = Old(
        name=str(meta.get("name") or ""),
        namespace=str(meta.get("namespace") or ""),
        head=str(head),
        types=types,
        root="spec.",
        labels=mapping(meta.get("labels"), "metadata.labels"),
        annotations={name: text for name, text in mapping(meta.get("annotations"), "metadata.annotations").items() if is_kept(name)},
        uid=str(meta.get("uid") or ""),
        max_workers=whole(spec.get("maxWorkers"), "spec.maxWorkers", GLOBAL_MAX_WORKERS),
        idle_minutes=number(spec.get("idleTimeoutMinutes"), "spec.idleTimeoutMinutes", IDLE_MINUTES),
        speed=speed or SPEED,  # 0 was taken for nothing
        head_start=texts(spec.get("headStartRayCommands"), "spec.headStartRayCommands") or HEAD_START,
        worker_start=texts(spec.get("workerStartRayCommands"), "spec.workerStartRayCommands") or WORKER_START,
        ports=merged_ports(sequence(spec.get("headServicePorts"), "spec.headServicePorts")),
    )
    return old, tuple(strange(spec))


def is_kept(annotation: str) -> bool:
    return not annotation.startswith(KOPF) and annotation != LAST_APPLIED


def pod_type(given: Obj, index: int) -> PodType:
    path = f"spec.podTypes[{index}]"
    own = given.get("workerSetupCommands") or given.get("setupCommands")
    return PodType(
        name=str(given.get("name") or ""),
        path=path,
        pod=mapping(given.get("podConfig"), f"{path}.podConfig"),
        pod_path=f"{path}.podConfig",
        min_workers=whole(given.get("minWorkers"), f"{path}.minWorkers", 0),
        max_workers=whole(given.get("maxWorkers"), f"{path}.maxWorkers", None),
        resources=mapping(given["rayResources"], f"{path}.rayResources") if given.get("rayResources") is not None else None,
        setup=texts(own, f"{path}.workerSetupCommands") if own else None,
    )


def merged_ports(given: list[Any]) -> tuple[Port, ...]:
    """By name, over the usual ones."""
    found = {port.name: port for port in PORTS}
    for index, each in enumerate(given):
        path = f"spec.headServicePorts[{index}]"
        body = mapping(each, path)
        name, port = str(body.get("name") or ""), whole(body.get("port"), f"{path}.port", None)
        if not name or port is None:
            raise Inconvertible(f"{path}: a port needs a name and a number")
        found[name] = Port(name, port, body.get("targetPort") or port)
    return tuple(found.values())


def strange(spec: Obj) -> Iterator[Note]:
    """The API server never kept these."""
    for name in sorted(spec.keys() - set(FIELDS)):
        yield Note(f"spec.{name}", "the old definition has no such field, and the API server dropped it", "see what it was meant to do")
    for index, each in enumerate(spec.get("podTypes") or ()):
        for name in sorted(each.keys() - set(TYPE_FIELDS)):
            yield Note(f"spec.podTypes[{index}].{name}", "the old definition has no such field, and the API server dropped it")
        if each.get("workerSetupCommands") and each.get("setupCommands"):
            said = "workerSetupCommands stand beside it, and were what counted"
            yield Note(f"spec.podTypes[{index}].setupCommands", said)
