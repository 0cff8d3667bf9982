"""The offline host: what the operator would do if all went well, without a cluster, a clock or a network.

`render` runs observe, plan, apply in an ideal world, where everything is accepted and Pods are ready at once, until nothing is left to do.
`next_steps` is one plan for one object; Ray is absent then, and what it would be asked is noted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.meta import (
    ENDPOINTSLICES,
    GATEWAYS,
    HTTPROUTES,
    JOBS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
    SERVICES,
    Key,
    Resource,
)
from rayfleet.api.names import claim_name
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.planning.actions import Create
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.plan import Plan
from rayfleet.ray.runtime_env import runtime_env
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.raycluster.children import others
from rayfleet.raycluster.observed import Observed as ObservedCluster
from rayfleet.raycluster.validity import faults_of as cluster_faults
from rayfleet.raycronjob import schedule
from rayfleet.raycronjob.observed import Observed as ObservedCron
from rayfleet.raycronjob.plan import faults_of as cron_faults
from rayfleet.raycronjob.plan import since
from rayfleet.rayjob.observed import Observed as ObservedJob
from rayfleet.rayjob.plan import faults_of as job_faults
from rayfleet.rayservice.observed import Observed as ObservedService
from rayfleet.rayservice.validity import checked
from rayfleet.sim.cache import view
from rayfleet.sim.ideal_ray import AbsentRay, Asked, IdealRay
from rayfleet.sim.ideal_world import IdealWorld, Still
from rayfleet.sim.store import Obj, Request, Store, owner_uid

KINDS = {resource.kind: resource for resource in (RAYCLUSTERS, RAYJOBS, RAYSERVICES, RAYCRONJOBS)}


class Refused(ValueError):
    """The operator would not act on some of the objects. `faults` tells why, by object (`namespace/name`)."""

    def __init__(self, faults: Mapping[str, tuple[Fault, ...]]) -> None:
        super().__init__("\n".join(f"{key}: {fault}" for key, found in sorted(faults.items()) for fault in found))
        self.faults = dict(faults)


class NextSteps(NamedTuple):
    """A plan, and what Ray would be asked for the one after it."""

    plan: Plan
    asked: tuple[Asked, ...]


def render(objects: Sequence[Obj], config: Configuration, now: float = 0.0) -> list[Obj]:
    """Every object that the operator would create for the Ray objects among these, as sent, in order of creation.

    `objects` are manifests as parsed from YAML; those of other kinds are passed over. UIDs are made from namespace and name, so that the
    output is stable. `now` is in seconds since 1970; of a RayCronJob the job is shown that is due next after it. Raises `Refused` when a
    spec is refused, RuntimeError when no end is reached.
    """
    created: list[Obj] = []
    refused: dict[str, tuple[Fault, ...]] = {}
    for obj in filter(is_ray, objects):
        if faults := refusals(obj, config, now):
            refused[str(typed(obj).metadata.key)] = faults
        else:
            created += rendered(obj, config, now)
    if refused:
        raise Refused(refused)
    return created


def is_ray(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") in KINDS and str(obj.get("apiVersion", "")).partition("/")[0] == "ray.io"


def kind_of(obj: Mapping[str, Any]) -> Resource:
    return KINDS[str(obj["kind"])]


def refusals(obj: Obj, config: Configuration, now: float) -> tuple[Fault, ...]:
    """What the operator finds wrong with the spec; () when nothing is."""
    found = typed(obj)
    if isinstance(found, Undecodable):
        return found.faults
    if found.kind == RAYCLUSTERS.kind:
        return tuple(cluster_faults(ObservedCluster(found, now, config=config)))
    if found.kind == RAYSERVICES.kind:
        checks = checked(ObservedService(found, now, config=config))
        return () if isinstance(checks, ServeConfig) else tuple(checks)
    if found.kind == RAYJOBS.kind:
        env, wrong = runtime_env(found.spec.runtime_env_yaml)
        return job_faults(ObservedJob(found, now, runtime_env=env, env_faults=wrong, config=config))
    wrong = runtime_env(found.spec.job_template.runtime_env_yaml)[1]
    return tuple(cron_faults(ObservedCron(found, now, env_faults=wrong, config=config)))


def children_kinds(config: Configuration) -> tuple[Resource, ...]:
    """The kinds of what may hang below a Ray object."""
    return (RAYJOBS, RAYCLUSTERS, PODS, SERVICES, JOBS, ENDPOINTSLICES, GATEWAYS, HTTPROUTES, *others(config))


def next_steps(obj: Obj, config: Configuration, now: float, children: Sequence[Obj] = ()) -> NextSteps:
    """What the operator would do next for one Ray object, and why; `transcript.plan_told` puts it into words.

    `children` are objects as an API server lists them; only those that hang below this object (by UID) count, and the claim of its name.
    Without any the plan is that for a new object. Never raises for a bad spec: the plan then carries the refusal as status and event.
    """
    ray = AbsentRay()
    world = world_of(obj, config, now, below(obj, children), ray)
    plan = world.plan(kind_of(obj), typed(obj).metadata.key)
    return NextSteps(plan, tuple(ray.asked))


def world_of(
    obj: Obj, config: Configuration, now: float, children: Iterable[Obj], ray: IdealRay | AbsentRay, gone: frozenset[str] = frozenset()
) -> IdealWorld:
    """The object and what hangs below it."""
    clock = Still(now)
    store = Store(clock, uid=lambda key: uid_of(*key))
    store.place(kind_of(obj), whole(obj, now))
    for child in children:
        for resource in children_kinds(config):
            if child.get("kind") == resource.kind:
                store.place(resource, child)
    return IdealWorld(store, clock, config, ray, gone)


def below(obj: Obj, children: Sequence[Obj]) -> Iterator[Obj]:
    """Those whose controller is the object, or one of these in turn, and the claims of its clusters' names, which may have no owner."""
    uids, claims, left = {typed(obj).metadata.uid}, set(), list(children)
    if kind_of(obj) == RAYCLUSTERS:
        claims.add(claim_name(typed(obj).metadata.name))
    while True:
        found = [child for child in left if owner_uid(child) in uids or is_claim(child, claims)]
        if not found:
            return
        yield from found
        uids |= {child["metadata"]["uid"] for child in found if "uid" in child["metadata"]}
        claims |= {claim_name(child["metadata"]["name"]) for child in found if child.get("kind") == RAYCLUSTERS.kind}
        seen = set(map(id, found))
        left = [child for child in left if id(child) not in seen]


def is_claim(child: Obj, names: set[str]) -> bool:
    return child.get("kind") == PERSISTENTVOLUMECLAIMS.kind and child["metadata"]["name"] in names


def typed(obj: Obj) -> Any:
    """As it would come from an API server: with a namespace, a UID, a version and a generation. A typed object, or Undecodable."""
    return view(kind_of(obj), whole(obj))


def whole(obj: Obj, now: float = 0.0) -> Obj:
    meta = dict(obj.get("metadata") or {})
    name = meta.get("name") or f"{meta.get('generateName', '')}x"
    namespace = meta.get("namespace") or "default"
    given = {"uid": uid_of(namespace, name), "resourceVersion": "1", "generation": 1, "creationTimestamp": rfc3339(now)}
    return {**obj, "metadata": {**given, **meta, "name": name, "namespace": namespace}}


def uid_of(namespace: str, name: str) -> str:
    digits = hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def rendered(obj: Obj, config: Configuration, now: float) -> Iterator[Obj]:
    """One object's life from nothing to rest, as far as it makes others."""
    meta, resource = typed(obj).metadata, kind_of(obj)
    clock = Still(now)
    store = Store(clock, uid=lambda key: uid_of(*key))
    fresh = {name: value for name, value in (obj.get("metadata") or {}).items() if name in ("labels", "annotations")}
    store.do(Request("user", "create", resource, *meta.key, body={**obj, "metadata": fresh}))
    clock.now = due(store, meta.key, now) if resource == RAYCRONJOBS else now
    world = IdealWorld(store, clock, config, IdealRay(clock.now))
    for step in world.lived():
        if isinstance(step, Create):
            yield dict(step.manifest)


def due(store: Store, key: Key, now: float) -> float:
    """When a new RayCronJob makes its first job; now when it never does."""
    cron = view(RAYCRONJOBS, store.get(RAYCRONJOBS, key) or {})
    assert isinstance(cron, RayCronJob)
    return schedule.following(cron.spec, since(cron, now), now) or now
