"""Names that come back, or fence nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from rayfleet.api.meta import PODS
from rayfleet.planning.actions import Create, Fence
from rayfleet.planning.plan import Plan
from rayfleet.raycluster import fences
from rayfleet.raycluster import plan as core
from rayfleet.raycluster.lives import Lives
from rayfleet.raycluster.observed import Observed
from rayfleet.runtime.gone import Gone
from rayfleet.sim.leader import Planner
from tests.sim import test_two_leaders as two
from tests.sim.mutants.proof import Mutant, Patch, Proof, changed


def stale_names(patch: Patch) -> Planner:
    """Lives are never raised: a name comes back."""
    patch.setattr(fences, "used_names", lambda observed, cluster: {pod.name for pod in observed.pods})
    patch.setattr(fences, "raised_for", lambda observed, cluster, deletes: (observed.lives, False))
    return core.plan


def unfenced_deletes(patch: Patch) -> Planner:
    """Names are not given up before their Pods are deleted: only this process knows that they were used."""
    patch.setattr(fences, "raised_for", lambda observed, cluster, deletes: (observed.lives, False))
    return core.plan


def lives_of_all(patch: Patch) -> Planner:
    """One number of lives for the whole cluster: a raise renames empty slots under another leader's create."""

    def raised(self: Lives, group: str, replica: int) -> Lives:
        most = max(self.counts.values(), default=0) + 1
        return Lives({("", 0): most})

    patch.setattr(Lives, "raised", raised)
    patch.setattr(Lives, "of", lambda self, group, replica: self.counts.get(("", 0), 0))
    return core.plan


def forgotten_names(patch: Patch) -> Planner:
    """The process does not remember which Pods it saw go."""
    patch.setattr(Gone, "of", lambda self, uid: frozenset())
    return core.plan


def random_names(patch: Patch) -> Planner:
    """Names by dice, as most operators have them: a repeated create makes a second Pod."""
    dice = count()

    def renamed(action: Any) -> Any:
        if not isinstance(action, Create) or action.resource != PODS:
            return action
        name = f"{action.name}-{next(dice)}"
        metadata = {**action.manifest["metadata"], "name": name}
        return replace(action, name=name, manifest={**action.manifest, "metadata": metadata})

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, actions=tuple(renamed(action) for action in found.actions))

    return plan


def one_too_many(patch: Patch) -> Planner:
    """Whatever is made is made twice: the second time under the names of the next life."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        made = {action.name for action in found.actions if isinstance(action, Create)}
        again = core.plan(replace(observed, gone=observed.gone | made))
        return replace(found, actions=(*found.actions, *(action for action in again.actions if isinstance(action, Create))))

    return plan


def fences_not_written(patch: Patch) -> Planner:
    """Lives are raised in the head, and not on the owner."""
    return changed(lambda action: None if isinstance(action, Fence) else action)


def old_view_believed(patch: Patch) -> Planner:
    """Nobody asks whether the copy of the cluster is the newest (KubeRay #704: stale informers)."""
    return changed(lambda action: None if isinstance(action, Fence) and not action.annotations else action)


def sure_without_lives(patch: Patch) -> Planner:
    """A copy that tells of no lives is taken for that of a cluster that never lost a Pod."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        asked = [action for action in found.actions if isinstance(action, Fence) and not action.annotations]
        kept = tuple(action for action in found.actions if observed.lives.counts or action not in asked)
        return replace(found, actions=kept)

    return plan


def early_pods_forgotten(patch: Patch) -> Planner:
    """A Pod that went before its owner was known leaves no trace."""
    patch.setattr(Gone, "heard_early", lambda self, old, new: None)
    return core.plan


MUTANTS: dict[Mutant, Proof] = {
    stale_names: Proof("N1"),
    unfenced_deletes: Proof("N1", first=7),
    fences_not_written: Proof("N1", first=7),
    lives_of_all: Proof("S2", rush=True, first=2),
    forgotten_names: Proof("N1", leaders=2),
    random_names: Proof("S1", rush=True),
    one_too_many: Proof("S1"),
    old_view_believed: Proof("S1", scene=two.test_no_head_is_made_from_an_old_copy_of_a_cluster_that_never_lost_a_pod),
    sure_without_lives: Proof("S1", scene=two.test_no_head_is_made_from_an_old_copy_of_a_cluster_that_never_lost_a_pod),
    early_pods_forgotten: Proof("N1", scene=two.test_a_pod_that_went_before_its_owner_was_known_is_remembered),
}
