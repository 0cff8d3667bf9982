"""What the server knows about one kind of object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rayfleet.apiserver.record import Obj, rewritten
from rayfleet.apiserver.status_error import Cause

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api
    from rayfleet.apiserver.scale import Scale


class Schema(Protocol):
    """The schema of one version of a custom resource."""

    def prune(self, obj: Obj) -> list[str]:
        """Drops what the schema does not know, in place; returns the paths of what was dropped."""

    def default(self, obj: Obj) -> None: ...

    def check(self, obj: Obj, old: Obj | None) -> list[Cause]: ...

    def check_status(self, part: Obj, old: Obj) -> list[Cause]:
        """`part` and `old` hold the status only."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; priority > 0 shows with -o wide only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[Column, ...]
    cells: Callable[[Obj, float], list[Any]]
    """(object, now in seconds since the epoch) -> one cell a column"""


def _nothing(obj: Obj) -> None: ...


def _no_fields(obj: Obj) -> dict[str, str]:
    return {}


def _no_causes(obj: Obj, old: Obj | None) -> list[Cause]:
    return []


def _no_admission(api: Api, obj: Obj, old: Obj | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """`version` is the stored one. The callables take decoded objects and may change the first argument in place."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    versions: tuple[str, ...] = ()
    """every served version of the group; empty: only the stored one"""
    subresources: tuple[str, ...] = ()
    names: str = "subdomain"
    """rule for metadata.name: subdomain, label, service, path"""
    counts_generations: bool = False
    custom: bool = False
    known_fields: frozenset[str] = frozenset()
    fields: Callable[[Obj], dict[str, str]] = _no_fields
    default: Callable[[Obj], None] = _nothing
    """fills what a client left out; runs on every write, before `check`"""
    begin: Callable[[Obj], None] = _nothing
    """the status of a new object"""
    default_status: Callable[[Obj], None] = _nothing
    """the same for a write of the status"""
    check: Callable[[Obj, Obj | None], list[Cause]] = _no_causes
    admit: Callable[[Api, Obj, Obj | None], None] = _no_admission
    """what needs other objects: quotas, addresses"""
    shape: Callable[[Obj], list[str]] | None = None
    """prunes what a typed decoder would drop; returns the paths"""
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    """by version; "" is the one for all versions"""
    aliases: Mapping[str, Callable[[Obj, str], Obj]] = field(default_factory=dict)
    """apiVersions of another shape -> conversion(object, wanted apiVersion)"""
    check_alias: Callable[[Obj, Obj | None], list[Cause]] = _no_causes
    """further rules for what is written under one of `aliases`"""
    openapi: Mapping[str, Obj] = field(default_factory=dict)
    scale: Scale | None = None
    """where objects of a custom kind keep their numbers, when they have the subresource"""
    deprecated: Mapping[str, str] = field(default_factory=dict)
    """served version -> the warning that goes with each answer"""

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    def stored(self, obj: Obj, api_version: str) -> Obj:
        """The object, decoded in `api_version`, as it is kept."""
        if convert := self.aliases.get(api_version):
            obj = convert(obj, self.api_version)
        return {"apiVersion": self.api_version, "kind": self.name, "metadata": obj.get("metadata", {}), **_body(obj)}

    def presented(self, data: bytes, obj: Callable[[], Obj], api_version: str) -> bytes | Obj:
        if convert := self.aliases.get(api_version):
            return convert(obj(), api_version)
        return rewritten(data, self.api_version, api_version)


def _body(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
