"""The API server's semantics in memory, as far as operator, kubelet and users lean on them. Objects in it are never changed in place.

Versions, generations, finalizers, graceful deletion of Pods, preconditions, AlreadyExists, Conflict and NotFound as Kubernetes has them;
every request, granted or refused, is told to auditors, and every change to watchers, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NoReturn, Protocol

import msgspec

from rayfleet.api.meta import GATEWAYS, JOBS, PODS, RAYCLUSTERS, Key, Resource
from rayfleet.apiserver.patch import edited
from rayfleet.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from rayfleet.planning.clock import rfc3339

Obj = dict[str, Any]
COUNTED = (RAYCLUSTERS.group, GATEWAYS.group)  # groups of those whose generations are counted
TERMINAL = ("Failed", "Succeeded")


@dataclass(frozen=True, slots=True)
class Request:
    """`uid` and `resource_version` are preconditions ("" for none); `grace` in seconds, None for the object's own; `propagation` is
    Background, or "" for what the kind does by itself."""

    actor: str
    verb: str
    resource: Resource
    namespace: str
    name: str
    body: Mapping[str, Any] = field(default_factory=dict)
    subresource: str = ""
    uid: str = ""
    resource_version: str = ""
    grace: int | None = None
    propagation: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    def __str__(self) -> str:
        sub = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource.plural}{sub} {self.name}"


@dataclass(slots=True)
class Change:
    """What a watch would say. `new` of a DELETED change is the last state, with the version of the deletion."""

    type: str
    resource: Resource
    old: Obj | None
    new: Obj
    version: int
    view: Any = None


class Now(Protocol):
    """`now` is in seconds since 1970."""

    @property
    def now(self) -> float: ...


class Store:
    """`uid` gives each new object its UID."""

    def __init__(self, clock: Now, uid: Callable[[Key], str]) -> None:
        self.clock = clock
        self.version = 1
        self.objects: dict[Resource, dict[Key, Obj]] = {}
        self.children: dict[str, dict[tuple[Resource, Key], Obj]] = {}
        self.watchers: list[Callable[[Change], None]] = []
        self.auditors: list[Callable[[Request, Change | None, ApiError | None], None]] = []
        self.admission: list[Callable[[Request], None]] = []
        self._uid = uid

    def get(self, resource: Resource, key: Key) -> Obj | None:
        return self.objects.get(resource, {}).get(key)

    def all(self, resource: Resource) -> list[Obj]:
        return list(self.objects.get(resource, {}).values())

    def owned(self, uid: str, resource: Resource) -> Iterator[Obj]:
        return (obj for (kind, _), obj in self.children.get(uid, {}).items() if kind == resource)

    def place(self, resource: Resource, obj: Obj) -> None:
        """An object that was there before, as it is."""
        self._put(resource, None, {**obj})

    def do(self, request: Request) -> Obj:
        """Carry a request out. Raises the ApiError that Kubernetes would answer with."""
        try:
            change = getattr(self, f"_{request.verb}")(request)
        except ApiError as error:
            self.refuse(request, error)
        for audit in self.auditors:
            audit(request, change, None)
        if change is None:
            return self.get(request.resource, request.key) or {}
        self._tell(change)
        return change.new

    def _tell(self, change: Change) -> None:
        for watcher in tuple(self.watchers):
            watcher(change)

    def refuse(self, request: Request, error: ApiError) -> NoReturn:
        """Answer with the error, and tell the auditors so."""
        for audit in self.auditors:
            audit(request, None, error)
        raise error

    def _create(self, request: Request) -> Change:
        for check in self.admission:
            check(request)
        if self.get(request.resource, request.key) is not None:
            raise AlreadyExists(409, "AlreadyExists", f'{request.resource.plural} "{request.name}" already exists')
        body = dict(request.body)
        body["metadata"] = {
            **body.get("metadata", {}),
            "name": request.name,
            "namespace": request.namespace,
            "uid": self._uid(request.key),
            "creationTimestamp": rfc3339(self.clock.now),
            **({"generation": 1} if request.resource.group else {}),
        }
        if request.resource == PODS:
            body["spec"] = {"restartPolicy": "Always", **body.get("spec", {})}
            body["status"] = {"phase": "Pending"}
        else:
            body.pop("status", None)
        return self._put(request.resource, None, body)

    def _patch(self, request: Request) -> Change | None:
        old = self._existing(request)
        body = {name: value for name, value in request.body.items() if (name == "status") == (request.subresource == "status")}
        new = merged(old, body)
        if request.resource.group in COUNTED and new.get("spec") != old.get("spec"):
            new["metadata"] = {**new["metadata"], "generation": old["metadata"]["generation"] + 1}
        if new == old:
            return None
        if new["metadata"].get("deletionTimestamp") and old["metadata"].get("finalizers") and not new["metadata"].get("finalizers"):
            return self._drop(request.resource, old)
        return self._put(request.resource, old, new)

    def _resize(self, request: Request) -> Change | None:
        """A JSON patch, tested against a version."""
        old = self._existing(request)
        return self._patch(replace(request, body={"spec": edited(old, request.body["operations"])["spec"]}))

    def _delete(self, request: Request) -> Change | None:
        old = self._existing(request)
        meta = old["metadata"]
        grace = self._grace(request, old)
        if not grace and not meta.get("finalizers"):
            if request.resource == JOBS and request.propagation != "Background":
                self._orphan(meta["uid"])
            return self._drop(request.resource, old)
        if meta.get("deletionTimestamp"):
            return None
        marked = {**meta, "deletionTimestamp": rfc3339(self.clock.now + grace), "deletionGracePeriodSeconds": grace}
        return self._put(request.resource, old, {**old, "metadata": marked})

    def _orphan(self, uid: str) -> None:
        """The children stay, and belong to nobody (Kubernetes' old default for Jobs)."""
        for resource, child in [(resource, child) for (resource, _), child in self.children.get(uid, {}).items()]:
            self._tell(self._put(resource, child, {**child, "metadata": {**child["metadata"], "ownerReferences": []}}))

    def _grace(self, request: Request, old: Obj) -> int:
        """Only Pods that a node has, and that have not ended, are given time."""
        if request.resource != PODS or not old["spec"].get("nodeName") or old["status"].get("phase") in TERMINAL:
            return 0
        return int(old["spec"].get("terminationGracePeriodSeconds", 30)) if request.grace is None else request.grace

    def _existing(self, request: Request) -> Obj:
        old = self.get(request.resource, request.key)
        if old is None:
            raise NotFound(404, "NotFound", f'{request.resource.plural} "{request.name}" not found')
        meta = old["metadata"]
        if request.uid and request.uid != meta["uid"]:
            raise Conflict(409, "Conflict", f"the UID in the precondition ({request.uid}) is not that of the object ({meta['uid']})")
        if request.resource_version and request.resource_version != meta["resourceVersion"]:
            raise Conflict(409, "Conflict", f'{request.resource.plural} "{request.name}": the object has been modified')
        return old

    def _put(self, resource: Resource, old: Obj | None, new: Obj) -> Change:
        self.version += 1
        new["metadata"] = {**new["metadata"], "resourceVersion": str(self.version)}
        key = Key(new["metadata"]["namespace"], new["metadata"]["name"])
        self.objects.setdefault(resource, {})[key] = new
        self._index(resource, key, old, new)
        return Change("MODIFIED" if old else "ADDED", resource, old, new, self.version)

    def _drop(self, resource: Resource, old: Obj) -> Change:
        self.version += 1
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        key = Key(old["metadata"]["namespace"], old["metadata"]["name"])
        del self.objects[resource][key]
        self._index(resource, key, old, None)
        return Change("DELETED", resource, old, last, self.version)

    def _index(self, resource: Resource, key: Key, old: Obj | None, new: Obj | None) -> None:
        if old and (owner := owner_uid(old)):
            self.children[owner].pop((resource, key), None)
        if new and (owner := owner_uid(new)):
            self.children.setdefault(owner, {})[resource, key] = new


def random_uids(dice: Random) -> Callable[[Key], str]:
    """UIDs by dice."""

    def uid(_: Key) -> str:
        digits = f"{dice.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    return uid


def owner_uid(obj: Mapping[str, Any]) -> str:
    """The UID of the object's controller, "" when it has none."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference["uid"])
    return ""


def merged(target: Mapping[str, Any], patch: Mapping[str, Any]) -> Obj:
    """A JSON merge patch (RFC 7386) carried out on a copy."""
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            old = result.get(name)
            result[name] = merged(old if isinstance(old, Mapping) else {}, value)
        else:
            result[name] = value
    return result


def encoded(obj: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(obj)
