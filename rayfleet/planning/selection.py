"""Does a label selector choose an object? As metav1.LabelSelector:
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """The empty selector chooses everything, no selector nothing."""
    if selector is None:
        return False
    exact = selector.get("matchLabels")
    if exact and not exact.items() <= labels.items():
        return False
    return all(meets(term, labels) for term in selector.get("matchExpressions") or ())


def meets(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(term["key"]), term.get("values") or ()
    match term["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None
