"""Taints of nodes, and the tolerations by which Pods live with them.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Taint = Mapping[str, Any]
KEEPS_OUT = ("NoSchedule", "NoExecute")
FOR_EVER = float("inf")


def untolerated(spec: Mapping[str, Any], taints: Sequence[Taint]) -> bool:
    """Does a taint keep the Pod from being placed there?"""
    tolerations = spec.get("tolerations") or ()
    return any(taint.get("effect") in KEEPS_OUT and not any(tolerates(one, taint) for one in tolerations) for taint in taints)


def seconds_tolerated(spec: Mapping[str, Any], taint: Taint) -> float:
    """How long a Pod may stay on a node with this taint: 0 without a toleration, the shortest of several."""
    fitting = [one for one in spec.get("tolerations") or () if tolerates(one, taint)]
    if not fitting:
        return 0.0
    given = [max(0.0, float(one["tolerationSeconds"])) for one in fitting if one.get("tolerationSeconds") is not None]
    return min(given, default=FOR_EVER)


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
