"""Everything put together: one store, its nodes, the operator processes, the users, and what goes wrong. The same seed, the same story."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES, Key, Resource
from rayfleet.kube.errors import ApiError
from rayfleet.planning.plan import Event
from rayfleet.raycluster.plan import plan
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.faults import Faults
from rayfleet.sim.jobs import Jobs
from rayfleet.sim.kubelet import Nodes
from rayfleet.sim.leader import Leader, Pace, Planner, Turn
from rayfleet.sim.store import Change, Obj, Request, Store, random_uids

USER = "user"
OPERATOR = "operator-"
NAMESPACE = "default"


class World:
    """`planner` is the core under test; those in `before` hear of each plan before it is carried out, `hearers` of each event."""

    def __init__(self, seed: int = 0, *, pace: Pace | None = None, planner: Planner = plan, config: Configuration | None = None) -> None:
        self.seed = seed
        self.dice = Random(seed)
        self.clock = VirtualClock()
        self.store = Store(self.clock, random_uids(Random(self.dice.getrandbits(32))))
        self.nodes = Nodes(self.clock, self.store, Random(self.dice.getrandbits(32)))
        self.jobs = Jobs(self.clock, self.store, Random(self.seed))
        self.faults = Faults(Random(self.dice.getrandbits(32)))
        self.pace = pace or Pace()
        self.planner = planner
        self.config = config or Configuration()
        self.leaders: list[Leader] = []
        self.elects = False  # do its leaders know that they are alone, as by a lease?
        self.started = 0
        self.actions: Counter[str] = Counter()
        self.before: list[Callable[[Turn], None]] = []
        self.hearers: list[Callable[[Turn, Event], None]] = []
        self._trace = hashlib.sha256()
        self.store.watchers += [self.nodes.hear, self.jobs.hear]
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
        if change is not None and request.actor.startswith(OPERATOR):
            self.actions[f"{request.verb} {request.subresource or request.resource.kind}"] += 1

    @property
    def trace(self) -> str:
        """A hash over every request and its outcome."""
        return self._trace.hexdigest()

    # what users do
    def apply(self, obj: Obj) -> Obj:
        """As `kubectl apply` of a RayCluster or Service: create it, or replace its spec."""
        resource = {"RayCluster": RAYCLUSTERS, "Service": SERVICES, "Pod": PODS}[obj["kind"]]
        key = Key(obj["metadata"].get("namespace", NAMESPACE), obj["metadata"]["name"])
        old = self.store.get(resource, key)
        if old is None:
            return self.user("create", resource, key, body=obj)
        gone = dict.fromkeys(old["spec"].keys() - obj["spec"].keys())
        return self.user("patch", resource, key, body={"spec": {**obj["spec"], **gone}})

    def edit(self, name: str, spec: Obj) -> Obj:
        """Merge-patch a RayCluster's spec."""
        return self.user("patch", RAYCLUSTERS, Key(NAMESPACE, name), body={"spec": spec})

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
