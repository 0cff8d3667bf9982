"""The terms of Pod affinity and anti-affinity, required and preferred, and which Pods they mean.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.planning.selection import selects
from rayfleet.scheduling.selection import PREFERRED, REQUIRED

NEAR, APART = "podAffinity", "podAntiAffinity"


@dataclass(frozen=True, slots=True)
class Term:
    """Nodes that have the same value of the label `key` are one place."""

    key: str
    selector: Mapping[str, Any] | None
    namespaces: frozenset[str]
    selected_namespaces: Mapping[str, Any] | None

    def means(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Of a namespace's labels only the one that each has is known: its name."""
        named = namespace in self.namespaces or selects(self.selected_namespaces, {"kubernetes.io/metadata.name": namespace})
        return named and selects(self.selector, labels)


@dataclass(frozen=True, slots=True)
class Wish:
    """`weight`: how much it counts to be near such Pods; below 0, to be apart from them."""

    weight: int
    term: Term


def terms(spec: Mapping[str, Any], kind: str, namespace: str, labels: Mapping[str, str]) -> tuple[Term, ...]:
    """`kind` is NEAR or APART; namespace and labels are the Pod's own. Raises LookupError for a term without a topologyKey."""
    return tuple(term(one, namespace, labels) for one in rules_of(spec, kind, REQUIRED))


def wishes(spec: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> tuple[Wish, ...]:
    """Of what is preferred. Raises LookupError for a term without a topologyKey or weight."""
    return tuple(
        Wish(sign * one["weight"], term(one["podAffinityTerm"], namespace, labels))
        for kind, sign in ((NEAR, 1), (APART, -1))
        for one in rules_of(spec, kind, PREFERRED)
    )


def rules_of(spec: Mapping[str, Any], kind: str, when: str) -> Iterable[Mapping[str, Any]]:
    return ((spec.get("affinity") or {}).get(kind) or {}).get(when) or ()


def term(rule: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> Term:
    everywhere = rule.get("namespaceSelector")
    named = rule.get("namespaces") or ([] if everywhere is not None else [namespace])
    return Term(rule["topologyKey"], narrowed(rule, labels), frozenset(named), everywhere)


def narrowed(rule: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The labelSelector of a term or constraint, with what matchLabelKeys and mismatchLabelKeys take from the Pod's own labels."""
    selector: Mapping[str, Any] | None = rule.get("labelSelector")
    if selector is None:
        return None
    more = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in rule.get(field) or ()
        if key in labels
    ]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *more]} if more else selector
