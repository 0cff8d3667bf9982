"""Every object, in memory, and the order in which they changed. Synchronous: between two awaits nothing interleaves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from rayfleet.apiserver.journal import Damaged, Journal, Row
from rayfleet.apiserver.record import ADDED, DELETED, MODIFIED, Change, Obj, Record, encode
from rayfleet.apiserver.status_error import StatusError
from rayfleet.apiserver.window import Window

OBJECT_LIMIT = 3 << 19
"""bytes of JSON; as etcd has it for what Kubernetes stores"""
Fields = Callable[[str, Obj], dict[str, str]]


class Watcher(Protocol):
    def offer(self, change: Change) -> None: ...


class Store:
    """Objects by (resource, namespace, name). `resource` is "pods" or "rayclusters.ray.io"; a cluster-wide object has namespace "".

    A change is *staged* at once, so that the next write sees it, and *published* (to watches) when it is durable.
    With path ":memory:" both happen together.
    """

    def __init__(self, path: Path | str = ":memory:", *, window: int = 10_000) -> None:
        self.journal = None if str(path) == ":memory:" else Journal(Path(path))
        self.version = max(1, self.journal.version()) if self.journal else 1
        self.published = self.version
        self.window = Window(self.version, window)
        self.on_stage: list[Callable[[Change], None]] = []
        self._fields: Fields = lambda resource, obj: {}
        self._tables: dict[str, dict[str, dict[str, Record]]] = {}
        self._by_uid: dict[str, Record] = {}
        self._dependents: dict[str, set[tuple[str, str, str]]] = {}
        self._staged: list[Change] = []
        self._pending: deque[Change] = deque()
        """staged and not published, oldest first"""
        self._watchers: dict[str, set[Watcher]] = {}

    def load(self, fields: Fields) -> None:
        """Reads the file. `fields(resource, obj)` gives what field selectors may ask for, now and for later writes."""
        self._fields = fields
        if self.journal is None:
            return
        for resource, namespace, name, version, data in self.journal.rows():
            bare = Record(resource, namespace, name, version, "", data, {}, {}, ())
            try:
                self._keep(self._indexed(resource, namespace, name, version, data, bare.decode()))
            except (ValueError, LookupError, TypeError, AttributeError) as failure:
                raise Damaged(self.journal.path, f"{resource} {namespace}/{name}: {failure}") from failure

    def get(self, resource: str, namespace: str, name: str) -> Record | None:
        return self._tables.get(resource, {}).get(namespace, {}).get(name)

    def by_uid(self, uid: str) -> Record | None:
        return self._by_uid.get(uid)

    def select(self, resource: str, namespace: str | None = None) -> Iterator[Record]:
        """In the order of Kubernetes lists: by namespace, then name."""
        table = self._tables.get(resource, {})
        for space in sorted(table) if namespace is None else (namespace,):
            objects = table.get(space, {})
            for name in sorted(objects):
                yield objects[name]

    def past(self, resource: str, namespace: str | None, version: int) -> list[Record] | None:
        """What `select` gave at a version; None when changes since then are forgotten."""
        published = self.window.since(resource, version)
        if published is None:
            return None
        found = {(record.namespace, record.name): record for record in self.select(resource, namespace)}
        for change in reversed([*published, *(each for each in self._pending if each.version > version)]):
            record = change.record
            if record.resource != resource or namespace not in (None, record.namespace):
                continue
            if change.previous is None:
                del found[record.namespace, record.name]
            else:
                found[record.namespace, record.name] = change.previous
        return [found[key] for key in sorted(found)]

    def count(self, resource: str, namespace: str) -> int:
        return len(self._tables.get(resource, {}).get(namespace, ()))

    def is_empty(self, namespace: str) -> bool:
        """Whether nothing is left in a namespace."""
        return not any(table.get(namespace) for table in self._tables.values())

    def is_unused(self, resource: str) -> bool:
        return not any(self._tables.get(resource, {}).values())

    def resources(self) -> list[str]:
        return sorted(resource for resource, table in self._tables.items() if any(table.values()))

    def dependents(self, uid: str) -> list[Record]:
        """Objects that name this uid in their owner references."""
        found = (self.get(*key) for key in sorted(self._dependents.get(uid, ())))
        return [record for record in found if record is not None]

    def put(self, resource: str, namespace: str, name: str, obj: Obj) -> Record:
        """Creates or replaces; sets metadata.resourceVersion in `obj`. Raises StatusError 500 for what is too large."""
        previous = self.get(resource, namespace, name)
        obj["metadata"]["resourceVersion"] = str(self.version + 1)
        data = encode(obj)
        if len(data) > OBJECT_LIMIT:
            raise StatusError(500, "", "etcdserver: request is too large")
        self.version += 1
        record = self._indexed(resource, namespace, name, self.version, data, obj)
        if previous is not None:
            self._forget(previous)
        self._keep(record)
        self._stage(Change(ADDED if previous is None else MODIFIED, record, previous))
        return record

    def draft(self, resource: str, namespace: str, name: str, obj: Obj) -> Record:
        """What `put` would store; nothing is stored (dry run)."""
        current = self.get(resource, namespace, name)
        if current is None:
            obj["metadata"].pop("resourceVersion", None)
        else:
            obj["metadata"]["resourceVersion"] = str(current.version)
        return self._indexed(resource, namespace, name, current.version if current else 0, encode(obj), obj)

    def remove(self, record: Record, obj: Obj | None = None) -> Record:
        """Deletes; the returned last state carries the version of the deletion. `obj`: a last state that was never stored."""
        self.version += 1
        last = record.decode() if obj is None else obj
        last["metadata"]["resourceVersion"] = str(self.version)
        gone = self._indexed(record.resource, record.namespace, record.name, self.version, encode(last), last)
        self._forget(record)
        self._stage(Change(DELETED, gone, record))
        return gone

    def index_again(self, resource: str) -> None:
        """After another set of fields may be asked for."""
        for record in list(self.select(resource)):
            self._keep(msgspec.structs.replace(record, fields=self._fields(resource, record.decode())))

    def watch(self, resource: str, watcher: Watcher) -> None:
        self._watchers.setdefault(resource, set()).add(watcher)

    def unwatch(self, resource: str, watcher: Watcher) -> None:
        self._watchers.get(resource, set()).discard(watcher)

    def take(self) -> tuple[list[Change], list[Row]]:
        """The staged changes, for the committer, which publishes them when they are durable."""
        changes, self._staged = self._staged, []
        rows: list[Row] = []
        for change in changes:
            record = change.record
            rows.append((record.resource, record.namespace, record.name, record.version, None if change.type == DELETED else record.data))
        return changes, rows

    def publish(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._pending.popleft()
            self.window.append(change)
            self.published = change.version
            for watcher in tuple(self._watchers.get(change.record.resource, ())):
                watcher.offer(change)

    def revert(self, changes: list[Change]) -> None:
        """Takes back what could not be made durable, and all that was staged upon it. Who follows the store sees it undone, last first."""
        undone, self._staged = [*changes, *self._staged], []
        self._pending.clear()
        for change in reversed(undone):
            before = change.previous
            if change.type != DELETED:
                self._forget(change.record)
            if before is not None:
                self._keep(before)
            back = Change(DELETED, change.record, change.record) if before is None else Change(MODIFIED, before, change.record)
            self._tell(Change(ADDED, before) if before is not None and change.type == DELETED else back)
        # These versions are never used: nobody saw them.
        self.published = self.version

    def flush(self) -> None:
        """Commits and publishes now, blocking: for use without an event loop."""
        changes, rows = self.take()
        if changes and self.journal is not None:
            self.journal.stage(rows, changes[-1].version)
            self.journal.commit()
        self.publish(changes)

    def close(self) -> None:
        """Call `flush` before, or what is staged is given up."""
        if self.journal is not None:
            self.journal.close()

    def _stage(self, change: Change) -> None:
        self._staged.append(change)
        self._pending.append(change)
        if self.journal is None:
            self.publish(self.take()[0])
        self._tell(change)

    def _tell(self, change: Change) -> None:
        for listener in self.on_stage:
            listener(change)

    def _indexed(self, resource: str, namespace: str, name: str, version: int, data: bytes, obj: Obj) -> Record:
        meta = obj["metadata"]
        owners = tuple(owner["uid"] for owner in meta.get("ownerReferences", ()))
        return Record(resource, namespace, name, version, meta["uid"], data, meta.get("labels") or {}, self._fields(resource, obj), owners)

    def _keep(self, record: Record) -> None:
        self._tables.setdefault(record.resource, {}).setdefault(record.namespace, {})[record.name] = record
        self._by_uid[record.uid] = record
        for owner in record.owners:
            self._dependents.setdefault(owner, set()).add((record.resource, record.namespace, record.name))

    def _forget(self, record: Record) -> None:
        del self._tables[record.resource][record.namespace][record.name]
        self._by_uid.pop(record.uid, None)
        for owner in record.owners:
            known = self._dependents.get(owner, set())
            known.discard((record.resource, record.namespace, record.name))
            if not known:
                self._dependents.pop(owner, None)
