"""What a Pod would rather have, of the nodes that it can be on: preferred affinities, even spreading (ScheduleAnyway), PreferNoSchedule.

The points and their weights are kube-scheduler's: https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from fractions import Fraction
from math import log
from typing import Any

from rayfleet.scheduling.company import Place
from rayfleet.scheduling.fit import Site
from rayfleet.scheduling.pods import Taken, Waiting
from rayfleet.scheduling.selection import PREFERRED, holds
from rayfleet.scheduling.spread import ANYWAY, census, rules_of
from rayfleet.scheduling.taints import tolerates
from rayfleet.scheduling.terms import wishes

AFFINITY, TAINTS, COMPANY, SPREAD = 2, 3, 2, 2  # how much each counts; the emptiest node counts 1
Points = Mapping[str, Fraction]  # by the node's name


def preferred(pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site], fitting: Mapping[str, Site]) -> Points:
    """Of each node that is `fitting`, the more the better: by 100 an empty node is better than a full one. `sites` are all nodes.
    Raises LookupError or TypeError for a wish that is not understood."""
    kinds = (
        (AFFINITY, up_to_most({name: by_labels(pod.spec, site) for name, site in fitting.items()})),
        (TAINTS, up_to_most({name: -disliked(pod.spec, site) for name, site in fitting.items()})),
        (COMPANY, least_to_most(by_company(pod, neighbours, sites, fitting))),
        (SPREAD, by_evenness(pod, neighbours, sites, fitting)),
    )
    return {name: sum((weight * points.get(name, Fraction(0)) for weight, points in kinds), Fraction(0)) for name in fitting}


def by_labels(spec: Mapping[str, Any], site: Site) -> Fraction:
    terms = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(PREFERRED) or ()
    return Fraction(sum(term["weight"] for term in terms if holds(term["preference"], site.name, site.labels)))


def disliked(spec: Mapping[str, Any], site: Site) -> Fraction:
    """How many taints would rather keep the Pod out."""
    shy = [taint for taint in site.taints if taint.get("effect") == "PreferNoSchedule"]
    return Fraction(sum(not any(tolerates(one, taint) for one in spec.get("tolerations") or ()) for taint in shy))


def by_company(pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site], fitting: Mapping[str, Site]) -> Points:
    """Wishes of the Pod about its neighbours, and of theirs about it."""
    mine = wishes(pod.spec, pod.namespace, pod.labels)
    found: Counter[Place] = Counter()
    for one in neighbours:
        meant = [wish for wish in mine if wish.term.means(one.namespace, one.labels)]
        meant += [wish for wish in one.wishes if wish.term.means(pod.namespace, pod.labels)]
        labels = sites[one.node].labels
        for wish in meant:
            if wish.term.key in labels:
                found[wish.term.key, labels[wish.term.key]] += wish.weight
    return {name: Fraction(sum(found[place] for place in site.labels.items())) for name, site in fitting.items()}


def by_evenness(pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site], fitting: Mapping[str, Site]) -> Points:
    """A node that lacks a label by which the Pods are to be spread has no points."""
    rules = rules_of(pod.spec, ANYWAY)
    keys = [rule["topologyKey"] for rule in rules]
    keyed = {name: site for name, site in sites.items() if all(key in site.labels for key in keys)}
    able = {name: site for name, site in fitting.items() if name in keyed}
    crowds = dict.fromkeys(able, 0.0)
    for rule, key in zip(rules, keys, strict=True):
        counted = census(rule, pod, neighbours, keyed)
        weight = log(len({site.labels[key] for site in able.values()}) + 2)
        for name, site in able.items():
            crowds[name] += counted[site.labels[key]] * weight + rule["maxSkew"] - 1
    if not rules:
        return {}
    rounded = {name: round(crowd) for name, crowd in crowds.items()}
    least, most = min(rounded.values(), default=0), max(rounded.values(), default=0)
    return {name: Fraction(100 * (most + least - crowd), most) if most else Fraction(100) for name, crowd in rounded.items()}


def up_to_most(points: Points) -> Points:
    """In shares of the largest one, as hundreds."""
    most = max(map(abs, points.values()), default=Fraction(0))
    return {name: 100 * one / most if most else one for name, one in points.items()}


def least_to_most(points: Points) -> Points:
    least, most = min(points.values(), default=Fraction(0)), max(points.values(), default=Fraction(0))
    return {name: 100 * (one - least) / (most - least) if most > least else Fraction(0) for name, one in points.items()}
