"""Known faults with cron jobs, put back (reference: reliability, e): each takes a monkeypatch; a planner that it gives runs in place of the
RayCronJob's own."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from rayfleet.api.raycronjob import RayCronJob
from rayfleet.planning.actions import Action, Create
from rayfleet.planning.plan import Plan, StatusWrite
from rayfleet.raycronjob import plan as core
from rayfleet.raycronjob import policy
from rayfleet.raycronjob.observed import Observed
from rayfleet.sim.leader import Planner
from tests.sim.mutants import every_kind
from tests.sim.mutants.jobs import Mutant, Patch, Proof


def ticks_twice(patch: Patch) -> Planner:
    """A tick makes a second job under another name (KubeRay #4888)."""

    def again(action: Create) -> Create:
        name = f"{action.name}-again"
        return replace(action, name=name, manifest={**action.manifest, "metadata": {**action.manifest["metadata"], "name": name}})

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        more: list[Action] = [again(each) for each in found.actions if isinstance(each, Create)]
        return replace(found, actions=(*found.actions, *more))

    return plan


def forbid_unheard(patch: Patch) -> None:
    """A job is begun beside one that runs, whatever the policy is."""
    patch.setattr(policy, "active", lambda job: False)


def never_suspended(patch: Patch) -> Planner:
    """A suspended one goes on."""

    def plan(observed: Observed) -> Plan:
        cron = observed.cron
        if not isinstance(cron, RayCronJob):
            return core.plan(observed)
        awake = msgspec.structs.replace(cron, spec=msgspec.structs.replace(cron.spec, suspend=False))
        return core.plan(replace(observed, cron=awake))

    return plan


def wrong_time_stays(patch: Patch) -> None:
    """A time that a wrong clock wrote is waited for."""
    patch.setattr(core, "dated_ahead", lambda cron, jobs, now: False)


def history_without_end(patch: Patch) -> None:
    """Jobs that have ended are kept beyond the limits."""
    patch.setattr(policy, "surplus", lambda metadata, jobs: [])


def talks_at_rest(patch: Patch) -> Planner:
    """The status is written at each look."""

    def plan(observed: Observed) -> Plan:
        found, meta = core.plan(observed), observed.cron.metadata
        if meta.deletion_timestamp or found.status is not None or found.actions:
            return replace(found, requeue_after=30.0)
        return replace(found, status=StatusWrite({"looked": str(observed.now)}, meta.resource_version, True, "looked"), requeue_after=30.0)

    return plan


def no_uid(patch: Patch) -> Planner:
    return every_kind.without_uid(core.plan)


def ownerless_job(patch: Patch) -> Planner:
    return every_kind.ownerless(core.plan)


def conflict_told(patch: Patch) -> Planner:
    return every_kind.conflict_told(core.plan)


def generation_unwritten(patch: Patch) -> Planner:
    return every_kind.generation_unwritten(core.plan)


def refusal_remembered(patch: Patch) -> Planner:
    return every_kind.refusal_remembered(core.plan, lambda observed: bool(core.faults_of(observed)))


MUTANTS: dict[Mutant, Proof] = {
    ticks_twice: Proof("C1"),
    forbid_unheard: Proof("C2", first=5),
    never_suspended: Proof("L1"),
    wrong_time_stays: Proof("L1"),
    history_without_end: Proof("L1", first=1),
    talks_at_rest: Proof("W1"),
    no_uid: Proof("S3", first=1),
    ownerless_job: Proof("S3"),
    conflict_told: Proof("W4"),
    generation_unwritten: Proof("L1"),
    refusal_remembered: Proof("L1"),
}
