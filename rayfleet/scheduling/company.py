"""Pods that must be near others, or apart from them: required affinity and anti-affinity, that of the Pods that are there included.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from rayfleet.scheduling.fit import Misfit, Site
from rayfleet.scheduling.pods import Taken, Waiting
from rayfleet.scheduling.terms import APART, NEAR, Term, terms

Place = tuple[str, str]  # a node label's key and value


@dataclass(frozen=True, slots=True)
class Company:
    """`first`: the Pod is one of those that it wants to be near, and none of them is there yet."""

    wants: tuple[Term, ...]
    wanted: frozenset[Place]
    shunned: frozenset[Place]
    shunning: frozenset[Place]
    first: bool

    def misfit(self, site: Site) -> Misfit | None:
        if not self.is_near(site):
            return Misfit(("node(s) didn't match pod affinity rules",), True)
        places = self.shunned | self.shunning
        if not any(site.labels.get(key) == value for key, value in places):
            return None
        own = any(site.labels.get(key) == value for key, value in self.shunned)
        words = "node(s) didn't match pod anti-affinity rules" if own else "node(s) didn't satisfy existing pods anti-affinity rules"
        return Misfit((words,), False)

    def is_near(self, site: Site) -> bool:
        if any(term.key not in site.labels for term in self.wants):
            return False
        return self.first or all((term.key, site.labels[term.key]) in self.wanted for term in self.wants)


def company_of(pod: Waiting, neighbours: Collection[Taken], sites: Mapping[str, Site]) -> Company:
    """What the Pods that are there mean for one that comes. Raises LookupError for a term that is not understood."""
    wants, shuns = (terms(pod.spec, kind, pod.namespace, pod.labels) for kind in (NEAR, APART))
    near = [one for one in neighbours if all_mean(wants, one.namespace, one.labels)] if wants else []
    wanted = places(((one, term) for one in near for term in wants), sites)
    shunned = places(((one, term) for term in shuns for one in neighbours if term.means(one.namespace, one.labels)), sites)
    shunning = places(((one, term) for one in neighbours for term in one.shuns if term.means(pod.namespace, pod.labels)), sites)
    return Company(wants, wanted, shunned, shunning, first=not wanted and all_mean(wants, pod.namespace, pod.labels))


def all_mean(wants: Iterable[Term], namespace: str, labels: Mapping[str, str]) -> bool:
    return all(term.means(namespace, labels) for term in wants)


def places(found: Iterable[tuple[Taken, Term]], sites: Mapping[str, Site]) -> frozenset[Place]:
    """Where these Pods are, as each term tells places apart."""
    labelled = ((term.key, sites[one.node].labels.get(term.key)) for one, term in found)
    return frozenset((key, value) for key, value in labelled if value is not None)
