"""A node for each Pod that waits, or the sentence of why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from rayfleet.scheduling.amounts import Amounts, less, requested
from rayfleet.scheduling.company import company_of
from rayfleet.scheduling.fit import Misfit, Site, misfit
from rayfleet.scheduling.pods import Taken, Waiting, priority, taken
from rayfleet.scheduling.preference import preferred
from rayfleet.scheduling.spread import spread_of

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Answer:
    """A node's name, or why there is none."""

    node: str = ""
    refusal: str = ""


def decide(waiting: Iterable[Waiting], empty: Iterable[Site], present: Iterable[Taken]) -> dict[str, Answer]:
    """An answer for each Pod by its UID: the higher priority first, then the older one. `empty` are the nodes without any Pod, `present`
    what is taken of them."""
    sites = {site.name: site for site in empty}
    neighbours = [one for one in present if one.node in sites]
    for one in neighbours:
        sites[one.node] = without(sites[one.node], one)
    answers: dict[str, Answer] = {}
    for pod in sorted(waiting, key=lambda pod: (-priority(pod.spec), pod.created, pod.name, pod.uid)):
        try:
            wants = requested(pod.spec)
            misfits = judged(pod, wants, sites, neighbours)
            fitting = {name: sites[name] for name, why in misfits.items() if why is None}
            points = preferred(pod, neighbours, sites, fitting) if len(fitting) > 1 else {}
        except (AttributeError, LookupError, TypeError, ValueError) as error:  # nonsense in one Pod's spec is that Pod's trouble alone
            answers[pod.uid] = Answer(refusal=f"the Pod's spec is not understood: {type(error).__name__}: {error}")
            continue
        if fitting:
            best = min(
                fitting.values(), key=lambda site: (100 * fullness(wants, site) - points.get(site.name, Fraction(0)), site.pods, site.name)
            )
            placed = taken(pod.spec, best.name, pod.namespace, pod.labels)
            neighbours.append(placed)
            sites[best.name] = without(best, placed)
            answers[pod.uid] = Answer(best.name)
        else:
            answers[pod.uid] = Answer(refusal=refusal([why for why in misfits.values() if why]))
    return answers


def judged(pod: Waiting, wants: Amounts, sites: Mapping[str, Site], neighbours: Collection[Taken]) -> dict[str, Misfit | None]:
    """Of each node, why the Pod cannot be there; None: it can. In the order of kube-scheduler's filters."""
    spread, company = spread_of(pod, neighbours, sites), company_of(pod, neighbours, sites)
    return {name: misfit(pod.spec, wants, site) or spread.misfit(site) or company.misfit(site) for name, site in sites.items()}


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
