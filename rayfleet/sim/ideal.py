"""The offline host: what the operator would do if all went well, without a cluster, a clock or a network.

`render` runs observe, plan, apply in an ideal world, where everything is accepted and Pods are ready at once, until nothing is left to do.
`next_steps` is one plan for one object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode_cluster
from rayfleet.api.fault import Fault
from rayfleet.api.meta import CERTIFICATES, JOBS, PERSISTENTVOLUMECLAIMS, PODS, RAYCLUSTERS, SERVICES, Key, Resource
from rayfleet.api.names import claim_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.actions import Action, AddFinalizer, Create, Fence, Patch, RemoveFinalizer
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.children import others
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.plan import plan
from rayfleet.raycluster.validity import faults_of
from rayfleet.sim.cache import view
from rayfleet.sim.ideal_job import is_job, job_children, job_faults, typed_job
from rayfleet.sim.kubelet import key_of, running
from rayfleet.sim.store import Obj, Request, Store, owner_uid

ACTOR = "operator-ideal"
MOST_ROUNDS = 50


class Refused(ValueError):
    """The operator would not act on some of the objects. `faults` tells why, by object (`namespace/name`)."""

    def __init__(self, faults: Mapping[str, tuple[Fault, ...]]) -> None:
        super().__init__("\n".join(f"{key}: {fault}" for key, found in sorted(faults.items()) for fault in found))
        self.faults = dict(faults)


@dataclass
class Still:
    """A clock that stands."""

    now: float


def render(objects: Sequence[Obj], config: Configuration, now: float = 0.0) -> list[Obj]:
    """Every object that the operator would create for the RayClusters and RayJobs among the objects, as sent, in order of creation.

    `objects` are manifests as parsed from YAML; those of other kinds are passed over. UIDs are made from namespace and name, so that the
    output is stable. `now` is in seconds since 1970. Raises `Refused` when a spec is refused, RuntimeError when no end is reached.
    """
    created: list[Obj] = []
    refused: dict[str, tuple[Fault, ...]] = {}
    for obj in objects:
        if is_job(obj):
            created += rendered_job(obj, config, now, refused)
        if not is_cluster(obj):
            continue
        cluster = typed(obj)
        faults = faults_of(Observed(cluster, now, config=config))
        if faults:
            refused[str(cluster.metadata.key)] = faults
        else:
            created += rendered(obj, config, now)
    if refused:
        raise Refused(refused)
    return created


def kinds_of(config: Configuration) -> tuple[Resource, ...]:
    """The kinds of children that are looked after."""
    return (PODS, SERVICES, JOBS, *others(config))


def next_steps(obj: Obj, config: Configuration, now: float, children: Sequence[Obj] = ()) -> Plan:
    """What the operator would do next for one RayCluster, and why; `transcript.plan_told` puts it into words.

    `children` are objects as an API server lists them; only those whose controller is this object (by UID) count, and the claim of its
    name. Without any the plan is that for a new cluster. Never raises for a bad spec: the plan then carries the refusal as status and
    event.
    """
    cluster = typed(obj)
    found = {resource: owned(children, cluster, resource) for resource in kinds_of(config)}
    return plan(observation(cluster, now, found, config))


def observation(
    cluster: RayCluster | Undecodable,
    now: float,
    found: Mapping[Resource, tuple[Any, ...]],
    config: Configuration,
    gone: frozenset[str] = frozenset(),
) -> Observed:
    rest = {resource: children for resource, children in found.items() if resource not in (PODS, SERVICES, JOBS)}
    claims = {claim.name: claim for claim in found.get(PERSISTENTVOLUMECLAIMS, ())}
    claim = claims.get(claim_name(cluster.metadata.name))
    return Observed(cluster, now, found[PODS], found[SERVICES], gone, found[JOBS], claim, others=rest, config=config)


def is_cluster(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") == "RayCluster" and str(obj.get("apiVersion", "")).partition("/")[0] == "ray.io"


def typed(obj: Obj) -> RayCluster | Undecodable:
    """As it would come from an API server: with a namespace, a UID, a version and a generation."""
    meta = dict(obj.get("metadata") or {})
    name = meta.get("name") or f"{meta.get('generateName', '')}x"
    namespace = meta.get("namespace") or "default"
    given = {"name": name, "namespace": namespace, "uid": uid_of(namespace, name), "resourceVersion": "1", "generation": 1}
    return decode_cluster(msgspec.json.encode({**obj, "metadata": {**given, **meta, "name": name, "namespace": namespace}}))


def uid_of(namespace: str, name: str) -> str:
    digits = hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def owned(children: Sequence[Obj], cluster: RayCluster | Undecodable, resource: Resource) -> tuple[Any, ...]:
    views = [view(resource, child) for child in children if child.get("kind") == resource.kind and owns(cluster, child)]
    return tuple(sorted(views, key=lambda child: child.metadata.name))


def owns(cluster: RayCluster | Undecodable, child: Obj) -> bool:
    """Is the cluster the child's controller, or is it the claim of its name, which may have none?"""
    meta = cluster.metadata
    return owner_uid(child) == meta.uid or (child.get("kind"), child["metadata"]["name"]) == (
        PERSISTENTVOLUMECLAIMS.kind,
        claim_name(meta.name),
    )


def rendered_job(obj: Obj, config: Configuration, now: float, refused: dict[str, tuple[Fault, ...]]) -> Iterator[Obj]:
    """What a RayJob makes, and what its cluster makes."""
    meta = {"namespace": "default", **obj["metadata"]}
    job = typed_job({**obj, "metadata": meta}, uid_of(meta["namespace"], meta["name"]))
    faults = job_faults(job, config, now)
    if faults or not isinstance(job, RayJob):
        refused[f"{meta['namespace']}/{meta['name']}"] = faults
        return
    for child in job_children(job, config, now, uid_of(meta["namespace"], f"{meta['name']}/cluster")):
        yield child
        if is_cluster(child):
            yield from rendered(child, config, now)


def rendered(obj: Obj, config: Configuration, now: float) -> Iterator[Obj]:
    """One cluster's life from nothing to rest."""
    meta = typed(obj).metadata
    store = Store(Still(now), uid=lambda key: uid_of(*key))
    fresh = {name: value for name, value in (obj.get("metadata") or {}).items() if name in ("labels", "annotations")}
    store.do(Request("user", "create", RAYCLUSTERS, *meta.key, body={**obj, "metadata": fresh}))
    for action in lived(store, meta.key, config, now):
        if isinstance(action, Create):
            yield dict(action.manifest)


def lived(store: Store, key: Key, config: Configuration, now: float, gone: frozenset[str] = frozenset()) -> Iterator[Action]:
    """Every action on the way from what the store holds to rest, each carried out. `gone` are names that were used and are free now."""
    for _ in range(MOST_ROUNDS):
        cluster = view(RAYCLUSTERS, store.get(RAYCLUSTERS, key) or {})
        found = {resource: children(store, resource, cluster) for resource in kinds_of(config)}
        steps = plan(observation(cluster, now, found, config, gone))
        if steps.done:
            return
        for action in steps.actions:
            carry_out(store, action)
            yield action
        if steps.status is not None:
            store.do(Request(ACTOR, "patch", RAYCLUSTERS, *key, body={"status": steps.status.patch}, subresource="status"))
        make_ready(store)
    raise RuntimeError(f"{key}: no end after {MOST_ROUNDS} rounds")


def children(store: Store, resource: Resource, cluster: RayCluster | Undecodable) -> tuple[Any, ...]:
    found = store.all(resource) if resource == PERSISTENTVOLUMECLAIMS else store.owned(cluster.metadata.uid, resource)
    return owned([{"kind": resource.kind, **child} for child in found], cluster, resource)


def carry_out(store: Store, action: Action) -> None:
    where = (action.resource, action.namespace, action.name)
    if isinstance(action, Create):
        store.do(Request(ACTOR, "create", *where, body=action.manifest))
    elif isinstance(action, Fence):
        store.do(Request(ACTOR, "patch", *where, body={"metadata": {"annotations": dict(action.annotations)}}))
    elif isinstance(action, AddFinalizer | RemoveFinalizer):
        store.do(Request(ACTOR, "patch", *where, body={"metadata": {"finalizers": list(action.finalizers) or None}}))
    elif isinstance(action, Patch):
        store.do(Request(ACTOR, "patch", *where, body=action.patch, uid=action.uid))
    else:
        store.do(Request(ACTOR, "delete", *where, uid=action.uid, grace=0))


def make_ready(store: Store) -> None:
    """Pods run, and certificates are issued."""
    for found in store.all(CERTIFICATES):
        issued = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        store.do(Request("issuer", "patch", CERTIFICATES, *key_of(found), body=issued, subresource="status"))
    for number, pod in enumerate(store.all(PODS), 1):
        body = {"status": running(pod, f"10.0.0.{number}", ready=True)}
        store.do(Request("kubelet", "patch", PODS, *key_of(pod), body=body, subresource="status"))
