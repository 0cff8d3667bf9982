"""Topology spread constraints: those that must be kept (DoNotSchedule), and whom each of them counts.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.planning.selection import selects
from rayfleet.scheduling.fit import UNSCHEDULABLE, Misfit, Site
from rayfleet.scheduling.pods import Taken, Waiting
from rayfleet.scheduling.selection import selected
from rayfleet.scheduling.taints import untolerated
from rayfleet.scheduling.terms import narrowed

MUST, ANYWAY = "DoNotSchedule", "ScheduleAnyway"
UNEVEN = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True, slots=True)
class Constraint:
    """Nodes with the same value of the label `key` are one domain. `most`: how many Pods it may hold, the one that comes included."""

    key: str
    counts: Mapping[str, int]
    own: int  # the Pod that comes, if the constraint counts it
    most: int


@dataclass(frozen=True, slots=True)
class Spread:
    constraints: tuple[Constraint, ...]

    def misfit(self, site: Site) -> Misfit | None:
        for one in self.constraints:
            if one.key not in site.labels:
                return Misfit((f"{UNEVEN} (missing required label)",), True)
            if one.counts.get(site.labels[one.key], 0) + one.own > one.most:
                return Misfit((UNEVEN,), False)
        return None


def spread_of(pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site]) -> Spread:
    """Raises LookupError for a constraint that is not understood."""
    rules = rules_of(pod.spec, MUST)
    keyed = {name: site for name, site in sites.items() if all(rule["topologyKey"] in site.labels for rule in rules)}
    return Spread(tuple(constraint(rule, pod, neighbours, keyed) for rule in rules))


def rules_of(spec: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """`kind` is MUST or ANYWAY."""
    return [one for one in spec.get("topologySpreadConstraints") or () if one["whenUnsatisfiable"] == kind]


def constraint(rule: Mapping[str, Any], pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site]) -> Constraint:
    counted = census(rule, pod, neighbours, sites)
    least = min(counted.values(), default=0) if len(counted) >= (rule.get("minDomains") or 1) else 0
    return Constraint(rule["topologyKey"], counted, int(selects(narrowed(rule, pod.labels), pod.labels)), rule["maxSkew"] + least)


def census(rule: Mapping[str, Any], pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site]) -> Counter[str]:
    """How many Pods that the rule means are in each domain, the empty ones included; all `sites` have the rule's label."""
    selector = narrowed(rule, pod.labels)
    domains = {name: site.labels[rule["topologyKey"]] for name, site in sites.items() if counts(rule, pod.spec, site)}
    counted = Counter(dict.fromkeys(domains.values(), 0))
    everything = not (selector or {}).get("matchLabels") and not (selector or {}).get("matchExpressions")
    for one in () if everything else neighbours:  # of a selector without terms kube-scheduler counts nobody
        if one.node in domains and one.namespace == pod.namespace and not one.leaving and selects(selector, one.labels):
            counted[domains[one.node]] += 1
    return counted


def counts(rule: Mapping[str, Any], spec: Mapping[str, Any], site: Site) -> bool:
    """Whether a node is one of those over which the Pods are spread."""
    if rule.get("nodeAffinityPolicy") != "Ignore" and not selected(spec, site.name, site.labels):
        return False
    taints = (*site.taints, UNSCHEDULABLE) if site.unschedulable else site.taints
    return rule.get("nodeTaintsPolicy") != "Honor" or not untolerated(spec, taints)
