"""One operator process: the runtime's own controller, applier, queue, back-offs and visibility around the real planner, on virtual time.

Only what would be the network is simulated: the client, and the watches that fill the caches. Any two writes of any two processes can come
in any order, and a process can die between any two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, cast

from rayfleet.api.meta import JOBS, PERSISTENTVOLUMECLAIMS, PODS, RAYCLUSTERS, SERVICES, Key, ObjectMeta, Resource, controller_of
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ChildView, JobView, PodView, ServiceView
from rayfleet.planning.actions import Create, Place
from rayfleet.planning.plan import Event, Plan
from rayfleet.raycluster.children import OTHERS
from rayfleet.raycluster.observe import Observer
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.pods import is_progress
from rayfleet.runtime.apply import Applier
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.controller import Controller
from rayfleet.runtime.gate import Answer, Gate
from rayfleet.runtime.kind import Child, Kind
from rayfleet.runtime.queue import Dispenser, WorkQueue
from rayfleet.runtime.visibility import Visibility
from rayfleet.sim.cache import WATCHED, LaggingWatch
from rayfleet.sim.client import SimClient
from rayfleet.sim.store import Obj, Request

if TYPE_CHECKING:
    from rayfleet.sim.world import World

Planner = Callable[[Observed], Plan]


@dataclass
class Pace:
    """Seconds, as functions of dice: how late news come, how long a request takes; and how often a turn is skipped or repeated."""

    lag: Callable[[Random], float] = lambda dice: 0.001
    latency: Callable[[Random], float] = lambda dice: 0.001
    skipped: float = 0.0
    repeated: float = 0.0


@dataclass
class Turn:
    """One look of one process at one object: what was seen, and what was decided. `sure` is the store's version up to which its view of the
    owner counts as tested: at the look, or at its own fence. (A test by a read moves nothing: it fails if anybody wrote since the look.)"""

    leader: Leader
    key: Key
    at: float
    observed: Observed
    plan: Plan
    sure: int
    events: list[Event] = field(default_factory=list)

    @property
    def uid(self) -> str:
        return self.observed.cluster.metadata.uid


TURN: ContextVar[Turn] = ContextVar("turn")  # the look that a request belongs to


class OwnClock:
    """The world's clock, but the wall's time is off by `error` seconds, and a dead process' timers do not go off."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader
        self.clock = leader.world.clock
        self.error = 0.0

    def time(self) -> float:
        return self.clock.now + self.error

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def call_later(self, seconds: float, function: Callable[[], object]) -> asyncio.TimerHandle:
        return self.clock.call_later(seconds, lambda: function() if self.leader.alive else None)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Unmeasured:
    """Metrics that nobody scrapes."""

    def looked(self, result: str, seconds: float) -> None: ...

    def troubled(self, key: Key, scopes: int) -> None: ...


class Leader:
    """Starts with a consistent list and no memory."""

    def __init__(self, name: str, world: World, dice: Random) -> None:
        self.name = name
        self.world = world
        self.dice = dice
        self.alive = True
        self.started = world.clock.now
        self.clock = clock = OwnClock(self)
        pace = world.pace
        self.watches = {resource: LaggingWatch(world.clock, world.store, resource, lambda: pace.lag(dice)) for resource in WATCHED}
        self.queue = Dispenser(WorkQueue(dice=dice.random), clock)
        self.backoffs = Backoffs()
        visibility = Visibility(self.queue.add, clock)
        client = SimClient(self, lambda: pace.latency(dice))
        informers = cast("dict[Resource, Any]", self.watches)

        async def lookup(action: Create | Place) -> ObjectMeta:
            found: Answer = await client.get(action.resource, action.name, action.namespace, type=Answer)
            return found.metadata

        gate = Gate(cast(Any, client), is_open=lambda: self.alive)
        applier = Applier(RAYCLUSTERS, gate, informers, visibility, self.backoffs, self.record, lookup, clock, dice.randbytes)
        self.controller = Controller(
            self.kind(),
            informers,
            applier,
            self.queue,
            visibility,
            self.backoffs,
            cast(Any, Unmeasured()),
            clock=clock,
            is_sole=world.elects,
        )
        self.controller.attach()
        self.seen: dict[tuple[str, str], float] = {}  # since when it knows of a Pod: by the owner's UID and the name
        self.watches[PODS].subscribe(self.see)
        self.written: dict[tuple[Key, Resource], int] = {}  # the newest version of its own writes, by the object that they were for

    def see(self, old: Any, new: Any) -> None:
        """Also of a Pod whose owner is not known yet: another process made it for an object that is news here."""
        meta: ObjectMeta = (new or old).metadata
        if owner := controller_of(meta):
            self.seen.setdefault((owner.uid, meta.name), self.world.clock.now)

    def wrote(self, request: Request, answer: Obj) -> None:
        """The API has answered a write with this object."""
        place = (TURN.get().key, request.resource)
        self.written[place] = max(self.written.get(place, 0), int(answer["metadata"]["resourceVersion"]))

    def kind(self) -> Kind[Observed]:
        typed = (Child(PODS, PodView, calm=is_progress), Child(SERVICES, ServiceView), Child(JOBS, JobView))
        children = (*typed, *(Child(resource, ChildView) for resource in (PERSISTENTVOLUMECLAIMS, *OTHERS)))
        return Kind(RAYCLUSTERS, RayCluster, children, Observer(self.world.config, (PERSISTENTVOLUMECLAIMS, *OTHERS)), self.plan)

    def start(self) -> None:
        for watch in self.watches.values():
            watch.start()
        self.task = self.world.clock.task(self.controller.run())

    def stop(self) -> None:
        """As by SIGKILL: whatever it was doing, nothing of it gets out any more."""
        self.alive = False
        for watch in self.watches.values():
            watch.close()
        self.task.cancel()

    def plan(self, observed: Observed) -> Plan:
        """The planner under test; now and then its turn is skipped, or comes twice."""
        pace = self.world.pace
        if self.dice.random() < pace.skipped:
            return Plan(requeue_after=self.dice.uniform(0.1, 3.0))
        try:
            plan = self.world.planner(observed)
        except Exception as error:
            self.world.clock.fail(error)
            raise
        turn = Turn(self, observed.cluster.metadata.key, self.world.clock.now, observed, plan, self.world.store.version)
        TURN.set(turn)
        self.world.planned(turn)
        if self.dice.random() < pace.repeated:
            self.clock.call_later(0.0, lambda: self.queue.add(turn.key))
        return plan

    def record(self, resource: Resource, owner: ObjectMeta, event: Event) -> None:
        if self.alive:
            self.world.told(TURN.get(), event)
