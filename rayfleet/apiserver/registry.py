"""Which kinds are served, under which group, version and plural."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rayfleet.apiserver.kind import Kind

_VERSION = re.compile(r"v(?P<major>\d+)((?P<stage>alpha|beta)(?P<minor>\d+))?")


@dataclass(frozen=True, slots=True)
class Served:
    """A kind under one of its apiVersions, as a URL names it."""

    kind: Kind
    group: str
    version: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Registry:
    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], Served] = {}
        self._kinds: dict[str, Kind] = {}

    def add(self, kind: Kind) -> None:
        """Adds, or replaces what was served under the same resource."""
        self.remove(kind.resource)
        self._kinds[kind.resource] = kind
        for version in kind.versions or (kind.version,):
            self._served[kind.group, version, kind.plural] = Served(kind, kind.group, version)
        for alias in kind.aliases:
            group, _, version = alias.rpartition("/")
            self._served[group, version, kind.plural] = Served(kind, group, version)

    def remove(self, resource: str) -> None:
        if self._kinds.pop(resource, None):
            self._served = {key: served for key, served in self._served.items() if served.kind.resource != resource}

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._served.get((group, version, plural))

    def kind(self, resource: str) -> Kind | None:
        return self._kinds.get(resource)

    def native(self, resource: str) -> Served:
        """The kind under its stored version. Raises KeyError."""
        kind = self._kinds[resource]
        return self._served[kind.group, kind.version, kind.plural]

    def kinds(self) -> list[Kind]:
        return list(self._kinds.values())

    def groups(self) -> dict[str, list[str]]:
        """group -> versions, the preferred one first; the core group is ""."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._served:
            versions = found.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        return {group: sorted(versions, key=_priority) for group, versions in found.items()}

    def is_custom(self, group: str) -> bool:
        """All its kinds come from definitions: nobody answers for what is none of them."""
        return all(kind.custom for kind in self._kinds.values() if kind.group == group)

    def within(self, group: str, version: str) -> Iterator[Served]:
        for (other, its_version, _), served in sorted(self._served.items()):
            if (other, its_version) == (group, version):
                yield served


def _priority(version: str) -> tuple[int, int, int, str]:
    """Stable versions before beta before alpha, in each the newest first, as Kubernetes orders them."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found["stage"]]
    return (stage, -int(found["major"]), -int(found["minor"] or 0), version)
