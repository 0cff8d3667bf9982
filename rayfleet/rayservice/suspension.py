"""Suspension: everything that the service made goes, and comes back when it is resumed (KubeRay, 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.meta import SERVICES
from rayfleet.planning.actions import Delete
from rayfleet.rayservice.generations import remove
from rayfleet.rayservice.observed import Observed
from rayfleet.rayservice.traffic import SERVICE, removed

REASON = "the service is suspended"


def everything(observed: Observed) -> Iterator[Delete]:
    for member in observed.members:
        if member.living:
            yield from remove(observed, member, REASON)
    for found in observed.services:
        scope = f"service/{found.name}"
        if not found.terminating and not observed.held_back(scope):
            told = {"resource": SERVICES, "namespace": found.metadata.namespace, "name": found.name, "scope": scope, "subject": SERVICE}
            yield removed(found, told, REASON)


def is_complete(observed: Observed) -> bool:
    return not observed.members and not observed.spoiled and not observed.services
