"""What can happen to one request of an operator: answered as the store would, or one of these, by dice or by count. Each is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from rayfleet.api.meta import Resource
from rayfleet.kube.errors import ApiError, Conflict, Forbidden, ServerError, TooManyRequests, Unreachable
from rayfleet.sim.store import Request

Outcome = str | ApiError | None
KINDS = ("crash-before", "crash-after", "lost-response", "conflict", "server-error", "timeout", "too-many-requests")
CALLS = (
    "create pods",
    "delete pods",
    "create services",
    "patch services",
    "patch rayclusters",
    "patch status",
    "get pods",
    "get rayclusters",
)
RETRY_AFTER = 3.0
RAY = Resource("", "", "ray", "Ray")
"""Stands for Ray where a request names what it is for: its verbs are submit, stop and put."""
OFTENER = 4  # calls to Ray are few


def combinations(calls: Sequence[str] = CALLS) -> list[str]:
    """Each fault on each call; a read meets no conflict, and neither does a call to Ray."""
    never = {f"conflict: {call}" for call in calls if call.startswith("get") or call.endswith(f" {RAY.plural}")}
    return [combined for kind in KINDS for call in calls if (combined := f"{kind}: {call}") not in never]


def error_of(kind: str, request: Request) -> ApiError | None:
    """The answer of the API for a fault that is one; None for those that are no answer."""
    if kind == "conflict":
        return Conflict(409, "Conflict", f'{request.resource.plural} "{request.name}": the object has been modified')
    if kind == "server-error":
        return ServerError(500, "InternalError", "etcdserver: leader changed")
    if kind == "too-many-requests":
        return TooManyRequests(429, "TooManyRequests", "the server has received too many requests", retry_after=RETRY_AFTER)
    if kind == "timeout":
        return Unreachable("no answer within 30 s")
    if kind == "forbidden":
        return Forbidden(403, "Forbidden", f'{request.resource.plural} "{request.name}" is forbidden: the operator may not do this')
    return None


@dataclass
class Faults:
    """`rates` gives the chance of each kind for a request. `at` strikes one request alone, by its number from 1: (number, kind).

    `always` strikes every request for which it names a kind.
    """

    dice: Random
    rates: dict[str, float] = field(default_factory=dict)
    at: tuple[int, str] | None = None
    always: dict[tuple[str, str], str] = field(default_factory=dict)
    requests: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)

    def strike(self, request: Request) -> Outcome:
        self.requests += 1
        kind = self.chosen(request)
        if kind is None or (kind == "conflict" and (request.verb == "get" or request.resource == RAY)):
            return None
        self.counts[kind] += 1
        self.calls[f"{kind}: {request.verb} {request.subresource or request.resource.plural}"] += 1
        return error_of(kind, request) or kind

    def chosen(self, request: Request) -> str | None:
        if self.at is not None and self.requests == self.at[0]:
            return self.at[1]
        what = request.subresource or request.resource.plural
        if kind := self.always.get((request.verb, what)):
            return kind
        if not self.rates:
            return None
        roll = self.dice.random() / (OFTENER if request.resource == RAY else 1)
        for kind, rate in self.rates.items():
            roll -= rate
            if roll < 0:
                return kind
        return None

    def downtime(self) -> float:
        """Seconds between the death of an operator process and the next one."""
        return self.dice.uniform(0.5, 8.0)

    def stop(self) -> None:
        self.rates = {}
        self.always = {}
