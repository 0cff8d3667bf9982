"""What is said, and how often."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import msgspec

from rayfleet.kube.errors import ApiError
from rayfleet.planning.plan import Plan, StatusWrite
from rayfleet.raycluster import judgement, status
from rayfleet.raycluster import plan as core
from rayfleet.raycluster.observed import Observed
from rayfleet.runtime import statuses
from rayfleet.runtime.apply import Applier
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.sim.leader import Planner
from tests.sim import test_clock_steps as steps
from tests.sim.mutants import every_kind
from tests.sim.mutants.proof import Mutant, Patch, Proof


def status_twice(patch: Patch) -> Planner:
    """A status is written at every look, if only for its time."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        version = observed.cluster.metadata.resource_version
        again = StatusWrite({"lastUpdateTime": "2026-01-01T00:00:00Z"}, version, True, "again")
        return found if found.status else replace(found, status=again)

    return plan


def status_untested(patch: Patch) -> Planner:
    """A status is written whatever happened to the object meanwhile."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        return replace(found, status=replace(found.status, resource_version="")) if found.status else found

    return plan


def generation_not_told(patch: Patch) -> Planner:
    return every_kind.generation_unwritten(core.plan)


def failures_kept(patch: Patch) -> Planner:
    """What once failed is told for ever."""
    patch.setattr(Backoffs, "succeeded", lambda self, key, scope: None)
    patch.setattr(Backoffs, "settle", lambda self, *given: False)
    return core.plan


def times_go_back(patch: Patch) -> Planner:
    """A time in a status is that of the clock, whatever was said before."""

    def forgetful(observed: Observed, before: object, *given: object) -> StatusWrite | None:
        return written(observed, msgspec.structs.replace(before, last_update_time=None), *given)  # type: ignore[arg-type,type-var]

    written = status.written
    patch.setattr(status, "written", forgetful)
    return core.plan


def running_is_ready(patch: Patch) -> Planner:
    """A head that runs counts as ready."""
    patch.setattr(judgement, "head_ready", lambda observed: judgement.Condition("HeadPodReady", str(bool(observed.heads())), "Seen"))
    return core.plan


def suspended_too_early(patch: Patch) -> Planner:
    """A cluster is called suspended while its Pods still end."""
    patch.setattr(judgement, "fully_suspended", lambda observed, cluster: bool(cluster.spec.suspend))
    return core.plan


def every_counter_at_once(patch: Patch) -> Planner:
    """A status is written for each Pod that comes up."""
    patch.setattr(statuses, "COALESCE", 0.0)
    return core.plan


def refusals_repeated(patch: Patch) -> Planner:
    """A refused spec is told of at every look."""

    def plan(observed: Observed) -> Plan:
        found = core.plan(observed)
        faults = core.faults_of(observed)
        event = core.Event("Warning", core.reason_of(faults), "again", "Validate") if faults else None
        return replace(found, events=(*found.events, event)) if event else found

    return plan


def conflicts_told(patch: Patch) -> Planner:
    """A lost race is a failure (KubeRay #745)."""
    one = Applier._one

    async def loud(self: Applier, action: object, outcome: object) -> None:
        before = outcome.stale  # type: ignore[attr-defined]
        await one(self, action, outcome)  # type: ignore[arg-type]
        if outcome.stale and not before and hasattr(action, "failed_event"):  # type: ignore[attr-defined]
            error = ApiError(409, "Conflict", "the object has been modified")
            self._fail(action, error, outcome)  # type: ignore[arg-type]

    patch.setattr(Applier, "_one", loud)
    return core.plan


MUTANTS: dict[Mutant, Proof] = {
    status_twice: Proof("W2"),
    status_untested: Proof("S15"),
    generation_not_told: Proof("W2"),
    failures_kept: Proof("L1"),
    times_go_back: Proof("T1", scene=partial(steps.test_no_time_in_a_status_goes_backwards, step=-3600.0)),
    running_is_ready: Proof("golden", story="create"),
    suspended_too_early: Proof("golden", story="suspend"),
    every_counter_at_once: Proof("golden", story="scale"),
    refusals_repeated: Proof("golden", story="invalid"),
    conflicts_told: Proof("W4", first=2),
}
