"""The terms of required Pod affinity and anti-affinity, and which Pods they mean.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.planning.selection import selects
from rayfleet.scheduling.selection import REQUIRED

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


def terms(spec: Mapping[str, Any], kind: str, namespace: str, labels: Mapping[str, str]) -> tuple[Term, ...]:
    """`kind` is NEAR or APART; namespace and labels are the Pod's own. Raises LookupError for a term without a topologyKey."""
    return tuple(
        Term(
            one["topologyKey"],
            narrowed(one, labels),
            frozenset(one.get("namespaces") or ([] if one.get("namespaceSelector") is not None else [namespace])),
            one.get("namespaceSelector"),
        )
        for one in ((spec.get("affinity") or {}).get(kind) or {}).get(REQUIRED) or ()
    )


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
