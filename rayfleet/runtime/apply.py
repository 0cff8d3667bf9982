"""Carries a plan out. Decides nothing: what to do about a refusal is the planner's business, who sees it as a back-off.

Stages follow each other; inside one, scopes go side by side, each starting slowly (1, 2, 4, ... creates at once) so that a quota that is
used up, or a webhook that is down, is asked a few times and not a few hundred.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rayfleet.api.excerpt import clip
from rayfleet.api.meta import Key, ObjectMeta, Resource
from rayfleet.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from rayfleet.planning.actions import Action, Create, Delete, Fence, Place
from rayfleet.planning.events import sentences
from rayfleet.planning.plan import Event, Plan, StatusWrite
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.gate import Gate, Written
from rayfleet.runtime.gone import Made
from rayfleet.runtime.namesake import Namesake, who_holds
from rayfleet.runtime.statuses import Statuses, Told
from rayfleet.runtime.unanswered import Unanswered, in_doubt, place_of, writes
from rayfleet.runtime.visibility import Source, Visibility
from rayfleet.runtime.writes import PAST, moves_owner, write_of

log = logging.getLogger(__name__)

FAN_OUT = 16

Record = Callable[[Resource, ObjectMeta, Event], None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one action of a scope failed: the API's text, and the event's reason ("" for a fence)."""

    action: Action
    message: str
    event: str
    retry_after: float | None


@dataclass(slots=True)
class Outcome:
    """What became of a plan for one object. `later`: a status was held back for that many seconds. `stale`: the plan was made from an old
    view, so look again. `failed`: by scope, one refusal each. `made`: children that exist, or did, by our own create."""

    key: Key
    owner: ObjectMeta
    done: list[Action] = field(default_factory=list)
    failed: dict[str, Refusal] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    stale: bool = False
    status_written: bool = False
    later: float | None = None


class Applier:
    """One kind's hand. `sources` are its informers, by resource; `lookup` asks the API itself who holds a name; `draw` gives so many random
    bytes."""

    def __init__(
        self,
        resource: Resource,
        gate: Gate,
        sources: Mapping[Resource, Source],
        visibility: Visibility,
        backoffs: Backoffs,
        record: Record,
        lookup: Callable[[Create | Place], Any],
        clock: Clock = SYSTEM,
        draw: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._resource = resource
        self._gate = gate
        self._sources = sources
        self._visibility = visibility
        self._backoffs = backoffs
        self._record = record
        self._lookup = lookup
        self._clock = clock
        self._draw = draw
        self._unanswered = Unanswered(sources, visibility, lookup)
        self._statuses = Statuses(resource, gate, sources, visibility, clock)

    async def apply(self, key: Key, owner: ObjectMeta, plan: Plan) -> Outcome:
        """Raises ApiError when the status is refused (but for conflicts), `Shut` when this process may no longer write."""
        outcome = Outcome(key, owner)
        try:
            for stage in plan.stages():
                await self._stage(stage, outcome)
                if outcome.failed or outcome.stale:
                    break
        finally:
            self._remember(outcome)
        for event in plan.events:
            self._record(self._resource, owner, event)
        if not any(moves_owner(action) for action in outcome.done):  # else the status would only meet a conflict
            written = await self._write_status(key, owner, plan.status)
            outcome.later, outcome.status_written = written.later, written.done
            outcome.stale = outcome.stale or written.stale
        return outcome

    def is_echo(self, owner: ObjectMeta) -> bool:
        """Is this the very version that our last write of its status made?"""
        return self._statuses.is_echo(owner)

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._statuses.forget(key)
        self._unanswered.forget(key)

    async def _stage(self, stage: Sequence[Action], outcome: Outcome) -> None:
        if len(stage) == 1:
            await self._one(stage[0], outcome)
            return
        scopes: dict[str, list[Action]] = {}
        for action in stage:
            scopes.setdefault(action.scope, []).append(action)
        room = asyncio.Semaphore(FAN_OUT)

        async def one(action: Action) -> None:
            async with room:
                await self._one(action, outcome)

        async def scope(name: str, actions: list[Action]) -> None:
            for batch in batches(actions):
                await all_of([one(action) for action in batch])
                if name in outcome.failed or outcome.stale:
                    break

        await all_of([scope(name, actions) for name, actions in scopes.items()])

    async def _one(self, action: Action, outcome: Outcome) -> None:
        try:
            if isinstance(action, Fence):
                await self._fence(action, outcome)
            else:
                self._done(action, await self._gate.send(write_of(action, self._draw)), outcome)
        except Conflict:
            outcome.stale = True
        except AlreadyExists as error:
            await self._taken(action, error, outcome)
        except NotFound as error:
            if isinstance(action, Create):  # its namespace is gone
                self._fail(action, error, outcome)
            else:
                self._unanswered.gone(outcome.key, place_of(action))
                if isinstance(action, Delete):
                    outcome.done.append(action)
                else:
                    outcome.stale = True
        except ApiError as error:
            self._unanswered.refused(outcome.key, action, error)
            is_gone = in_doubt(error) and writes(action) and await self._unanswered.is_gone(outcome.key, place_of(action))
            if is_gone and isinstance(action, Delete):
                outcome.done.append(action)
                return
            self._fail(action, error, outcome, "NamespaceTerminating" if of_a_dying_namespace(error) else None)

    async def _write_status(self, key: Key, owner: ObjectMeta, status: StatusWrite | None) -> Told:
        """Raises ApiError, Shut."""
        try:
            return await self._statuses.write(key, owner, status)
        except ApiError as error:
            if in_doubt(error):
                await self._unanswered.is_gone(key, Place(self._resource, owner.namespace, owner.name, owner.uid))
            raise

    def _done(self, action: Action, written: Written, outcome: Outcome) -> None:
        outcome.done.append(action)
        self._expect(action, written.metadata, outcome)
        self._warn(action, written.warnings, outcome)

    async def _fence(self, fence: Fence, outcome: Outcome) -> None:
        """Asked about twice: another process may make what was taken for gone between the first question and the write; afterwards it can
        not. Nor may anything of its scope have been made that the plan could not know of. Raises ApiError, Shut."""
        if await self._still_there(fence, outcome) or await self._was_made(fence.scope, outcome):
            outcome.stale = True
        elif not fence.annotations:
            await self._ask(fence, outcome)
        else:
            self._done(fence, await self._gate.send(write_of(fence, self._draw)), outcome)
            outcome.stale = await self._still_there(fence, outcome) or outcome.stale

    async def _still_there(self, fence: Fence, outcome: Outcome) -> bool:
        """Does the API have something that the plan took for gone? Then the copy must show it before the next look. Raises ApiError."""
        found = False
        for place in fence.absent:
            try:
                meta = await self._lookup(place)
            except NotFound:
                continue
            if meta.uid == place.uid:
                continue
            found = True
            if source := self._sources.get(place.resource):
                self._visibility.wrote(outcome.key, source, meta.resource_version)
        return found

    async def _was_made(self, scope: str, outcome: Outcome) -> bool:
        """Did a creation take place whose answer was lost? Then the copy must show it before the next look. Raises ApiError."""
        found = False
        for action in self._unanswered.of(outcome.key, scope):
            namesake = await who_holds(self._lookup, action, outcome.owner)
            self._unanswered.settled(outcome.key, action)
            source = self._sources.get(action.resource)
            if source and namesake.ours and not shows(source, action, namesake):
                found = True
                outcome.made.append(Made(source, action.namespace, action.name, namesake.resource_version))
                self._visibility.wrote(outcome.key, source, namesake.resource_version)
        return found

    async def _ask(self, fence: Fence, outcome: Outcome) -> None:
        """Is the owner still what the plan was made from? If not, the copy must show that before the next look. Raises ApiError."""
        meta = await self._lookup(Place(fence.resource, fence.namespace, fence.name))
        if meta.resource_version == fence.resource_version:
            outcome.done.append(fence)
            return
        outcome.stale = True
        self._visibility.wrote(outcome.key, self._sources[fence.resource], meta.resource_version)

    def _expect(self, action: Action, returned: ObjectMeta, outcome: Outcome) -> None:
        source = self._sources.get(action.resource)
        if source is None:
            return
        if isinstance(action, Delete):
            self._visibility.deleted(outcome.key, source, Key(action.namespace, action.name), action.uid)
            return
        self._visibility.wrote(outcome.key, source, returned.resource_version)
        if isinstance(action, Create):
            outcome.made.append(Made(source, action.namespace, action.name, returned.resource_version))

    async def _taken(self, action: Action, error: ApiError, outcome: Outcome) -> None:
        """The name is taken. By our own earlier create: wait for the cache. By anything else: it is not ours to touch."""
        assert isinstance(action, Create)
        try:
            namesake = await who_holds(self._lookup, action, outcome.owner)
        except ApiError as other:
            self._fail(action, other, outcome)
            return
        source = self._sources.get(action.resource)
        if namesake.ours and source:
            outcome.made.append(Made(source, action.namespace, action.name, namesake.resource_version))
        if namesake.passing or (namesake.ours and source and shows(source, action, namesake)):
            outcome.stale = True
            return
        if namesake.ours and source:
            self._visibility.wrote(outcome.key, source, namesake.resource_version)
            if self._visibility.blocks(outcome.key):
                return
        told = ApiError(error.status, error.reason, namesake.told(error.message))
        self._fail(action, told, outcome, "NameConflict" if namesake.foreign else None)

    def _fail(self, action: Action, error: ApiError, outcome: Outcome, event: str | None = None) -> None:
        """One refusal stands for its scope: that of the first name, so that the text does not change with the order of the answers."""
        reason = event or ("" if isinstance(action, Fence) else action.failed_event)
        known = outcome.failed.get(action.scope)
        if known is None or action.name < known.action.name:
            outcome.failed[action.scope] = Refusal(action, error.message, reason, error.retry_after)

    def _remember(self, outcome: Outcome) -> None:
        """Also when the process is stopped half way: what was done was done."""
        setbacks: dict[str, str] = {}
        for action in outcome.done:
            if isinstance(action, Fence) and not action.annotations:
                continue
            log.info("%s %s: %s", PAST[type(action)], action.name, action.reason, extra={"object": str(outcome.key)})
            if isinstance(action, Delete) and action.setback:
                setbacks.setdefault(action.scope, action.reason)
        for scope, reason in setbacks.items():
            self._backoffs.setback(outcome.key, scope, reason, self._clock.monotonic())
        for scope in {action.scope for action in outcome.done} - outcome.failed.keys():
            self._backoffs.succeeded(outcome.key, scope)
        for scope, refusal in outcome.failed.items():
            self._refused(scope, refusal, outcome)
        for event in sentences(outcome.done):
            self._record(self._resource, outcome.owner, event)

    def _refused(self, scope: str, refusal: Refusal, outcome: Outcome) -> None:
        key, action = outcome.key, refusal.action
        self._backoffs.failed(key, scope, refusal.message, refusal.event, self._clock.monotonic(), refusal.retry_after)
        log.warning("%s of %s failed: %s", type(action).__name__.lower(), action.name, refusal.message, extra={"object": str(key)})
        if refusal.event:
            self._tell(outcome, "Warning", refusal.event, f"{action.resource.kind} {action.name}: {refusal.message}")

    def _warn(self, action: Action, warnings: Sequence[str], outcome: Outcome) -> None:
        for text in warnings:
            subject = action.resource.kind if isinstance(action, Fence) else action.subject.one
            self._tell(outcome, "Warning", "APIWarning", f"The API server warns of {subject}: {text}")

    def _tell(self, outcome: Outcome, type: str, reason: str, note: str) -> None:
        self._record(self._resource, outcome.owner, Event(type, reason, clip(note)))


def of_a_dying_namespace(error: ApiError) -> bool:
    """Was it refused because nothing new may be made in the namespace any more? (Kubernetes: NamespaceTerminatingCause)"""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.details.get("causes") or ())


def batches(actions: Sequence[Action]) -> Iterator[Sequence[Action]]:
    """What may go at once: everything that is no create, then creates by 1, 2, 4, ... up to the fan-out."""
    others = [action for action in actions if not isinstance(action, Create)]
    if others:
        yield others
    creates = [action for action in actions if isinstance(action, Create)]
    start, size = 0, 1
    while start < len(creates):
        yield creates[start : start + size]
        start, size = start + size, min(size * 2, FAN_OUT)


async def all_of(coroutines: Sequence[Any]) -> None:
    """Run them side by side, to the end of each, and then raise the first error."""
    for result in await asyncio.gather(*coroutines, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def shows(source: Source, action: Create, namesake: Namesake) -> bool:
    found = source.get(action.namespace, action.name)
    return found is not None and found.metadata.uid == namesake.uid
