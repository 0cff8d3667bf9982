"""What Pods ask for, what nodes have, and what is left. Exact fractions, by the name of the resource.

Source: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/ and, for init containers,
https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from rayfleet.api.quantity import parse

Amounts = Mapping[str, Fraction]
PODS = "pods"
NATIVE = ("cpu", "memory", "ephemeral-storage", PODS)  # all others are devices


def amounts_of(texts: Mapping[str, Any] | None) -> dict[str, Fraction]:
    """Quantities by name; one that is no quantity counts as nothing: it is the kubelet's to refuse it."""
    return {name: amount for name, text in (texts or {}).items() if (amount := amount_of(text)) is not None}


def amount_of(text: Any) -> Fraction | None:
    try:
        return parse(text).amount
    except ValueError:
        return None


def requested(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """What a Pod takes from its node for as long as it lives, itself (`pods`) included."""
    return sum_of((of_all(spec, asked), amounts_of(spec.get("overhead")), {PODS: Fraction(1)}))


def of_all(spec: Mapping[str, Any], asked_by: Callable[[Mapping[str, Any]], Amounts]) -> dict[str, Fraction]:
    """What the containers come to at the time when it is most."""
    total = sum_of(map(asked_by, spec.get("containers") or ()))
    sidecars: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = sum_of((sidecars, asked_by(container)))
            peak = most(peak, sidecars)
        else:
            peak = most(peak, sum_of((sidecars, asked_by(container))))
    return {**most(sum_of((total, sidecars)), peak), **asked_by(spec)}  # what the Pod as a whole asks for counts instead


def limited(container: Mapping[str, Any]) -> dict[str, Fraction]:
    return amounts_of((container.get("resources") or {}).get("limits"))


def asked(container: Mapping[str, Any]) -> dict[str, Fraction]:
    """Where only a limit is given, that is the request."""
    resources = container.get("resources") or {}
    return amounts_of(resources.get("limits")) | amounts_of(resources.get("requests"))


def sum_of(parts: Iterable[Amounts]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def most(one: Amounts, other: Amounts) -> dict[str, Fraction]:
    return {name: max(one.get(name, Fraction(0)), other.get(name, Fraction(0))) for name in {**one, **other}}


def less(whole: Amounts, part: Amounts) -> dict[str, Fraction]:
    """What is left; of what the whole does not name, nothing was there."""
    return {name: amount - part.get(name, Fraction(0)) for name, amount in whole.items()}
