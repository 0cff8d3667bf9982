"""Known faults with jobs, put back (reference: reliability, e): each takes a monkeypatch; a planner that it gives runs in place of the
RayJob's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from rayfleet.api.meta import JOBS, RAYCLUSTERS
from rayfleet.planning.actions import Action, Fence
from rayfleet.planning.plan import Plan, StatusWrite
from rayfleet.raycluster import head
from rayfleet.raycluster import observe as observer
from rayfleet.rayjob import cluster, deadlines, deletion, findings, observe, states, status, submission
from rayfleet.rayjob import plan as core
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import Finding, State, Step
from rayfleet.sim.leader import Planner
from tests.sim.mutants import every_kind

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], Planner | None]


@dataclass(frozen=True)
class Proof:
    """The invariant that is to break in storms from the seed `first` on; "raised" for any other error."""

    invariant: str
    leaders: int = 1
    first: int = 0


def planner(change: Callable[[Observed, Plan], Plan]) -> Planner:
    return lambda observed: change(observed, core.plan(observed))


def holds(patch: Patch, finding: Finding, wrong: Any) -> None:
    patch.setitem(findings.HOLDS, finding, wrong)  # type: ignore[arg-type]


def any_life(patch: Patch) -> None:
    """The life of Ray is not looked at: after a head is lost the job is submitted to the next one (KubeRay #756)."""
    patch.setattr(submission, "session_of", lambda observed: "")
    patch.setattr(findings, "other_life", lambda observed, job: False)


def other_id(patch: Patch) -> None:
    """Each try to submit has an id of its own (KubeRay #2317, #3211, #4071)."""
    real = submission.act_of

    def act_of(observed: Observed, job: Any) -> Any:
        named = f"{job.status.job_id}-{int(observed.now * 1000)}"
        return real(observed, msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, job_id=named)))

    patch.setattr(submission, "act_of", act_of)


def second_head(patch: Patch) -> None:
    """The head of SidecarMode comes again, and submits again (KubeRay #4141, #4234)."""
    patch.setattr(head, "stays_away", lambda cluster: False)
    patch.setattr(head, "replaces", lambda *_: False)


def unfenced_sidecar(patch: Patch) -> None:
    """Nothing says that a head which submits by itself may come: its cluster is made again."""
    patch.setattr(submission, "unfenced", lambda observed, job: "")
    patch.setattr(observer, "unpermitted", lambda reader, cluster: False)


def made_again(patch: Patch) -> None:
    """A cluster that is lost is made again."""
    holds(patch, Finding.CLUSTER_LOST, lambda observed, job: False)


def never_lost(patch: Patch) -> None:
    """A job of which Ray knows nothing is waited for."""
    holds(patch, Finding.RECORD_LOST, lambda observed, job: False)


def too_early(patch: Patch) -> None:
    """A try begins while another one is left."""
    holds(patch, Finding.GONE, lambda observed, job: True)
    patch.setattr(cluster, "strays", lambda observed, job: [])

    def make(observed: Observed, job: Any) -> list[Action]:
        present = tuple(found for found in observed.owned if found.metadata.name == job.status.ray_cluster_name)
        return real(replace(observed, owned=present), job)

    real = cluster.make_cluster
    patch.setattr(cluster, "make_cluster", make)


def stray_left(patch: Patch) -> None:
    """A cluster that was made from an old copy of the job stays."""
    patch.setattr(cluster, "strays", lambda observed, job: [])


def last_word_changes(patch: Patch) -> None:
    """Ray's last word is taken back when Ray does."""
    wrong = lambda observed, job: observed.info.status if observed.info else ""  # noqa: E731
    patch.setattr(findings, "terminal_word", wrong)
    patch.setattr(status, "terminal_word", wrong)


def failure_is_success(patch: Patch) -> None:
    """What fails is told as complete."""
    holds(patch, Finding.SUCCEEDED, findings.says("FAILED"))


def terminal_goes_on(patch: Patch) -> None:
    """A job that has failed begins anew when it is suspended."""
    rows = {Finding.SUSPENSION: Step(State.SUSPENDING), **states.TABLE[State.FAILED]}
    patch.setitem(states.TABLE, State.FAILED, rows)  # type: ignore[index]


def endless_retries(patch: Patch) -> None:
    """backoffLimit is not looked at."""
    patch.setattr(core, "after_failure", lambda job, step: Step(State.RETRYING, reason=step.reason) if step.state is State.FAILED else step)


def no_deadline(patch: Patch) -> None:
    """activeDeadlineSeconds are not looked at."""
    patch.setattr(deadlines, "active_deadline", lambda job: None)


def cluster_leaks(patch: Patch) -> None:
    """The cluster of a job with a submitter stays (KubeRay #4080)."""
    real = deletion.policies
    patch.setattr(deletion, "policies", lambda observed, job: () if job.spec.submission_mode == "K8sJobMode" else real(observed, job))


def stop_for_ever(patch: Patch) -> None:
    """A deleted job waits for Ray to stop it, whether Ray lives or not."""
    patch.setattr(deletion, "stop_settled", lambda *_: False)
    patch.setattr(deletion, "grace_left", lambda *_: deadlines.DELETION_GRACE)
    patch.setattr(deletion, "grace_left", lambda *_: deadlines.DELETION_GRACE)


def made_while_suspended(patch: Patch) -> None:
    """Suspension is not looked at before the cluster is made."""
    holds(patch, Finding.SUSPENSION, lambda observed, job: job.spec.suspend and bool(observed.owned))


def new_mode_at_once(patch: Patch) -> None:
    """An edit of the mode holds for the try that runs."""
    patch.setattr(observe, "in_mode_of", lambda job, cluster: job)


def wrong_time_stays(patch: Patch) -> None:
    """A time that a wrong clock wrote is counted from for ever."""
    patch.setattr(deadlines, "is_to_come", lambda text, now: False)
    patch.setattr(status, "is_to_come", lambda text, now: False)


def no_uid(patch: Patch) -> Planner:
    return every_kind.without_uid(core.plan)


def selected_cluster_goes(patch: Patch) -> Planner:
    """The cluster that a job selected is deleted with it."""

    def changed(observed: Observed, plan: Plan) -> Plan:
        found = observed.cluster
        if found is None or not observed.job.status.end_time or found in observed.owned or found.metadata.deletion_timestamp:
            return plan
        return replace(plan, actions=(*plan.actions, cluster.delete(RAYCLUSTERS, found, "the job has ended")))

    return planner(changed)


def untested_fence(patch: Patch) -> Planner:
    return every_kind.untested(core.plan)


def others_marks(patch: Patch) -> Planner:
    """The operator writes annotations that are not its own."""
    return every_kind.changing(
        core.plan,
        lambda action: replace(action, annotations={**action.annotations, "example.com/x": "1"}) if isinstance(action, Fence) else action,
    )


def ownerless_cluster(patch: Patch) -> Planner:
    return every_kind.ownerless(core.plan)


def made_for_the_dying(patch: Patch) -> Planner:
    """A job that is being deleted goes on (KubeRay: resurrection)."""

    def plan(observed: Observed) -> Plan:
        meta = observed.job.metadata
        if meta.deletion_timestamp:
            alive = msgspec.structs.replace(observed.job, metadata=msgspec.structs.replace(meta, deletion_timestamp=None))
            return core.plan(replace(observed, job=alive))
        return core.plan(observed)

    return plan


def talks_at_rest(patch: Patch) -> Planner:
    """The status is written at each look, with a time in its message (the seed's day)."""

    def changed(observed: Observed, plan: Plan) -> Plan:
        found = observed.job
        if found.metadata.deletion_timestamp or plan.status is not None or plan.actions or not found.status.end_time:
            return plan
        write = StatusWrite({"message": f"looked at {observed.now}"}, found.metadata.resource_version, True, "looked")
        return replace(plan, status=write, requeue_after=30.0)

    return planner(changed)


def wrong_pair(patch: Patch) -> Planner:
    """A job that waits says that it runs."""

    def changed(observed: Observed, plan: Plan) -> Plan:
        if plan.status is None or plan.status.patch.get("jobDeploymentStatus") != State.INITIALIZING:
            return plan
        return replace(plan, status=replace(plan.status, patch={**plan.status.patch, "jobStatus": "RUNNING"}))

    return planner(changed)


def generation_unwritten(patch: Patch) -> Planner:
    return every_kind.generation_unwritten(core.plan)


def conflict_told(patch: Patch) -> Planner:
    return every_kind.conflict_told(core.plan)


def refusal_remembered(patch: Patch) -> Planner:
    return every_kind.refusal_remembered(core.plan, lambda observed: observed.job.status.job_deployment_status == State.INVALID)


def released_unstopped(patch: Patch) -> None:
    """The finalizer goes although Ray did not hear that the job is to stop (KubeRay: StopJob failed)."""
    patch.setattr(deletion, "stop_settled", lambda observed, job: observed.stopped is not None or submission.stop_settled(observed, job))
    patch.setattr(deletion, "may_run_elsewhere", lambda observed, job: False)


def submitter_by_name(patch: Patch) -> None:
    """Any Job of the right name is taken for the submitter (KubeRay does so)."""
    real = observe.Observer.__call__

    async def seeing(self: Any, reader: Any, key: Any, now: float) -> Observed | None:
        found = await real(self, reader, key, now)
        named = reader.get(JOBS, key)
        return replace(found, submitters=(named,)) if found and named is not None else found

    patch.setattr(observe.Observer, "__call__", seeing)


def nil_spec(patch: Patch) -> Planner:
    """A job without a cluster of its own ends the operator (KubeRay #4102)."""

    def plan(observed: Observed) -> Plan:
        assert observed.job.spec.ray_cluster_spec.ray_version
        return core.plan(observed)

    return plan


MUTANTS: dict[Mutant, Proof] = {
    any_life: Proof("S7", first=100),
    other_id: Proof("S7"),
    second_head: Proof("S7"),
    made_again: Proof("L1"),
    never_lost: Proof("L1"),
    too_early: Proof("S19"),
    last_word_changes: Proof("D1"),
    failure_is_success: Proof("P1"),
    terminal_goes_on: Proof("S8"),
    endless_retries: Proof("P3"),
    no_deadline: Proof("D1"),
    cluster_leaks: Proof("L1"),
    stop_for_ever: Proof("L1", first=10),
    made_while_suspended: Proof("S10"),
    no_uid: Proof("S3"),
    selected_cluster_goes: Proof("S3"),
    untested_fence: Proof("S15"),
    others_marks: Proof("S14"),
    ownerless_cluster: Proof("S3"),
    made_for_the_dying: Proof("S11"),
    talks_at_rest: Proof("W1"),
    wrong_pair: Proof("P1"),
    generation_unwritten: Proof("L1"),
    conflict_told: Proof("W4"),
    refusal_remembered: Proof("L1", first=80),
    nil_spec: Proof("raised"),
}
