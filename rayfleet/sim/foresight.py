"""What the operator would come to do to an object that is there, if all goes well: from what is, through every step, to rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS, Key
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Create, Delete, Fence, Patch
from rayfleet.planning.plan import Call
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.sim.ideal import Refused, below, refusals, typed, world_of
from rayfleet.sim.ideal_ray import IdealRay
from rayfleet.sim.ideal_world import IdealWorld, Step
from rayfleet.sim.store import Obj


class Change(NamedTuple):
    """`verb` is create, replace, change, delete, or call: Ray on the cluster `name` is sent `what`. `by` names what takes the place of what
    is replaced."""

    verb: str
    kind: str
    name: str
    why: str
    by: str = ""
    what: str = ""


def foresee(obj: Obj, config: Configuration, now: float, children: Sequence[Obj] = (), before: Obj | None = None) -> list[Change]:
    """`obj` as it would be after `apply`, `before` as it is; `children` are objects as an API server lists them, of which those below this
    one count.

    What is on its way out counts as gone. Of Ray it is taken for granted that it runs what it was last given. Raises `Refused` when the
    spec is refused, RuntimeError when no end is reached.
    """
    if faults := refusals(obj, config, now):
        raise Refused({str(typed(obj).metadata.key): faults})
    ray, found = IdealRay(now), list(below(obj, children))
    gone = {child["metadata"]["name"] for child in found if child["metadata"].get("deletionTimestamp")}
    there = [child for child in found if not child["metadata"].get("deletionTimestamp")]
    world = world_of(obj, config, now, there, ray, frozenset(gone))
    given(world, ray, typed(before or obj))
    return changes(world.lived())


def given(world: IdealWorld, ray: IdealRay, before: Any) -> None:
    """Ray as it would have been left by what was done up to now."""
    if isinstance(before, RayService):
        config = read_config(before.spec.serve_config_v2)
        if isinstance(config, ServeConfig):
            ray.configs.update(known_configs(world, before, config))
    for job in world.store.all(RAYJOBS):
        status = job.get("status") or {}
        cluster = Key(job["metadata"]["namespace"], status.get("rayClusterName", ""))
        name, found, session = (job["metadata"].get("annotations") or {}).get(labels.SUBMITTED_TO, "").partition(" ")
        if found:
            ray.sessions[cluster] = session
        if status.get("jobStatus"):
            ray.jobs[status.get("jobId") or name] = status["jobStatus"]


def known_configs(world: IdealWorld, service: RayService, config: ServeConfig) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """Of the clusters whose applications the status tells of."""
    parts = (service.status.active_service_status, service.status.pending_service_status)
    told = {part.ray_cluster_name for part in parts if part.application_statuses}
    for cluster in world.store.all(RAYCLUSTERS):
        meta = cluster["metadata"]
        if meta["name"] in told and (meta.get("annotations") or {}).get(labels.SERVE_CONFIG, config.hash) == config.hash:
            yield Key(meta["namespace"], meta["name"]), config.document


def changes(steps: Iterable[Step]) -> list[Change]:
    """In order of their first step; a delete and a create in the same scope are one replacement."""
    told = [step for step in steps if not isinstance(step, Fence)]
    created = {(step.resource, step.name) for step in told if isinstance(step, Create)}
    pairs = dict(replacements(told))
    replacing = {id(create) for create in pairs.values()}
    found = []
    for step in told:
        if isinstance(step, Call):
            found.append(called(step))
        elif isinstance(step, Delete) and id(step) in pairs:
            found.append(Change("replace", step.resource.kind, step.name, step.reason, pairs[id(step)].name))
        elif isinstance(step, Delete):
            found.append(Change("delete", step.resource.kind, step.name, step.reason))
        elif isinstance(step, Create) and id(step) not in replacing:
            found.append(Change("create", step.resource.kind, step.name, step.reason))
        elif isinstance(step, Patch) and (step.resource, step.name) not in created and step.event:
            found.append(Change("change", step.resource.kind, step.name, step.reason))
    return found


def called(call: Call) -> Change:
    what = f"{call.message.method} {call.message.path}"
    return Change("call", RAYCLUSTERS.kind, call.target.cluster.name, call.note or call.subject, what=what)


def replacements(steps: Sequence[Step]) -> Iterator[tuple[int, Create]]:
    """Each delete (by identity) and the create that comes after it in its scope, each create once."""
    waiting: dict[str, list[Delete]] = {}
    for step in steps:
        if isinstance(step, Delete):
            waiting.setdefault(step.scope, []).append(step)
        elif isinstance(step, Create) and waiting.get(step.scope):
            yield id(waiting[step.scope].pop(0)), step
