"""One operator process: the runtime's own controllers with all that belongs to them, around the real planners, on virtual time.

Only what would be the network is simulated: the client, the watches that fill the caches, and the calls to Ray. Any two writes of any two
processes can come in any order, and a process can die between any two.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Key, ObjectMeta, Resource, controller_of
from rayfleet.autoscaling.judge import Judge as Scale
from rayfleet.autoscaling.loop import Loop
from rayfleet.autoscaling.scaler import Scaler
from rayfleet.controllers import kinds_of
from rayfleet.planning.actions import Create, Place
from rayfleet.planning.plan import Event, Plan
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.pool import Pool
from rayfleet.runtime.apply import Applier
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.controller import Controller
from rayfleet.runtime.errands import Errands
from rayfleet.runtime.gate import Answer, Gate
from rayfleet.runtime.kind import Kind
from rayfleet.runtime.queue import Dispenser, WorkQueue
from rayfleet.runtime.visibility import Visibility
from rayfleet.sim.cache import LaggingWatch
from rayfleet.sim.client import SimClient
from rayfleet.sim.store import Obj, Request

if TYPE_CHECKING:
    from rayfleet.sim.world import World

Planner = Callable[[Any], Plan]
OWNERS = {RAYCLUSTERS: "cluster", RAYJOBS: "job", RAYSERVICES: "service", RAYCRONJOBS: "cron"}
"""What the observed object is called in each kind's observation."""


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
    resource: Resource
    at: float
    observed: Any
    plan: Plan
    sure: int
    events: list[Event] = field(default_factory=list)

    @property
    def owner(self) -> Any:
        """The object that was looked at, as it was seen."""
        return getattr(self.observed, OWNERS[self.resource])

    @property
    def key(self) -> Key:
        found: Key = self.owner.metadata.key
        return found

    @property
    def uid(self) -> str:
        return str(self.owner.metadata.uid)


@dataclass(frozen=True, slots=True)
class Own:
    """A write of one's own: the version that it made, or the UID of what it deleted."""

    version: int
    gone: str


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
        self.pool = Pool(self.ask, clock, dice=dice.random)
        kinds = [kind for kind in kinds_of(world.config, self.pool, self.scaler()) if kind.resource in world.kinds]
        watched = dict.fromkeys(each.resource for kind in kinds for each in (kind, *kind.children))
        self.watches = {resource: LaggingWatch(world.clock, world.store, resource, lambda: pace.lag(dice)) for resource in watched}
        self.client = SimClient(self, lambda: pace.latency(dice))
        self.gate = Gate(cast(Any, self.client), is_open=lambda: self.alive)
        self.queues: dict[str, Dispenser] = {}  # by the kind's title
        self.controllers = [self.controller(kind) for kind in kinds]
        self.seen: dict[tuple[str, str], float] = {}  # since when it knows of a Pod: by the owner's UID and the name
        self.watches[PODS].subscribe(self.see)
        # what its copies must show before it decides again: by the object that a write was for, and what was written
        self.written: dict[tuple[Resource, Key], dict[tuple[Resource, Key], Own]] = {}

    def scaler(self) -> Scaler | None:
        """Where the world has heads that can be asked what waits for room."""
        heads = self.world.heads
        return Scaler(Loop(heads.line(self), self.clock, few=0, dice=self.dice.random), Scale(sys.maxsize)) if heads else None

    def controller(self, kind: Kind[Any]) -> Controller[Any]:
        """As the manager puts one together."""
        clock = self.clock
        queue = self.queues[kind.title] = Dispenser(WorkQueue(dice=self.dice.random), clock)
        backoffs, visibility = Backoffs(), Visibility(queue.add, clock)
        informers = cast("dict[Resource, Any]", {each.resource: self.watches[each.resource] for each in (kind, *kind.children)})
        applier = Applier(kind.resource, self.gate, informers, visibility, backoffs, self.record, self.lookup, clock, self.dice.randbytes)
        errands = None
        if kind.outside:
            errands = Errands(kind.resource, kind.outside, backoffs, self.record, lambda: self.alive, clock)
        controller = Controller(
            replace(kind, plan=partial(self.plan, kind)),
            informers,
            applier,
            queue,
            visibility,
            backoffs,
            cast(Any, Unmeasured()),
            clock=clock,
            errands=errands,
            is_sole=self.world.elects,
        )
        controller.attach()
        return controller

    async def lookup(self, action: Create | Place) -> ObjectMeta:
        found: Answer = await self.client.get(action.resource, action.name, action.namespace, type=Answer)
        return found.metadata

    async def ask(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        """One call to Ray. Raises OSError."""
        return await self.client.ask(target, call)

    def see(self, old: Any, new: Any) -> None:
        """Also of a Pod whose owner is not known yet: another process made it for an object that is news here."""
        meta: ObjectMeta = (new or old).metadata
        if owner := controller_of(meta):
            self.seen.setdefault((owner.uid, meta.name), self.world.clock.now)

    def wrote(self, request: Request, answer: Obj) -> None:
        """The API has carried a write out, and has answered it with this object, or could have been asked about it since."""
        turn = TURN.get()
        own = self.written.setdefault((turn.resource, turn.key), {})
        gone = request.uid if request.verb == "delete" else ""
        own[request.resource, request.key] = Own(int(answer["metadata"]["resourceVersion"]), gone)

    def unseen(self, turn: Turn) -> Iterator[str]:
        """Own writes that the copies do not show yet, of objects that are still there or that it deleted."""
        own = self.written.get((turn.resource, turn.key), {})
        for (resource, key), write in list(own.items()):
            watch, found = self.watches[resource], self.watches[resource].get(*key)
            if write.gone:
                is_behind = found is not None and found.metadata.uid == write.gone and not found.metadata.deletion_timestamp
            else:
                is_behind = int(watch.resource_version) < write.version and self.world.store.get(resource, key) is not None
            if is_behind:
                yield f"{resource.plural} {key.name}"
            else:
                del own[resource, key]

    def start(self) -> None:
        for watch in self.watches.values():
            watch.start()
        self.tasks = [self.world.clock.task(controller.run()) for controller in self.controllers]

    def stop(self) -> None:
        """As by SIGKILL: whatever it was doing, nothing of it gets out any more."""
        self.alive = False
        for watch in self.watches.values():
            watch.close()
        for task in self.tasks:
            task.cancel()

    def plan(self, kind: Kind[Any], observed: Any) -> Plan:
        """The planner under test; now and then its turn is skipped, or comes twice."""
        pace = self.world.pace
        if self.dice.random() < pace.skipped:
            return Plan(requeue_after=self.dice.uniform(0.1, 3.0))
        try:
            plan = self.world.planners.get(kind.resource, kind.plan)(observed)
        except Exception as error:
            self.world.clock.fail(error)
            raise
        turn = Turn(self, kind.resource, self.world.clock.now, observed, plan, self.world.store.version)
        TURN.set(turn)
        self.world.planned(turn)
        if self.dice.random() < pace.repeated:
            self.clock.call_later(0.0, lambda: self.queues[kind.title].add(turn.key))
        return plan

    def record(self, resource: Resource, owner: ObjectMeta, event: Event) -> None:
        """What became of a call to Ray is told long after the look that asked for it."""
        turn = TURN.get(None)
        if self.alive and turn is not None and turn.uid == owner.uid:
            self.world.told(turn, event)
