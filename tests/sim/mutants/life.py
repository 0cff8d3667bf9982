"""What goes and what is made, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from rayfleet.api.decode import Undecodable
from rayfleet.planning.actions import Delete
from rayfleet.planning.plan import Plan
from rayfleet.raycluster import head, workers
from rayfleet.raycluster import plan as core
from rayfleet.raycluster.observed import Observed
from rayfleet.sim.leader import Planner
from tests.sim.mutants.proof import Mutant, Patch, Proof, changed, seeing


def impatient_head(patch: Patch) -> Planner:
    """A new head is made while the old one still ends."""

    def plan(observed: Observed) -> Plan:
        mine = core.plan(observed)
        alive = tuple(pod for pod in observed.pods if not (pod.is_head and pod.terminating))
        if len(alive) == len(observed.pods) or any(pod.is_head for pod in alive):
            return mine
        gone = frozenset({pod.name for pod in observed.pods if pod.is_head}) | observed.gone
        return core.plan(replace(observed, pods=alive, gone=gone))

    return plan


def restless_delete(patch: Patch) -> Planner:
    """The deletion of the cluster itself is not seen."""

    def plan(observed: Observed) -> Plan:
        metadata = msgspec.structs.replace(observed.cluster.metadata, deletion_timestamp=None)
        return core.plan(replace(observed, cluster=msgspec.structs.replace(observed.cluster, metadata=metadata)))

    return plan


def suspension_unseen(patch: Patch) -> Planner:
    """Pods are made for a suspended cluster."""

    def awake(observed: Observed) -> Plan:
        cluster: Any = observed.cluster
        if not getattr(getattr(cluster, "spec", None), "suspend", None):
            return core.plan(observed)
        spec = msgspec.structs.replace(cluster.spec, suspend=False)
        return core.plan(replace(observed, cluster=msgspec.structs.replace(cluster, spec=spec)))

    return awake


def dead_head_kept(patch: Patch) -> Planner:
    """A head that has failed for good is waited for (KubeRay #372)."""
    return changed(lambda action: None if isinstance(action, Delete) and action.scope == "head" else action)


def surplus_kept(patch: Patch) -> Planner:
    """Nothing is deleted that still works."""
    return changed(lambda action: None if isinstance(action, Delete) and not action.setback else action)


def second_head_kept(patch: Patch) -> Planner:
    """Two heads are for a person to sort out."""
    patch.setattr(head, "superfluous", lambda heads: [])
    return core.plan


def bounds_ignored(patch: Patch) -> Planner:
    """`replicas` is taken at its word."""
    patch.setattr(workers, "wanted_replicas", lambda group: 0 if group.suspend else group.replicas)
    return core.plan


def group_suspension_unseen(patch: Patch) -> Planner:
    patch.setattr(workers, "wanted_replicas", lambda group: max(group.min_replicas, min(group.replicas, group.max_replicas)))
    return core.plan


def removed_groups_kept(patch: Patch) -> Planner:
    """Groups that the spec no longer has run on."""
    patch.setattr(workers, "plan_removed_groups", lambda observed, cluster: [])
    return core.plan


def replicas_mended(patch: Patch) -> Planner:
    """A replica that lost a host gets a new one, and the others never meet it."""
    patch.setattr(workers, "lost_a_host", lambda *given: False)
    return core.plan


def busiest_first(patch: Patch) -> Planner:
    """A surplus goes in the wrong order."""
    least_missed = workers.least_missed
    patch.setattr(workers, "least_missed", lambda replicas: least_missed(replicas)[::-1])
    return core.plan


def broken_spec_obeyed(patch: Patch) -> Planner:
    """A spec that is refused is acted on all the same."""
    patch.setattr(core, "faults_of", lambda observed: observed.cluster.faults if isinstance(observed.cluster, Undecodable) else ())
    return core.plan


def refusal_deletes(patch: Patch) -> Planner:
    """Pods of a cluster whose spec is refused are removed."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        if not core.faults_of(observed):
            return found
        return replace(found, actions=tuple(core.everything(observed, "the spec is refused")))

    return plan


def refusal_remembered(patch: Patch) -> Planner:
    """What was refused once stays refused (Acto: no recovery by a rollback)."""
    refused: dict[str, Any] = {}

    def plan(observed: Observed) -> Plan:
        uid = observed.cluster.metadata.uid
        if faults := core.faults_of(observed):
            refused[uid] = faults
        return core.refuse(observed, refused[uid]) if uid in refused else core.plan(observed)

    return plan


def unreadable_spec_raises(patch: Patch) -> Planner:
    """A spec that does not decode stops the look (KubeRay #4102)."""

    def plan(observed: Observed) -> Plan:
        assert observed.cluster.spec is not None  # type: ignore[union-attr]
        return core.plan(observed)

    return plan


def setbacks_free(patch: Patch) -> Planner:
    """What fails is replaced at once, for ever."""
    return changed(lambda action: replace(action, setback=False) if isinstance(action, Delete) else action)


def haste(patch: Patch) -> Planner:
    """What was refused is asked for again at once."""
    return seeing(
        lambda observed: replace(observed, backoffs={name: replace(each, retry_at=0.0) for name, each in observed.backoffs.items()})
    )


MUTANTS: dict[Mutant, Proof] = {
    impatient_head: Proof("S1", first=10),
    restless_delete: Proof("S11", leaders=2, first=7),
    suspension_unseen: Proof("S10", leaders=2, first=9),
    dead_head_kept: Proof("L1"),
    surplus_kept: Proof("L1", story="scale"),
    second_head_kept: Proof("L1", story="two-heads"),
    bounds_ignored: Proof("S2", first=7),
    group_suspension_unseen: Proof("L1", first=1),
    removed_groups_kept: Proof("L1", story="groups"),
    replicas_mended: Proof("golden", story="multi-host"),
    busiest_first: Proof("golden", story="scale"),
    broken_spec_obeyed: Proof("S2", story="invalid"),
    refusal_deletes: Proof("golden", story="invalid"),
    refusal_remembered: Proof("L1", story="invalid"),
    unreadable_spec_raises: Proof("raised", first=10),
    setbacks_free: Proof("golden", story="worker-fails-three-times"),
    haste: Proof("golden", story="quota"),
}
