"""Names as fences: when a name may not be used again, and how that is written down (design, decision 3).

A new Pod never gets a name that another Pod of this cluster has or had while an operator ran: Ray's autoscaler takes Pod names for instance
ids. The number of lives is part of the hash in a name; it is raised, on the owner and tested against its version, before one of its Pods is
deleted, and before a slot is filled again whose Pod was seen to go. A first creation costs no write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from rayfleet.api import labels
from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.planning.actions import Fence
from rayfleet.raycluster.observed import Observed

MOST_RAISES = 100


def settled_lives(observed: Observed, deletes: bool, names: Callable[[int], Collection[str]]) -> int:
    """The lives for which none of the new Pods' names is taken. `names` gives the new names in a given life."""
    taken = used_names(observed)
    lives = observed.lives + (1 if deletes else 0)
    for raised in range(lives, lives + MOST_RAISES):
        if taken.isdisjoint(names(raised)):
            return raised
    raise ValueError(f"no free names for new Pods of {observed.cluster.metadata.key} in {MOST_RAISES} lives")


def used_names(observed: Observed) -> frozenset[str]:
    """Names that a Pod has, had, or is to lose."""
    listed = {
        name
        for group in getattr(getattr(observed.cluster, "spec", None), "worker_group_specs", ())
        for name in group.scale_strategy.workers_to_delete
    }
    return frozenset({pod.name for pod in observed.pods} | observed.gone | listed)


def fence(observed: Observed, lives: int) -> tuple[Fence, ...]:
    """The write that must come first; nothing when the number of lives stays."""
    if lives == observed.lives:
        return ()
    meta = observed.cluster.metadata
    return (
        Fence(
            resource=RAYCLUSTERS,
            namespace=meta.namespace,
            name=meta.name,
            resource_version=meta.resource_version,
            annotations={labels.LIVES: str(lives)},
            scope="lives",
            reason="names of Pods that go must not come back",
        ),
    )
