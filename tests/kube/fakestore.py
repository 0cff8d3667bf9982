"""Objects with versions and a history, as small as the client and the runtime need to be tested. No HTTP here."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Place = tuple[str, str, str]  # (plural, namespace, name)


class Refused(Exception):
    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class FakeStore:
    """`listeners` hear (version, type, plural, object, object before) of each change."""

    def __init__(self) -> None:
        self.version = 100
        self.oldest = 0
        self.objects: dict[Place, dict[str, Any]] = {}
        self.history: list[tuple[int, str, str, dict[str, Any], dict[str, Any] | None]] = []
        self.listeners: list[Callable[[int, str, str, dict[str, Any], dict[str, Any] | None], None]] = []
        self.graceful: set[str] = set()
        self.made = 0

    def items(self, plural: str, namespace: str | None) -> list[dict[str, Any]]:
        found = [(place, value) for place, value in self.objects.items() if place[0] == plural and namespace in (None, place[1])]
        return [value for _, value in sorted(found, key=lambda pair: pair[0])]

    def get(self, plural: str, namespace: str, name: str) -> dict[str, Any]:
        try:
            return self.objects[plural, namespace, name]
        except KeyError:
            raise Refused(404, "NotFound", f'{plural} "{name}" not found') from None

    def create(self, plural: str, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
        body = copy.deepcopy(body)
        meta = body.setdefault("metadata", {})
        place = (plural, namespace, meta["name"])
        if place in self.objects:
            raise Refused(409, "AlreadyExists", f'{plural} "{meta["name"]}" already exists')
        self.made += 1
        meta |= {"namespace": namespace, "uid": f"uid-{self.made}", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
        return self._commit("ADDED", place, body)

    def update(self, plural: str, namespace: str, name: str, body: dict[str, Any], status: bool) -> dict[str, Any]:
        old = self.get(plural, namespace, name)
        wanted = body.get("metadata", {})
        for field, current in (("resourceVersion", old["metadata"]["resourceVersion"]), ("uid", old["metadata"]["uid"])):
            if wanted.get(field) not in (None, current):
                raise Refused(409, "Conflict", f'Operation cannot be fulfilled on {plural} "{name}": the object has been modified')
        new = copy.deepcopy(old) | ({"status": body.get("status")} if status else {k: v for k, v in body.items() if k != "status"})
        new["metadata"] = copy.deepcopy(old["metadata"]) | ({} if status else {k: wanted.get(k) for k in ("labels", "annotations")})
        if new == old:
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self._commit("MODIFIED", (plural, namespace, name), new)

    def patch(self, plural: str, namespace: str, name: str, patch: dict[str, Any], status: bool) -> dict[str, Any]:
        return self.update(plural, namespace, name, merged(copy.deepcopy(self.get(plural, namespace, name)), patch), status)

    def delete(self, plural: str, namespace: str, name: str, tests: dict[str, str]) -> dict[str, Any]:
        old = self.get(plural, namespace, name)
        for field, value in tests.items():
            if old["metadata"][field] != value:
                raise Refused(409, "Conflict", f"Precondition failed: {field} in precondition: {value}")
        if plural in self.graceful and not old["metadata"].get("deletionTimestamp"):
            new = copy.deepcopy(old)
            new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
            return self._commit("MODIFIED", (plural, namespace, name), new)
        return self.remove(plural, namespace, name)

    def remove(self, plural: str, namespace: str, name: str) -> dict[str, Any]:
        """Gone for good, with everything that it controls."""
        gone = self._commit("DELETED", (plural, namespace, name), copy.deepcopy(self.objects[plural, namespace, name]))
        uid = gone["metadata"]["uid"]
        for (kind, space, other), value in list(self.objects.items()):
            owners = value["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] == uid for owner in owners) and (kind, space, other) in self.objects:
                self.remove(kind, space, other)
        return gone

    def since(self, version: int, plural: str) -> Iterator[tuple[int, str, str, dict[str, Any], dict[str, Any] | None]]:
        if version < self.oldest:
            raise Refused(410, "Expired", f"too old resource version: {version} ({self.oldest})")
        return iter([entry for entry in self.history if entry[0] > version and entry[2] == plural])

    def compact(self) -> None:
        """Forget the history: older versions are expired from now on."""
        self.version += 1
        self.oldest = self.version
        self.history.clear()

    def _commit(self, kind: str, place: Place, body: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        before = self.objects.get(place)
        body["metadata"]["resourceVersion"] = str(self.version)
        if kind == "DELETED":
            del self.objects[place]
        else:
            self.objects[place] = body
        entry = (self.version, kind, place[0], body, before)
        self.history.append(entry)
        for listener in list(self.listeners):
            listener(*entry)
        return body


def merged(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            target[name] = merged(target.get(name) if isinstance(target.get(name), dict) else {}, value)  # type: ignore[arg-type]
        else:
            target[name] = value
    return target


def selected(value: dict[str, Any] | None, selector: str) -> bool:
    labels = (value or {}).get("metadata", {}).get("labels") or {}
    for term in filter(None, selector.split(",")):
        name, equals, wanted = term.partition("=")
        if name not in labels or (equals and labels[name] != wanted):
            return False
    return value is not None
