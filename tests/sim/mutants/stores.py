"""State that outlives the head: who writes it, and who removes it."""

from __future__ import annotations

from dataclasses import replace

from rayfleet.planning.actions import AddFinalizer, Create, RemoveFinalizer
from rayfleet.planning.plan import Plan
from rayfleet.raycluster import fences, finalize
from rayfleet.raycluster import plan as core
from rayfleet.raycluster.observed import Observed
from rayfleet.sim.leader import Planner
from tests.sim.mutants.proof import Mutant, Patch, Proof, changed


def finalizer_kept(patch: Patch) -> Planner:
    """The clean-up is done, and the cluster is held for ever."""
    return changed(lambda action: None if isinstance(action, RemoveFinalizer) else action)


def deadline_missed(patch: Patch) -> Planner:
    """A clean-up that never ends is waited for."""
    patch.setattr(finalize, "left", lambda observed: 3600.0)
    return core.plan


def released_at_once(patch: Patch) -> Planner:
    """The finalizer goes before its duty is done."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        held = observed.cluster.metadata.deletion_timestamp and observed.cluster.metadata.finalizers
        return replace(found, actions=(finalize.release(observed, "at once", ""),)) if held else found

    return plan


def finalizer_forgotten(patch: Patch) -> Planner:
    """Nothing holds the cluster: its keys stay in Redis for ever."""
    return changed(lambda action: None if isinstance(action, AddFinalizer) else action)


def heads_named_by_lives(patch: Patch) -> Planner:
    """A head with its state on a volume has a new name in each life, as others have."""
    patch.setattr(fences, "has_fixed_name", lambda *given: False)
    return core.plan


def made_while_going(patch: Patch) -> Planner:
    """Children are made for a cluster that only waits for its clean-up."""

    last: dict[str, tuple[Create, ...]] = {}

    def plan(observed: Observed) -> Plan:
        found, uid = core.plan(observed), observed.cluster.metadata.uid
        if observed.cluster.metadata.deletion_timestamp:
            return replace(found, actions=(*found.actions, *last.get(uid, ())))
        if made := tuple(action for action in found.actions if isinstance(action, Create)):
            last[uid] = made
        return found

    return plan


MUTANTS: dict[Mutant, Proof] = {
    finalizer_kept: Proof("S12"),
    deadline_missed: Proof("golden", story="redis-job-never-ends"),
    released_at_once: Proof("S12"),
    finalizer_forgotten: Proof("golden", story="redis"),
    heads_named_by_lives: Proof("golden", story="rocksdb"),
    made_while_going: Proof("S11", story="redis"),
}
