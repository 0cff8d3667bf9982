"""An old RayCluster: from what is observed to what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api import labels
from rayfleet.api.decode import Undecodable
from rayfleet.api.excerpt import clip
from rayfleet.api.legacy.resource import FINALIZER, KOPF
from rayfleet.api.meta import OLD_RAYCLUSTERS, PODS, RAYCLUSTERS, SERVICES
from rayfleet.api.raycluster import RayCluster
from rayfleet.legacy.observed import Observed
from rayfleet.legacy.status import ERROR, phase_of, status_write
from rayfleet.legacy.wanted import Manifest, Wanted, document, renewed, wanted
from rayfleet.planning.actions import Action, Create, Delete, Fence, Patch, deed
from rayfleet.planning.convergence import compared, drift
from rayfleet.planning.diff import merge_patch
from rayfleet.planning.finalizer import SCOPE as FINALIZER_SCOPE
from rayfleet.planning.finalizer import released
from rayfleet.planning.plan import Event, Plan

NOTE_SCOPE = "adoption"


def plan(observed: Observed) -> Plan:
    """What to do next for one old RayCluster, and what to say of it."""
    meta = observed.old.metadata
    if FINALIZER in (meta.finalizers or ()):
        reason = "the operator that set it is replaced, and nobody else would take it away"
        release = released(OLD_RAYCLUSTERS, meta, FINALIZER, reason)
        return Plan(() if observed.held_back(FINALIZER_SCOPE) else (release,), None, observed.next_try())
    if meta.deletion_timestamp:
        return Plan()  # what it owns goes with it
    asked = wanted(observed)
    if not isinstance(asked, Wanted):
        return refuse(observed, asked)
    cluster = next((each for each in observed.clusters if each.metadata.name == asked.cluster["metadata"]["name"]), None)
    changed = isinstance(cluster, RayCluster) and is_changed(cluster, asked.cluster)
    actions: list[Action] = [*forgotten(observed), *predecessors(observed)]
    actions += [*clusters(observed, cluster, asked), *services(observed, asked)] if not actions else []
    allowed = tuple(each for each in actions if not observed.held_back(each.scope))
    return Plan(allowed, status_write(observed, phase_of(observed, cluster, changed)), observed.next_try(), events(cluster, asked))


def refuse(observed: Observed, faults: tuple[str, ...]) -> Plan:
    """Leave everything as it is and say what is wrong, when it has come to that."""
    known = observed.old.status.phase == ERROR
    told = () if known else (Event("Warning", "InvalidRayClusterSpec", clip("; ".join(faults)), "Validate"),)
    return Plan((), status_write(observed, ERROR), None, told)


def events(cluster: RayCluster | Undecodable | None, asked: Wanted) -> tuple[Event, ...]:
    """What was lost in the conversion is told when the cluster is made."""
    return tuple(Event("Warning", "NotConverted", clip(told), "Create") for told in asked.told) if cluster is None else ()


def forgotten(observed: Observed) -> Iterator[Fence]:
    """Annotations by which the Python operator remembered what it had seen."""
    meta = observed.old.metadata
    names = sorted(name for name in meta.annotations or {} if name.startswith(KOPF))
    if names:
        reason = "the operator that wrote them is replaced"
        place = (OLD_RAYCLUSTERS, meta.namespace, meta.name, meta.resource_version)
        yield Fence(*place, dict.fromkeys(names), NOTE_SCOPE, reason)


def predecessors(observed: Observed) -> Iterator[Delete]:
    """The Python operator's own Pods: two heads would answer to one name."""
    meta = observed.old.metadata
    for pod in observed.pods:
        if not pod.terminating:
            yield Delete(uid=pod.metadata.uid, reason="a cluster of today comes", **deed("Delete", PODS, meta.namespace, pod.name))


def clusters(observed: Observed, found: RayCluster | Undecodable | None, asked: Wanted) -> Iterator[Action]:
    """None is made while Pods of the old one still go."""
    name, place = asked.cluster["metadata"]["name"], observed.old.metadata.namespace
    if found is None and not observed.pods:
        yield Create(
            manifest=asked.cluster,
            reason=f"a RayCluster of {OLD_RAYCLUSTERS.group} asks for it",
            **deed("Create", RAYCLUSTERS, place, name),
        )
    elif isinstance(found, RayCluster) and is_changed(found, asked.cluster) and not found.metadata.deletion_timestamp:
        spec = merge_patch(document(found.spec), renewed(asked.cluster["spec"], found))
        notes = {"annotations": asked.cluster["metadata"]["annotations"]}
        patch = {"metadata": notes, **({"spec": spec} if spec else {})}
        reason = f"the RayCluster of {OLD_RAYCLUSTERS.group} has changed"
        yield Patch(uid=found.metadata.uid, patch=patch, reason=reason, **deed("Update", RAYCLUSTERS, place, name))


def is_changed(found: RayCluster, manifest: Manifest) -> bool:
    return found.metadata.annotation(labels.OLD_SPEC) != str(manifest["metadata"]["annotations"][labels.OLD_SPEC])


def services(observed: Observed, asked: Wanted) -> Iterator[Action]:
    for manifest in asked.services:
        name, place = manifest["metadata"]["name"], observed.old.metadata.namespace
        found = next((each for each in observed.services if each.name == name), None)
        if found is None:
            yield Create(manifest=manifest, reason="the head is known by that name", **deed("Create", SERVICES, place, name))
        elif not found.terminating and (patch := drift(compared(manifest), found.body())):
            reason = "it is to lead to the head of today"
            yield Patch(uid=found.metadata.uid, patch=patch, reason=reason, **deed("Update", SERVICES, place, name))
