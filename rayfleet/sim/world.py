"""Everything put together: one store, its nodes, the operator processes, the users, and what goes wrong. The same seed, the same story."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, SERVICES, Key, Resource
from rayfleet.kube.errors import ApiError
from rayfleet.planning.plan import Event
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.faults import Faults
from rayfleet.sim.jobs import Jobs
from rayfleet.sim.kubelet import Nodes
from rayfleet.sim.leader import Leader, Pace, Planner, Turn
from rayfleet.sim.rays import Rays
from rayfleet.sim.sized_ray import SizedRays
from rayfleet.sim.store import Change, Obj, Request, Store, random_uids
from rayfleet.sim.submitters import Submitters

USER = "user"
OPERATOR = "operator-"
NAMESPACE = "default"
REMEMBERED = 60  # requests that a failure tells of
APPLIED = {each.kind: each for each in (RAYCLUSTERS, RAYJOBS, RAYSERVICES, RAYCRONJOBS, SERVICES, PODS)}


class World:
    """Its operators look after `kinds`; `planners` stand in for the real ones, by kind. Those in `before` hear of each plan before it is
    carried out, `hearers` of each event."""

    def __init__(
        self,
        seed: int = 0,
        *,
        pace: Pace | None = None,
        kinds: Collection[Resource] = (RAYCLUSTERS,),
        planners: Mapping[Resource, Planner] | None = None,
        config: Configuration | None = None,
    ) -> None:
        self.seed = seed
        self.dice = Random(seed)
        self.clock = VirtualClock()
        self.store = Store(self.clock, random_uids(Random(self.dice.getrandbits(32))))
        self.nodes = Nodes(self.clock, self.store, Random(self.dice.getrandbits(32)))
        self.jobs = Jobs(self.clock, self.store, Random(self.seed))
        self.faults = Faults(Random(self.dice.getrandbits(32)))
        self.pace = pace or Pace()
        self.kinds = frozenset(kinds)
        self.planners = planners or {}
        self.config = config or Configuration()
        self.heads: SizedRays | None = None
        self.leaders: list[Leader] = []
        self.elects = False  # do its leaders know that they are alone, as by a lease?
        self.started = 0
        self.actions: Counter[str] = Counter()
        self.before: list[Callable[[Turn], None]] = []
        self.hearers: list[Callable[[Turn, Event], None]] = []
        self.writes = 0
        self.story: deque[str] = deque(maxlen=REMEMBERED)
        self._trace = hashlib.sha256()
        self.rays = Rays(self.clock, self.store, Random(seed * 3 + 1))
        self.submitters = Submitters(self.clock, self.store, self.nodes, self.rays)
        self.store.watchers += [self.rays.hear, self.nodes.hear, self.jobs.hear, self.submitters.hear]
        self.store.auditors.append(self.audit)

    def lead(self) -> Leader:
        """One more operator process, with a consistent list and no memory."""
        self.started += 1
        leader = Leader(f"operator-{self.started}", self, Random(self.dice.getrandbits(32)))
        self.leaders.append(leader)
        leader.start()
        return leader

    def retire(self, leader: Leader) -> None:
        """The process ends, and no other takes its place."""
        leader.stop()
        self.leaders.remove(leader)

    def crashed(self, leader: Leader) -> None:
        """The process dies; the next one comes after a while."""
        if leader in self.leaders:
            self.retire(leader)
            self.clock.call_later(self.faults.downtime(), self.lead)

    def planned(self, turn: Turn) -> None:
        for hear in self.before:
            hear(turn)

    def told(self, turn: Turn, event: Event) -> None:
        turn.events.append(event)
        for hear in self.hearers:
            hear(turn, event)

    def audit(self, request: Request, change: Change | None, error: ApiError | None) -> None:
        line = f"{self.clock.now:.6f} {request.actor} {request} {change.version if change else error}\n"
        self._trace.update(line.encode())
        outcome = f"-> {error}" if error else "" if change else "-> nothing to change"
        self.story.append(f"{self.clock.elapsed:8.3f} {request.actor}: {request} {outcome}")
        self.writes += request.actor.startswith(OPERATOR)
        if change is not None and request.actor.startswith(OPERATOR):
            self.actions[f"{request.verb} {request.subresource or request.resource.kind}"] += 1

    @property
    def trace(self) -> str:
        """A hash over every request and its outcome."""
        return self._trace.hexdigest()

    # what users do
    def apply(self, obj: Obj) -> Obj:
        """As `kubectl apply`: create it, or replace its spec."""
        resource = APPLIED[obj["kind"]]
        key = Key(obj["metadata"].get("namespace", NAMESPACE), obj["metadata"]["name"])
        old = self.store.get(resource, key)
        if old is None:
            return self.user("create", resource, key, body=obj)
        gone = dict.fromkeys(old["spec"].keys() - obj["spec"].keys())
        return self.user("patch", resource, key, body={"spec": {**obj["spec"], **gone}})

    def edit(self, name: str, spec: Obj, resource: Resource = RAYCLUSTERS) -> Obj:
        """Merge-patch a spec."""
        return self.user("patch", resource, Key(NAMESPACE, name), body={"spec": spec})

    def delete(self, resource: Resource, name: str, **given: Any) -> Obj:
        return self.user("delete", resource, Key(NAMESPACE, name), **given)

    def user(self, verb: str, resource: Resource, key: Key, **given: Any) -> Obj:
        return self.store.do(Request(USER, verb, resource, *key, **given))

    def cluster(self, name: str) -> Obj | None:
        return self.store.get(RAYCLUSTERS, Key(NAMESPACE, name))

    def pods(self, name: str) -> list[Obj]:
        """Pods that belong to the cluster, by name."""
        cluster = self.cluster(name)
        found = self.store.owned(cluster["metadata"]["uid"], PODS) if cluster else ()
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def run(self, seconds: float) -> None:
        self.clock.run(seconds)

    def close(self) -> None:
        for leader in self.leaders:
            leader.stop()
        self.clock.close()
