"""A local copy of all objects of one kind, kept true by one list and one watch.

The copy is indexed by the controller that owns an object. What the network can do to it: both forms of 410 lead to one new list, whose
differences are told as if they had been watched; a cut, ended or silent watch is taken up again where it broke off.
Sources: client-go's reflector; https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection
from contextlib import aclosing, nullcontext
from typing import Any, Generic

from rayfleet.api.meta import Key, Resource
from rayfleet.kube.client import IDLE, Client
from rayfleet.kube.errors import ApiError, Expired, Forbidden, NotFound, from_status
from rayfleet.runtime import collection
from rayfleet.runtime.cache import BURST, Cache, older
from rayfleet.runtime.clock import SYSTEM, Clock
from rayfleet.runtime.wire import Bookmark, Codec, Deleted, Failure, Misfit, T

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0
LONGEST_WAIT_FOR_CRD = 5.0
GOOD_WATCH = 5.0  # seconds after which a watch counts as good although nothing happened in it


class Informer(Generic[T]):
    """`run` it in a task. `decode` takes one object's bytes, where a plain typed decoding is not enough. What is not `required` counts as
    seen, and as nothing, while the API server will not list it; it is asked again now and then, or, `on_demand`, once somebody has need of
    it. `metadata_only`: no more than that is asked for.

    Handlers are called in order of subscription, between two steps of the loop, and must not block.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        type: type[T],
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        decode: Callable[[bytes], T] | None = None,
        clock: Clock = SYSTEM,
        idle: float = IDLE,
        dice: Callable[[], float] = random.random,
        required: bool = True,
        on_demand: bool = False,
        metadata_only: bool = False,
    ) -> None:
        self.resource = resource
        self.resource_version = ""
        self.listed_at = float("-inf")  # by the monotonic clock: when the last complete list was *begun*
        self.lists = 0
        self._client = client
        self._codec: Codec[T] = Codec(type, decode)
        self._scope: dict[str, Any] = {"namespace": namespace, "labels": labels, "fields": fields, "metadata_only": metadata_only}
        self._clock = clock
        self._idle = idle
        self._dice = dice
        self._cache: Cache[T] = Cache()
        self._progress: list[Callable[[], None]] = []
        self._synced = asyncio.Event()
        self._listed = asyncio.Event()
        self._relist = True
        self._following: asyncio.Task[None] | None = None
        self._heard = False
        self._required = required
        self._on_demand = on_demand
        self._needed = asyncio.Event()
        self._denied = False

    def subscribe(self, handler: Callable[[T | None, T | None], None]) -> None:
        """`handler(old, new)`: old None means added, new None gone. A namesake with another UID is told as gone, then added."""
        self._cache.subscribe(handler)

    def on_progress(self, handler: Callable[[], None]) -> None:
        """`handler()` after each event, bookmark and list: `resource_version` may have moved."""
        self._progress.append(handler)

    async def synced(self) -> None:
        """Wait for the first complete list; where that is not required, a refusal will do."""
        await self._synced.wait()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    @property
    def is_denied(self) -> bool:
        """Does the API server refuse to list them, or not know them?"""
        return self._denied

    def need(self) -> None:
        """Somebody looks for them: where they were refused, they are asked for once more."""
        self._needed.set()

    def get(self, namespace: str, name: str) -> T | None:
        return self._cache.get(Key(namespace, name))

    def values(self) -> Collection[T]:
        """A live view of all objects."""
        return self._cache.values()

    def owned(self, uid: str) -> Collection[T]:
        """A live view of the objects whose controller has this UID."""
        return self._cache.owned(uid)

    def relist(self) -> None:
        """Take a new consistent list as soon as possible."""
        self._relist = True
        if self._following:
            self._following.cancel()

    async def refreshed(self) -> None:
        """Wait for a consistent list that is begun after this call."""
        asked = self._clock.monotonic()
        self.relist()
        while self.listed_at < asked and not self._denied:
            await self._listed.wait()

    async def run(self) -> None:
        """List and watch for ever; ends by cancellation only."""
        failures = 0
        while True:
            self._heard = False
            begun = self._clock.monotonic()
            try:
                await self._round()
                error: ApiError | None = None
            except ApiError as caught:
                error = caught
            if self._heard or self._clock.monotonic() - begun >= GOOD_WATCH:
                failures = 0
            failures = self._after(error, failures)
            if self._denied and self._on_demand:
                self._needed.clear()
                await self._needed.wait()
            await self._clock.sleep(self._pause(failures, error))

    async def _round(self) -> None:
        """A list if one is due, then one watch, to its end."""
        while self._relist:
            with nullcontext() if self.has_synced else collection.paused():
                await self._list()
        self._following = asyncio.ensure_future(self._follow())
        try:
            await self._following
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._relist or (task and task.cancelling()):
                raise
        finally:
            self._following = None

    def _after(self, error: ApiError | None, failures: int) -> int:
        """What an end of a round means for the next one; gives the number of failures in a row."""
        if isinstance(error, Expired) or too_new(error):
            self._relist = True
            log.info("%s: the watch's version %s has expired; listing again", self.resource.plural, self.resource_version)
        elif isinstance(error, Forbidden | NotFound) and not self._required:
            self._deny(error)
        elif isinstance(error, NotFound):
            self._relist = True
            level = logging.WARNING if failures == 0 else logging.DEBUG
            log.log(level, "%s is not served by this API server; waiting until it is", self.resource.api_version + " " + self.resource.kind)
        elif error is not None:
            log.log(logging.INFO if failures == 0 else logging.WARNING, "%s cannot be watched: %s", self.resource.plural, error)
        elif self._relist:
            return 0
        return failures + 1

    def _pause(self, failures: int, error: ApiError | None) -> float:
        """Seconds before the next round. The first failure after a good connection costs next to nothing."""
        if failures == 0:
            return 0.0
        longest = LONGEST_WAIT_FOR_CRD if isinstance(error, NotFound) and self._required else LONGEST_PAUSE
        pause = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 10), longest) * (0.5 + 0.5 * self._dice())
        return max(pause, (error.retry_after or 0.0) if error else 0.0)

    async def _list(self) -> None:
        """Replace the copy by a consistent list, telling the differences. The copy stays whole until the last page is there."""
        self._relist = False
        begun = self._clock.monotonic()
        found: dict[Key, T] = {}
        kept: list[Misfit] = []
        token = version = ""
        try:
            while True:
                meta, items = self._codec.page(await self._client.list_page(self.resource, token=token, **self._scope))
                for item in items:
                    if isinstance(item, Misfit):
                        kept.append(item)
                    else:
                        found[item.metadata.key] = item
                token, version = meta.continue_, version or meta.resource_version
                if not token:
                    break
                await asyncio.sleep(0)
        except BaseException:
            self._relist = True
            raise
        self._keep(kept, found)
        await self._cache.replace(found)
        self.lists += 1
        self.listed_at = begun
        self.resource_version = version
        self._denied = False
        self._settle()
        self._tell_progress()

    def _settle(self) -> None:
        """Let go of those who wait for a list."""
        self._synced.set()
        self._listed.set()
        self._listed = asyncio.Event()

    def _deny(self, error: ApiError) -> None:
        """Go on without: none are seen, which is said once. They are asked for again, see `run`."""
        self._relist = True
        if not self._denied:
            log.warning("%s are not looked after until they may be listed: %s", self.resource.plural, error)
        self._denied = True
        self._settle()

    def _keep(self, misfits: list[Misfit], found: dict[Key, T]) -> None:
        for item in misfits:
            self._complain(item)
            old = self._cache.get(item.metadata.key)
            if old is not None and old.metadata.uid == item.metadata.uid:
                found[item.metadata.key] = old

    async def _follow(self) -> None:
        lines = self._client.watch(self.resource, resource_version=self.resource_version, idle=self._idle, **self._scope)
        handled = 0
        async with aclosing(lines):
            async for line in lines:
                self._heed(line)
                self._heard = True
                handled += 1
                if handled % BURST == 0:
                    await asyncio.sleep(0)

    def _heed(self, line: bytes) -> None:
        event = self._codec.event(line)
        if isinstance(event, Failure):
            raise from_status(event.object)
        if isinstance(event, Misfit):
            self._complain(event)
            version = event.metadata.resource_version
        else:
            version = event.object.metadata.resource_version
            if isinstance(event, Deleted):
                self._cache.remove(event.object.metadata)
            elif not isinstance(event, Bookmark):
                self._cache.put(event.object)
        if not older(version, self.resource_version):
            self.resource_version = version
        self._tell_progress()

    def _tell_progress(self) -> None:
        for handler in self._progress:
            handler()

    def _complain(self, item: Misfit) -> None:
        text = "%s cannot be read, and is left as it was last seen: %s"
        log.warning(text, self.resource.kind, item.reason, extra={"object": str(item.metadata.key)})


def too_new(error: ApiError | None) -> bool:
    """Does the server know less than we do (restored from a backup)? Only a new list helps."""
    causes = (error.details.get("causes") or ()) if error else ()
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes)
