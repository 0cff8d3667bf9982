"""Suspension: everything that the service made goes, and comes back when it is resumed (KubeRay, 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.meta import SERVICES
from rayfleet.planning.actions import Delete, scope_of
from rayfleet.rayservice import gateway
from rayfleet.rayservice.children import removed
from rayfleet.rayservice.generations import remove
from rayfleet.rayservice.observed import Observed

REASON = "the service is suspended"


def everything(observed: Observed) -> Iterator[Delete]:
    for member in observed.members:
        if member.living:
            yield from remove(observed, member, REASON)
    for resource, found in (*((SERVICES, each) for each in observed.services), *gateway.everything(observed)):
        if not found.terminating and not observed.held_back(scope_of(resource, found.name)):
            yield removed(resource, found, REASON)


def is_complete(observed: Observed) -> bool:
    return not observed.members and not observed.spoiled and not observed.services and not list(gateway.everything(observed))
