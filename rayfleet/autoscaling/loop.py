"""One loop for the autoscaling of every cluster: asks each head what waits for room, remembers what was decided, tells Ray of it.

Each head is asked every 5 s, as Ray's own autoscaler does it. Of more than a hundred, those in which nothing waits, is on its way, or has
changed within five minutes are asked ever less often, to every 30 s. A cluster's controller hears only of answers that say something new.
What is remembered is lost with the process, and that costs time alone: all that binds is in the RayCluster or in Ray.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from rayfleet.api.meta import Key
from rayfleet.autoscaling.observed import Settled
from rayfleet.autoscaling.report import numbered
from rayfleet.autoscaling.tally import Tally, Unmet
from rayfleet.autoscaling.values import Drain, Memory, answered
from rayfleet.autoscaling.word import Word
from rayfleet.ray.answer import Accepted, Act, Heard, Question, Refused, Unreachable, complaint
from rayfleet.ray.gcs import Head
from rayfleet.ray.gcs import Refused as GcsRefused
from rayfleet.ray.gcs_messages import IDLE_TERMINATION, PREEMPTION, message, parsed
from rayfleet.ray.pool import Clock, Pool
from rayfleet.ray.rhythm import Rhythm

log = logging.getLogger(__name__)

STATE = Question("GetClusterResourceState", Word)
DRAIN, REPORT, UNANSWERED = "DrainNode", "ReportAutoscalingState", "UNANSWERED"
RHYTHM = Rhythm(first=5.0, longest=30.0, growth=1.2, patience=300.0)  # it takes eight quiet minutes to get from the first to the second
FEW = 100  # clusters that cost next to nothing
ROOM = 64
CODES = {"UNIMPLEMENTED": 501, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "RESOURCE_EXHAUSTED": 413}
REASONS = {"IDLE_TERMINATION": IDLE_TERMINATION, "PREEMPTION": PREEMPTION}


class Gcs(Protocol):
    """As `ray.gcs.Gcs`."""

    def state(self, head: Head) -> Awaitable[bytes]: ...
    def report(self, head: Head, request: bytes) -> Awaitable[None]: ...
    def drain(self, head: Head, request: bytes) -> Awaitable[bytes]: ...
    def leave(self, head: Head) -> Coroutine[Any, Any, None]: ...


@dataclass(slots=True)
class Mind:
    """What this process knows of one cluster. `answers`: Ray's to drains (accepted, text, when), by node."""

    uid: str
    head: Head
    memory: Memory = field(default_factory=Memory)
    answers: dict[str, tuple[bool, str, float]] = field(default_factory=dict)
    eager: bool = True
    session: str = ""
    reported: bytes | None = None
    report_version: int = 0
    infeasible: int = 0

    def remembered(self) -> Memory:
        """The memory, with the answers that came since it was made."""
        memory = self.memory
        for drain in memory.drains:
            found = self.answers.get(drain.node)
            if drain.accepted is None and found is not None and found[2] >= drain.asked_at:
                memory = answered(memory, drain.node, *found)
        return memory


class Loop:
    """What the controller's kind has outside of Kubernetes (`runtime.kind.Outside`). `gcs` carries the calls."""

    def __init__(
        self,
        gcs: Gcs,
        clock: Clock,
        *,
        room: int = ROOM,
        few: int = FEW,
        rhythm: Rhythm = RHYTHM,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self._gcs = gcs
        self._few = few
        self._clock = clock
        self._minds: dict[Key, Mind] = {}
        self.tally = Tally()
        rhythm = replace(rhythm, eager=self._is_eager)
        self._pool = Pool(self._ask, clock, room=room, rhythm=rhythm, understand=self._understood, dice=dice)
        self._desk = self._pool.desk()

    def subscribe(self, listener: Callable[[Key], None]) -> None:
        self._desk.subscribe(listener)

    def follow(self, key: Key, uid: str, head: Head) -> Heard | None:
        """Ask this head from now on; gives what it was last heard to say. What another head said, or that of another cluster of the same
        name, is not its word."""
        mind = self._minds.get(key)
        if mind is None or mind.uid != uid:
            self.forget(key)
            mind = self._minds[key] = Mind(uid, head)
        elif mind.head != head:
            self._desk.forget(key)
            mind.head, mind.reported, mind.eager = head, None, True
        heard = self._desk.follow(key, head, (STATE,)).get(STATE)
        if heard is not None and isinstance(heard.answer, Word) and heard.answer.session != mind.session:
            mind.session, mind.reported, mind.report_version = heard.answer.session, None, 0
        return heard

    def memory(self, key: Key) -> Memory:
        """Of the cluster that is followed."""
        return self._minds[key].remembered()

    def unmet(self) -> Iterator[Unmet]:
        """What waits in each cluster, as far as was heard."""
        for key, mind in self._minds.items():
            heard = self._desk.last(key, mind.head.cluster).get(STATE)
            if heard is not None and isinstance(heard.answer, Word):
                yield Unmet(key, heard.answer.waiting, mind.infeasible)

    def send(self, key: Key, target: Head, message: Settled | Drain, told: Callable[[str], None]) -> None:
        """Never waits. `told` hears of drains alone, and only why one could not be asked for."""
        mind = self._minds.get(key)
        if mind is None or mind.head != target:
            return  # it is another cluster by now
        if isinstance(message, Drain):
            self._drain(key, mind, message, told)
        else:
            self._settle(key, mind, message)

    def forget(self, key: Key) -> None:
        mind = self._minds.pop(key, None)
        self._desk.forget(key)
        if mind is not None:
            self._pool.soon(self._gcs.leave(mind.head))

    def rest(self) -> None:
        for key in list(self._minds):
            self.forget(key)

    async def close(self) -> None:
        await self._pool.close()

    def _settle(self, key: Key, mind: Mind, settled: Settled) -> None:
        mind.memory, mind.eager, mind.infeasible = settled.memory, settled.eager, settled.infeasible
        self.tally.said.update(settled.said)
        known = {drain.node for drain in settled.memory.drains}
        mind.answers = {node: found for node, found in mind.answers.items() if node in known}
        heard = self._desk.last(key, mind.head.cluster).get(STATE)
        if settled.report == mind.reported or heard is None or not isinstance(heard.answer, Word):
            return
        mind.report_version = max(mind.report_version, heard.answer.last_report) + 1
        body = numbered(settled.report, heard.answer.version, mind.report_version)
        mind.reported = settled.report

        def told(act: Act, answer: Any) -> None:
            if not isinstance(answer, Accepted) and mind.reported == settled.report:
                mind.reported = None  # it goes with the next decision

        self._desk.act(key, mind.head, Act(REPORT, "", body), told)

    def _drain(self, key: Key, mind: Mind, drain: Drain, told: Callable[[str], None]) -> None:
        request = message(
            "DrainNodeRequest", node_id=bytes.fromhex(drain.node), reason=REASONS[drain.cause], reason_message=drain.why[:512]
        )

        def heard(act: Act, answer: Any) -> None:
            if isinstance(answer, Accepted):
                reply: Any = answer.content
                said = "accepted" if reply.is_accepted else f"refused: {reply.rejection_reason_message[:512]}"
                self.tally.drains["accepted" if reply.is_accepted else "refused"] += 1
                log.info("drain of %s (%s): %s", drain.pod, drain.why, said, extra={"object": str(key)})
                mind.answers[drain.node] = (reply.is_accepted, reply.rejection_reason_message[:512], self._clock.time())
            else:
                self.tally.drains["unanswered"] += 1
                told(complaint(answer))

        self._desk.act(key, mind.head, Act(DRAIN, drain.node, request.SerializeToString()), heard)

    def _is_eager(self, head: Any, answer: Any) -> bool:
        """Is it to be asked again soon, although it said nothing new?"""
        mind = self._minds.get(head.cluster)
        return isinstance(answer, Word) and (len(self._minds) <= self._few or answer.waits or (mind is not None and mind.eager))

    async def _ask(self, head: Any, call: Question | Act) -> tuple[int, bytes]:
        """Raises OSError when there is no answer."""
        began, code = self._clock.monotonic(), UNANSWERED
        try:
            content = await self._call(head, call)
            code = "OK"
            return 200, content
        except GcsRefused as refusal:
            code = refusal.code
            return CODES.get(refusal.code, 500), (refusal.text or refusal.code).encode()
        finally:
            self.tally.called(call.path if isinstance(call, Question) else call.method, code, self._clock.monotonic() - began)
            mind = self._minds.get(head.cluster)
            if mind is None or mind.head != head:
                await self._gcs.leave(head)  # it was left before this call had its connection

    async def _call(self, head: Any, call: Question | Act) -> bytes:
        if isinstance(call, Question):
            return await self._gcs.state(head)
        if call.method == DRAIN:
            return await self._gcs.drain(head, call.body)
        await self._gcs.report(head, call.body)
        return b""

    def _understood(self, call: Question | Act, status: int, content: bytes) -> Any:
        if status != 200:
            return Refused(status, content.decode(errors="replace"))
        try:
            if isinstance(call, Act):
                return Accepted(parsed("DrainNodeReply", content) if call.method == DRAIN else content)
            return Word(content, self._clock.time())
        except ValueError as error:
            return Unreachable(str(error))
