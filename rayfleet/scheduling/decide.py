"""A node for each Pod that waits, or the sentence of why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from rayfleet.scheduling.amounts import PODS, Amounts, less, requested
from rayfleet.scheduling.fit import Misfit, Site, misfit, ports_of

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A Pod without a node; `created` is its creationTimestamp."""

    uid: str
    name: str
    spec: Mapping[str, Any]
    created: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a Pod takes from the node where it is."""

    node: str
    amounts: Amounts
    ports: frozenset[tuple[str, str, int]]


def taken(spec: Mapping[str, Any], node: str) -> Taken:
    """Of a spec that is not understood, nothing but the Pod itself."""
    try:
        return Taken(node, requested(spec), ports_of(spec))
    except (AttributeError, LookupError, TypeError, ValueError):
        return Taken(node, {PODS: Fraction(1)}, frozenset())


@dataclass(frozen=True, slots=True)
class Answer:
    """A node's name, or why there is none."""

    node: str = ""
    refusal: str = ""


def decide(waiting: Iterable[Waiting], empty: Iterable[Site], present: Iterable[Taken]) -> dict[str, Answer]:
    """An answer for each Pod by its UID: the higher priority first, then the older one. `empty` are the nodes without any Pod, `present`
    what is taken of them."""
    sites = {site.name: site for site in empty}
    for one in present:
        if one.node in sites:
            sites[one.node] = without(sites[one.node], one)
    answers: dict[str, Answer] = {}
    for pod in sorted(waiting, key=lambda pod: (-priority(pod.spec), pod.created, pod.name, pod.uid)):
        try:
            wants = requested(pod.spec)
            misfits = {name: misfit(pod.spec, wants, site) for name, site in sites.items()}
        except (AttributeError, LookupError, TypeError, ValueError) as error:  # nonsense in one Pod's spec is that Pod's trouble alone
            answers[pod.uid] = Answer(refusal=f"the Pod's spec is not understood: {type(error).__name__}: {error}")
            continue
        fitting = [sites[name] for name, why in misfits.items() if why is None]
        if fitting:
            best = min(fitting, key=lambda site: (fullness(wants, site), site.pods, site.name))
            sites[best.name] = without(best, taken(pod.spec, best.name))
            answers[pod.uid] = Answer(best.name)
        else:
            answers[pod.uid] = Answer(refusal=refusal([why for why in misfits.values() if why]))
    return answers


def priority(spec: Mapping[str, Any]) -> int:
    given = spec.get("priority")
    return given if isinstance(given, int) else 0


def without(site: Site, one: Taken) -> Site:
    return replace(site, free=less(site.free, one.amounts), ports=site.ports | one.ports, pods=site.pods + 1)


def fullness(wants: Amounts, site: Site) -> Fraction:
    """The mean share of processors and memory that would be taken: the emptiest node is the best one, as kube-scheduler has it."""
    shares = [1 - (site.free.get(name, Fraction(0)) - wants.get(name, Fraction(0))) / site.has[name]
              for name in ("cpu", "memory") if site.has.get(name)]  # fmt: skip
    return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)


def refusal(misfits: list[Misfit]) -> str:
    if not misfits:
        return NO_NODES
    reasons = Counter(reason for one in misfits for reason in one.reasons)
    helpful = Counter(NOT_HELPFUL if one.hopeless else NO_VICTIMS for one in misfits)
    available = f"0/{len(misfits)} nodes are available: "
    return f"{available}{listed(reasons)}. preemption: {available}{listed(helpful)}."


def listed(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {text}" for text, count in counts.items()))
