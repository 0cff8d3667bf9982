"""Does a node have what a Pod's nodeSelector and required node affinity ask for?

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.planning.selection import meets

REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


def selected(spec: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    """`name` and `labels` are the node's."""
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    if not required:
        return True
    return any(holds(term, name, labels) for term in required.get("nodeSelectorTerms") or ())


def holds(term: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    """All of a term's expressions; an empty term is true of no node."""
    by_label, by_field = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not by_label and not by_field:
        return False
    return all(true_of(one, labels) for one in by_label) and all(true_of(one, {"metadata.name": name}) for one in by_field)


def true_of(expression: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    """As a label selector's, and two more: Gt and Lt."""
    match expression["operator"]:
        case "In" | "NotIn" | "Exists" | "DoesNotExist":
            return meets(expression, values)
        case "Gt" | "Lt" as order:
            value, bounds = values.get(expression["key"]), expression.get("values") or ()
            return value is not None and compared(value, bounds[0], order)
    return False


def compared(value: str, bound: str, order: str) -> bool:
    try:
        return int(value) > int(bound) if order == "Gt" else int(value) < int(bound)
    except ValueError:
        return False
