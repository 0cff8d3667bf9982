"""Other operators that hold a lease of the same name in another namespace, and would look after the same objects.

The lease that excludes two replicas of one Deployment does not exclude two operators, each with a lease in a namespace of its own. A lease
tells what its holder looks after by an annotation; one that does not, such as KubeRay's, is taken for that of an operator of everything.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rayfleet.api.meta import LEASES
from rayfleet.kube.client import Client
from rayfleet.kube.errors import Forbidden, NotFound
from rayfleet.runtime.clock import Clock

log = logging.getLogger(__name__)

WATCHES = "rayfleet.dev/watches"
"""On a lease: names of namespaces with commas between them, or `*`."""
HOLDER = "rayfleet.dev/holder"
"""Whose word the other annotation is. Without it anybody's counts: so an administrator may speak for an operator that says nothing."""
EVERYTHING = "*"
LONG_AGO = 600.0
"""Seconds since its last renewal after which a lease is dead at first sight; two wall clocks are not that far apart."""


class Rivals:
    """Looks for them. `watched` are our own namespaces, () for all; `place` is where our own lease is."""

    def __init__(self, client: Client, name: str, place: str, watched: Sequence[str], clock: Clock) -> None:
        self._client = client
        self._name = name
        self._place = place
        self._watched = tuple(watched)
        self._clock = clock
        self._seen: dict[str, tuple[dict[str, Any], float]] = {}
        self._sees_all = True

    async def in_the_way(self) -> str:
        """The one whose end must be waited for, in words; "" when there is none. Raises ApiError."""
        for lease in await self._leases():
            watched = watched_by(lease)
            if lease["metadata"]["namespace"] != self._place and overlap(self._watched, watched) and self._is_alive(lease):
                where = f"{lease['metadata']['namespace']}/{self._name}"
                return f"the operator {holder_of(lease)} holds the lease {where} and looks after {told(watched)}"
        return ""

    async def _leases(self) -> list[dict[str, Any]]:
        """In every namespace; where that may not be read, in those that are looked after."""
        if self._sees_all:
            try:
                return await self._client.list(LEASES, fields=f"metadata.name={self._name}")
            except Forbidden as error:
                self._sees_all = False
                log.info("leases elsewhere cannot be read: an operator there that looks after the same would not be seen: %s", error)
        return [lease for place in self._watched if place != self._place and (lease := await self._lease_in(place))]

    async def _lease_in(self, place: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = await self._client.get(LEASES, self._name, place)
        except (NotFound, Forbidden):
            return None
        return found

    def _is_alive(self, lease: dict[str, Any]) -> bool:
        """Held, and by our own clock changed within the time that its holder asked for."""
        place, spec, now = lease["metadata"]["namespace"], lease.get("spec") or {}, self._clock.monotonic()
        if not holder_of(lease):
            return False
        known = self._seen.get(place)
        if known is None or known[0] != spec:
            dead = known is None and self._clock.time() - renewed(spec) > LONG_AGO
            known = self._seen[place] = (spec, float("-inf") if dead else now)
        return now < known[1] + float(spec.get("leaseDurationSeconds") or 0.0)


def marks(holder: str, watched: Sequence[str]) -> dict[str, str]:
    """The annotations by which a lease tells what its holder looks after."""
    return {HOLDER: holder, WATCHES: ",".join(sorted(watched)) or EVERYTHING}


def watched_by(lease: dict[str, Any]) -> tuple[str, ...]:
    """The namespaces that the holder looks after, () for all, and for those of which nothing is known."""
    notes = (lease.get("metadata") or {}).get("annotations") or {}
    if notes.get(HOLDER, holder_of(lease)) != holder_of(lease) or EVERYTHING in notes.get(WATCHES, EVERYTHING):
        return ()
    return tuple(filter(None, (name.strip() for name in notes[WATCHES].split(","))))


def overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    return not one or not other or not set(one).isdisjoint(other)


def told(watched: Sequence[str]) -> str:
    return ", ".join(watched) if watched else "all namespaces, as far as it says"


def holder_of(lease: dict[str, Any] | None) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


def renewed(spec: dict[str, Any]) -> float:
    """Seconds since 1970, 0 when it is not said."""
    try:
        return datetime.fromisoformat(str(spec.get("renewTime"))).timestamp()
    except ValueError:
        return 0.0
