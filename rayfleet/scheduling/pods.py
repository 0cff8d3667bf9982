"""Pods as they are placed: those that wait, and those that have a node and take something from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rayfleet.scheduling.amounts import PODS, Amounts, requested
from rayfleet.scheduling.fit import Port, ports_of
from rayfleet.scheduling.terms import APART, NEAR, Term, Wish, terms, wishes


@dataclass(frozen=True, slots=True)
class Waiting:
    """A Pod without a node; `created` is its creationTimestamp."""

    uid: str
    name: str
    spec: Mapping[str, Any]
    created: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taken:
    """A Pod with a node: what it takes from it, and what others' rules and its own say of neighbours. `leaving`: it is being deleted."""

    node: str
    amounts: Amounts
    ports: frozenset[Port]
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    shuns: tuple[Term, ...] = ()
    wishes: tuple[Wish, ...] = ()
    leaving: bool = False


def taken(
    spec: Mapping[str, Any], node: str, namespace: str = "", labels: Mapping[str, str] | None = None, *, leaving: bool = False
) -> Taken:
    """Of a spec that is not understood, nothing but the Pod itself."""
    labels = labels or {}
    try:
        # Where it had to be near others, kube-scheduler takes it to like them, by the least weight.
        likes = (*wishes(spec, namespace, labels), *(Wish(1, term) for term in terms(spec, NEAR, namespace, labels)))
        return Taken(node, requested(spec), ports_of(spec), namespace, labels, terms(spec, APART, namespace, labels), likes, leaving)
    except (AttributeError, LookupError, TypeError, ValueError):
        return Taken(node, {PODS: Fraction(1)}, frozenset(), namespace, labels, leaving=leaving)


def priority(spec: Mapping[str, Any]) -> int:
    given = spec.get("priority")
    return given if isinstance(given, int) else 0
