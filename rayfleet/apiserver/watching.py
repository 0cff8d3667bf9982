"""Watches: a stream of changes from a resource version on."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial as partial_of
from typing import Any

import msgspec
from aiohttp import HttpVersion11, web

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.form import partial, presented
from rayfleet.apiserver.list_options import check_list_options, wrong_version
from rayfleet.apiserver.record import ADDED, DELETED, MODIFIED, Change, Record
from rayfleet.apiserver.status_error import StatusError, expired
from rayfleet.apiserver.table import table_head

BOOKMARK_SECONDS = 30.0
BACKLOG, BACKLOG_BYTES = 50_000, 1 << 26
"""A client that is this many changes behind is cut off, as by a real API server."""
STALLED_SECONDS = 60.0
"""after which one that takes nothing of what is sent is given up"""
PIECE = 1 << 20
"""bytes that are made ready at once"""


class Watch:
    """Offered every change of its resource; keeps those the client asked for, and makes lines of them when they are sent.

    So what one who never reads keeps is what the store keeps as well.
    """

    def __init__(self, call: Call) -> None:
        self._served = call.served
        self._space = call.address.namespace if call.kind.namespaced else None
        self._selector = call.selector
        self._form = call.form
        self._clock = call.api.clock
        self._told = False
        """the columns of its tables"""
        self._waiting: deque[tuple[int, Callable[[], bytes]]] = deque()
        self._behind_by = 0
        """bytes of the changes that wait"""
        self.wake = asyncio.Event()
        self.behind = False
        """too many changes wait: no more are taken, and the stream ends after them"""
        self.seen = 0
        """changes up to this version are in what was sent at the start"""

    def offer(self, change: Change) -> None:
        if change.version <= self.seen or self.behind or not (line := self._line(change)):
            return
        size = len(change.record.data)
        self._waiting.append((size, line))
        self._behind_by += size
        self.behind = len(self._waiting) >= BACKLOG or self._behind_by >= BACKLOG_BYTES
        self.wake.set()

    def take(self) -> bytes:
        """Some of the lines that wait, in their order; empty when none do."""
        lines, length = [], 0
        while self._waiting and length < PIECE:
            size, line = self._waiting.popleft()
            self._behind_by -= size
            lines.append(line())
            length += len(lines[-1])
        return b"".join(lines)

    def offer_initial(self, records: Iterable[Record]) -> None:
        for record in records:
            if self._wanted(record):
                self._waiting.append((0, partial_of(self._encoded, ADDED, record)))

    def bookmark(self, version: int, *, initial_end: bool = False) -> None:
        self._waiting.append((0, lambda: self._bookmark(version, initial_end)))

    def _bookmark(self, version: int, initial_end: bool) -> bytes:
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj = {"kind": self._served.kind.name, "apiVersion": self._served.api_version, "metadata": meta}
        if self._form.kind == "Table":
            obj = table_head(self._served, {"resourceVersion": str(version)}) | {"rows": [{"cells": [], "object": partial(obj)}]}
            obj |= self._columns()
        elif self._form.kind:
            obj = partial(obj)
        return msgspec.json.encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    def fail(self, error: StatusError) -> None:
        self._waiting.append((0, lambda: b'{"type":"ERROR","object":' + error.body() + b"}\n"))

    def _line(self, change: Change) -> Callable[[], bytes] | None:
        record = change.record
        if self._space is not None and record.namespace != self._space:
            return None
        if self._selector.everything:
            return partial_of(self._encoded, change.type, record)
        now = change.type != DELETED and self._selector.matches(record)
        before = change.previous is not None and self._selector.matches(change.previous)
        if now:
            return partial_of(self._encoded, MODIFIED if before else ADDED, record)
        if before and change.previous is not None:
            last = record if change.type == DELETED else _at_version(change.previous, record.version)
            return partial_of(self._encoded, DELETED, last)
        return None

    def _columns(self) -> dict[str, Any]:
        """The first table of a stream says its columns, the others say null."""
        told, self._told = self._told, True
        return {"columnDefinitions": None} if told and self._form.kind == "Table" else {}

    def _wanted(self, record: Record) -> bool:
        return (self._space is None or record.namespace == self._space) and self._selector.matches(record)

    def _encoded(self, type_: str, record: Record) -> bytes:
        body = self._form.one(self._served, record, self._clock(), self._columns()) if self._form.kind else presented(self._served, record)
        return b"".join((b'{"type":"', type_.encode(), b'","object":', body, b"}\n"))


def _at_version(record: Record, version: int) -> Record:
    """The last state that still matched, under the version at which it ceased to."""
    obj = record.decode()
    obj["metadata"]["resourceVersion"] = str(version)
    return msgspec.structs.replace(record, version=version, data=msgspec.json.encode(obj))


class Watches:
    """Those that are open, so that a stopping server can end them."""

    def __init__(self) -> None:
        self.open: set[Watch] = set()
        self.closing = False

    def close(self) -> None:
        self.closing = True
        for subscription in self.open:
            subscription.wake.set()


async def watch(call: Call, watches: Watches, settled: Callable[[], Awaitable[None]]) -> web.StreamResponse:
    """Streams until timeoutSeconds, until the client goes, falls behind, or the server stops."""
    subscription = Watch(call)
    goes_on = _begin(call, subscription)
    # Registered before the first await, so that nothing is missed; nothing is sent before it is durable.
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"})
    if call.request.version >= HttpVersion11:
        response.enable_chunked_encoding()
    call.api.store.watch(call.kind.resource, subscription)
    watches.open.add(subscription)
    try:
        await settled()
        await response.prepare(call.request)
        if goes_on:
            await _stream(call, subscription, response, watches)
        else:
            await _send(response, subscription.take())
    except ConnectionResetError:
        pass
    except TimeoutError:
        if call.request.transport is not None:
            call.request.transport.abort()
    finally:
        call.api.store.unwatch(call.kind.resource, subscription)
        watches.open.discard(subscription)
    return response


def _begin(call: Call, subscription: Watch) -> bool:
    """Queues what the client has missed. False when its version is too old: the stream then holds one error."""
    store, wanted = call.api.store, call.query.get("resourceVersion", "")
    initial = call.flag("sendInitialEvents")
    check_list_options(call.query)
    if wrong := wrong_version(wanted):
        raise StatusError(500, "", wrong)
    call.number("timeoutSeconds")
    if initial or ("sendInitialEvents" not in call.query and wanted in ("", "0")):
        subscription.seen = store.version
        subscription.offer_initial(store.select(call.kind.resource, call.address.namespace if call.kind.namespaced else None))
        if initial and call.flag("allowWatchBookmarks"):
            subscription.bookmark(store.version, initial_end=True)
        return True
    version = call.number("resourceVersion") or store.version
    missed = store.window.since(call.kind.resource, version) if version <= store.version else None
    if missed is None:
        subscription.fail(expired(f"too old resource version: {version} ({store.version})"))
        return False
    for change in missed:
        subscription.offer(change)
    return True


async def _stream(call: Call, subscription: Watch, response: web.StreamResponse, watches: Watches) -> None:
    loop, store = asyncio.get_running_loop(), call.api.store
    deadline = loop.time() + (call.number("timeoutSeconds") or random.uniform(1800, 3600))
    bookmarks = call.flag("allowWatchBookmarks")
    while not watches.closing and not subscription.behind:
        subscription.wake.clear()
        if piece := subscription.take():
            await _send(response, piece)
            continue
        remaining = deadline - loop.time()
        if remaining <= 0 or call.request.transport is None:
            break
        try:
            async with asyncio.timeout(min(remaining, BOOKMARK_SECONDS)):
                await subscription.wake.wait()
        except TimeoutError:
            if bookmarks and deadline > loop.time():
                subscription.bookmark(store.published)
    while piece := subscription.take():
        await _send(response, piece)


async def _send(response: web.StreamResponse, piece: bytes) -> None:
    """Raises ConnectionResetError, TimeoutError."""
    async with asyncio.timeout(STALLED_SECONDS):
        await response.write(piece)
