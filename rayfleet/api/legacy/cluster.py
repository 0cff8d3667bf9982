"""A cluster of the old formats into a RayCluster of `ray.io/v1` and the Services by which it was found (field map: Ray, A.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rayfleet.api.labels import AUTOSCALING
from rayfleet.api.legacy.note import Converted, Inconvertible, Note, Obj
from rayfleet.api.legacy.old import Old, PodType, Port
from rayfleet.api.legacy.pods import COMPONENT, env_needs, start_params, template
from rayfleet.api.legacy.start import Start, read_start, worker_port
from rayfleet.api.names import CLUSTER_NAME_LIMIT, DNS_1035, suffix

FROM = "cluster.ray.io/converted-from"
TYPE = "cluster.ray.io/pod-type"
"""On a template: the name of the old type, which the group's name may only be like."""
OLDEST, TRIED = (1, 11), (2, 9)
FAST = 1000.0
"""The speed that `upscalingMode: Default` stands for in Ray."""
VERSION = re.compile(r":v?(\d+)\.(\d+)\.(\d+)")


def convert_cluster(old: Old, *, hosted: bool = False) -> Converted:
    """`hosted`: the operator scales it, and no container beside the head. Raises Inconvertible."""
    notes: list[Note] = []
    head_start = read_start(old.head_start, path(old, "headStartRayCommands"), old.head_setup, head=True)
    head, said = template(old, old.head_type, head_start, head=True)
    params, more = start_params(old.head_type, head_start)
    notes += [*said, *more, *head_start.notes, *ports_agree(old, head_start)]
    groups: list[Obj] = []
    for kind in workers(old):
        setup = old.worker_setup if kind.setup is None else kind.setup
        start = read_start(old.worker_start, path(old, "workerStartRayCommands"), setup, head=False)
        body, said = template(old, kind, start, head=False)
        own, more = start_params(kind, start)
        groups.append(group(old, kind, body, own, [each["groupName"] for each in groups]))
        notes += [*said, *more, *start.notes]
    version = image_version(old, notes)
    spec: Obj = {
        **({"rayVersion": version} if version else {}),
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"idleTimeoutSeconds": round(old.idle_minutes * 60), "upscalingMode": mode(old)},
        "headGroupSpec": {"rayStartParams": params, "template": head},
        "workerGroupSpecs": groups,
    }
    notes += [*speed_notes(old), *size_notes(old, groups), *setup_notes(old), *env_needs(old.types)]
    body = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata(old, notes, hosted), "spec": spec}
    return Converted((body, *services(old, body)), tuple(dict.fromkeys(notes)))


def path(old: Old, name: str) -> str:
    """A field in the words of the format that it was written in."""
    return f"{old.root}{name}" if old.root else re.sub(r"([A-Z])", lambda found: f"_{found.group(1).lower()}", name)


def metadata(old: Old, notes: list[Note], hosted: bool) -> Obj:
    name = cluster_name(old.name)
    if name != old.name:
        notes.append(Note("metadata.name", f"{old.name!r} cannot be the name of a RayCluster of today", f"it is called {name}", lost=True))
    notes_of_today = {**old.annotations, **({FROM: old.uid} if old.uid else {}), **({AUTOSCALING: "hosted"} if hosted else {})}
    found: Obj = {"name": name, **({"namespace": old.namespace} if old.namespace else {})}
    return found | ({"labels": dict(old.labels)} if old.labels else {}) | ({"annotations": notes_of_today} if notes_of_today else {})


def cluster_name(name: str) -> str:
    """The same where it can be."""
    if len(name) <= CLUSTER_NAME_LIMIT and DNS_1035.fullmatch(name):
        return name
    plain = re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"r{plain}"
    return f"{plain[: CLUSTER_NAME_LIMIT - 6].rstrip('-')}-{suffix(name)}"


def workers(old: Old) -> Iterator[PodType]:
    """Every type that may have workers; the head's own too, where it says so."""
    for kind in old.types:
        if kind.name != old.head or kind.min_workers or kind.max_workers:
            yield kind


def group(old: Old, kind: PodType, body: Obj, params: dict[str, str], taken: list[str]) -> Obj:
    least = kind.min_workers
    most = min(old.max_workers if kind.max_workers is None else kind.max_workers, old.max_workers)
    name = group_name(kind.name, taken)
    if name != kind.name:
        meta = body["metadata"]
        body = {**body, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), TYPE: kind.name}}}
    return {
        "groupName": name,
        "replicas": least if kind.initial is None else min(kind.initial, most),
        "minReplicas": least,
        "maxReplicas": max(most, least),
        "rayStartParams": params,
        "template": body,
    }


def group_name(name: str, taken: list[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].rstrip("-") or "group"
    found, number = plain, 2
    while found in taken:
        found, number = f"{plain}-{number}", number + 1
    return found


def mode(old: Old) -> str:
    return "Conservative" if old.speed <= 1 else "Default"


def speed_notes(old: Old) -> Iterator[Note]:
    if old.speed != 1 and old.speed < FAST:
        said = f"{old.speed:g} cannot be said any more: {mode(old)} stands for {'1' if old.speed <= 1 else 'as fast as there is demand'}"
        yield Note(path(old, "upscalingSpeed"), said, "choose another upscalingMode if that is wrong", lost=True)


def size_notes(old: Old, groups: list[Obj]) -> Iterator[Note]:
    """The old cap on all workers together is one on each group only."""
    total = sum(each["maxReplicas"] for each in groups)
    if total > old.max_workers:
        said = f"at most {old.max_workers} workers in all were allowed; the groups' maxReplicas together allow {total}"
        yield Note(path(old, "maxWorkers"), said, "lower maxReplicas of some groups, or set a ResourceQuota", lost=True)
    for kind in workers(old):
        if kind.min_workers > (old.max_workers if kind.max_workers is None else kind.max_workers):
            yield Note(f"{kind.path}.minWorkers", "it is above the maximum, and wins")


def setup_notes(old: Old) -> Iterator[Note]:
    own = any(kind.setup for kind in old.types if kind.name != old.head)
    if old.head_setup or old.worker_setup or own:
        said = "the setup commands are run in the Ray container before ray start, at each start, in a shell that reads no ~/.bashrc"
        yield Note(path(old, "setupCommands"), said, "build them into the image if they take long")


def ports_agree(old: Old, start: Start) -> Iterator[Note]:
    """Workers are led to the head's port by the operator."""
    theirs, ours = worker_port(old.worker_start), start.params.get("port", "6379")
    if theirs and theirs != ours and not start.verbatim:
        said = f"workers were sent to port {theirs} of the head, which listens on {ours}"
        yield Note(path(old, "workerStartRayCommands"), said, "they are sent to the head's own port now")


def image_version(old: Old, notes: list[Note]) -> str:
    image = str((old.head_type.pod.get("spec") or {}).get("containers", [{}])[0].get("image") or "")
    match = VERSION.search(image)
    where = f"{old.head_type.pod_path}.spec.containers[0].image"
    if not match:
        notes.append(Note(where, f"{image or 'no image'} does not say which Ray it is", "set spec.rayVersion"))
        return ""
    version = (int(match.group(1)), int(match.group(2)))
    if version < OLDEST:
        raise Inconvertible(f"{where}: Ray {version[0]}.{version[1]} is older than 1.11, and its head has no GCS port: use a newer image")
    if version < TRIED:
        notes.append(Note(where, f"Ray {version[0]}.{version[1]} is older than any that was tried (2.9)", "use a newer image"))
    return ".".join(match.groups())


def services(old: Old, cluster: Obj) -> Iterator[Obj]:
    """The head's Service under its old name, and those that `ray up` was told to make."""
    place = {name: value for name, value in cluster["metadata"].items() if name == "namespace"}
    if old.ports is not None:
        found = [port(each) for each in old.ports]
        spec = {"selector": {COMPONENT: f"{old.name}-ray-head"}, "ports": found}
        yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{old.name}-ray-head", **place}, "spec": spec}
    for each in old.services:
        meta = {**(each.get("metadata") or {}), **place}
        yield {"apiVersion": "v1", "kind": "Service", **each, "metadata": meta}


def port(given: Port) -> Obj:
    return {"name": given.name, "protocol": "TCP", "port": given.port, "targetPort": given.target_port}
