"""Asks all dashboards in turn, beside the reconcile workers.

One call at a time goes to a cluster, `room` go out in all, and whoever has waited longest is next; heads that gave no answer have half of
the room at most, and one that hangs over one question rests before the next, so that a thousand that hang delay nobody but themselves.
What is asked again and again is asked every second while its answers change and ever less often, to every ten seconds, while they do not;
or in another rhythm.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any, Protocol

from rayfleet.api.meta import Key
from rayfleet.permit import Permit, Shut, insist, permitted
from rayfleet.ray.answer import Accepted, Act, Addressed, Heard, NotFound, Question, Refused, Unreachable, read, taken
from rayfleet.ray.desk import Desk
from rayfleet.ray.lane import Answered, Follower, Lane
from rayfleet.ray.rhythm import STEADY, Rhythm

log = logging.getLogger(__name__)

ROOM = 64
UNTOLD = (Unreachable, Refused, NotFound)
RESULTS = 8  # how many results of acts are remembered for each follower


Waiting = deque[tuple[int, Lane]]
Ask = Callable[[Any, Question | Act], Awaitable[tuple[int, bytes]]]
"""Sends one call; the HTTP status and the content. Raises OSError (also TimeoutError) when there is no answer."""


def understood(call: Question | Act, status: int, content: bytes) -> Any:
    return read(call, status, content) if isinstance(call, Question) else taken(call, status, content)


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """As the runtime's clock."""

    def time(self) -> float: ...
    def monotonic(self) -> float: ...
    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer: ...


class Pool:
    """`ask` sends, `understand` reads what came back. Nothing is awaited but in tasks of its own; `close` ends them."""

    def __init__(
        self,
        ask: Ask,
        clock: Clock,
        *,
        room: int = ROOM,
        rhythm: Rhythm = STEADY,
        understand: Callable[[Question | Act, int, bytes], Any] = understood,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._room = room
        self._rhythm = rhythm
        self._understand = understand
        self._dice = dice
        self._lanes: dict[Key, Lane] = {}
        self._due: list[tuple[float, int, Lane]] = []
        self._ready: tuple[Waiting, Waiting] = (deque(), deque())  # of lanes that are well, and of silent ones
        self._leisure = max(room // 2, 1)
        self._order = count()
        self._timer: Timer | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def desk(self) -> Desk:
        """For one kind of objects."""
        return Desk(self)

    async def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def soon(self, course: Coroutine[Any, Any, None]) -> None:
        """Have something done in a task of its own, which ends with the pool."""
        task = asyncio.get_running_loop().create_task(course)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def enter(self, follower: Follower) -> None:
        self._lanes.setdefault(follower.target.cluster, Lane()).followers.append(follower)

    def leave(self, follower: Follower) -> None:
        lane = self._lanes[follower.target.cluster]
        lane.followers.remove(follower)
        if not lane.followers and not lane.busy:
            del self._lanes[follower.target.cluster]

    def touch(self, follower: Follower) -> None:
        """There is something new to ask or to do, if only because the head is another one."""
        lane = self._lanes[follower.target.cluster]
        lane.awake()
        self._plan(lane)
        self._alarm(self.now())

    def now(self) -> float:
        return self._clock.monotonic()

    def dated(self, heard: Heard) -> Heard:
        """With its times by the wall clock as it is now: one that was wrong when they were taken does not date them wrongly for ever."""
        ahead = self._clock.time() - self.now()
        return Heard(heard.answer, heard.at + ahead, heard.since + ahead)

    def _plan(self, lane: Lane) -> None:
        if lane.busy or lane.ready:
            return
        due = lane.next_due(float("inf"))
        if due < float("inf"):
            heapq.heappush(self._due, (due, next(self._order), lane))

    def _pump(self) -> None:
        """Start what is due and has room."""
        now = self.now()
        while self._due and self._due[0][0] <= now:
            lane = heapq.heappop(self._due)[2]
            if not lane.busy and not lane.ready:
                lane.ready = True
                self._ready[lane.silent].append((next(self._order), lane))
        while (found := self._next()) is not None:
            found.ready = False
            self._start(found, now)
        self._alarm(now)

    def _next(self) -> Lane | None:
        """Whoever has waited longest and has room."""
        well, silent = self._ready
        waiting = [queue for queue, room in ((well, self._room), (silent, min(self._room, self._leisure))) if queue and room]
        return min(waiting, key=lambda queue: queue[0][0]).popleft()[1] if waiting else None

    def _alarm(self, now: float) -> None:
        """Come back when the next one is due."""
        if self._timer:
            self._timer.cancel()
        self._timer = self._clock.call_later(max(self._due[0][0] - now, 0.0), self._pump) if self._due else None

    def _start(self, lane: Lane, now: float) -> None:
        follower = min(lane.followers, key=lambda each: each.next_due(float("inf")), default=None)
        if follower is None or lane.next_due(float("inf")) > now:
            self._plan(lane)
            return
        lane.busy = True
        self._room -= 1
        self._leisure -= lane.silent
        if follower.acts:
            act, answered, permit = follower.acts.popleft()
            follower.sending = act
            course = partial(self._do, follower, act, answered, permit)
        else:
            question = min(follower.tracks, key=lambda each: follower.tracks[each].due)
            course = partial(self._hear, lane, follower, question)
        self.soon(self._run(lane, follower.target.cluster, course, lane.silent))

    async def _run(self, lane: Lane, cluster: Key, course: Callable[[], Awaitable[None]], silent: bool) -> None:
        try:
            await course()
        except Exception:  # of whoever hears of the answer: it must not cost the others their turn
            log.exception("an answer could not be dealt with", extra={"object": str(cluster)})
        lane.busy = False
        self._room += 1
        self._leisure += silent
        if lane.followers:
            self._plan(lane)
        elif self._lanes.get(cluster) is lane:
            del self._lanes[cluster]
        self._pump()

    async def _hear(self, lane: Lane, follower: Follower, question: Question) -> None:
        asked = follower.target
        answer = await self._answer(asked, question)
        track = follower.tracks.get(question)
        if track is None or follower.target != asked:
            return
        now, before = self.now(), track.heard
        same = before is not None and before.answer == answer
        track.heard = Heard(answer, now, before.since if same and before else now)
        lasts = question.lasting and not isinstance(answer, UNTOLD)
        track.pause = self._rhythm.longest if lasts else self._rhythm.next(track.pause, follower.target, answer, now - track.heard.since)
        track.due = self.now() + track.pause * (0.9 + 0.2 * self._dice())
        if isinstance(answer, Unreachable) and not question.port:
            lane.hung(now, track.pause)
        elif not question.port:
            lane.awake()
        if not same:
            follower.desk.heard(follower.key)

    async def _do(self, follower: Follower, act: Act, answered: Answered | None, permit: Permit | None) -> None:
        try:
            answer = await self._answer(follower.target, act, permit)
        except Shut:
            return  # another process leads: nobody is to hear of it
        finally:
            follower.sending = None
        now = self.now()
        follower.results[act] = Heard(answer, now, now)
        while len(follower.results) > RESULTS:
            follower.results.popitem(last=False)
        follower.hurry(self.now(), lasting=not isinstance(answer, Accepted))  # what was done shows soon, or never
        if answered:
            answered(act, answer)
        follower.desk.heard(follower.key)

    async def _answer(self, target: Addressed, call: Question | Act, permit: Permit | None = None) -> Any:
        """Raises Shut when it may not be sent any more."""
        try:
            with permitted(permit):
                insist()
                status, content = await self._ask(target, call)
        except OSError as error:
            return Unreachable(str(error) or type(error).__name__)
        return self._understand(call, status, content)
