"""RayJob: from what is observed to what to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rayfleet.api import labels
from rayfleet.api.decode import Undecodable
from rayfleet.api.excerpt import clip
from rayfleet.api.fault import Fault
from rayfleet.api.meta import RAYJOBS
from rayfleet.api.raycluster import OTHER_MANAGER
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation import validate_job
from rayfleet.planning.actions import Action, Fence
from rayfleet.planning.finalizer import SCOPE as FINALIZER_SCOPE
from rayfleet.planning.newest import asked_first
from rayfleet.planning.plan import Call, Event, Plan, StatusWrite
from rayfleet.rayjob import cluster, deadlines, deletion, submission
from rayfleet.rayjob.findings import begins, find, state_of
from rayfleet.rayjob.hindrance import of_submitter
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.states import Effect, State, Step
from rayfleet.rayjob.status import after_failure, status_write
from rayfleet.rayjob.tries import Try, left_over, next_number, parse_tries, written

TRIES_SCOPE = "tries"


def plan(observed: Observed) -> Plan:
    """What to do next for one RayJob, and what to say of it."""
    job = observed.job
    if isinstance(job, RayJob) and job.spec.managed_by == OTHER_MANAGER:
        return Plan()
    if job.metadata.deletion_timestamp:
        return deletion.release(observed)
    if isinstance(job, Undecodable):
        return unread(observed, job)
    faults = faults_of(observed) if begins(observed, job) else ()
    state = state_of(job)
    if state is None:
        return Plan(events=(Event("Warning", "UnknownRayJobStatus", f"nobody knows {job.status.job_deployment_status}", "Reconcile"),))
    _, step = find(observed, job, state, faults)
    step = after_failure(job, step)
    if step.state is not state:
        return moved(observed, job, state, step, faults)
    actions, calls = effects(observed, job, step)
    named = {action.name for action in actions}
    actions += [stray for stray in cluster.strays(observed, job) if step.effect is not Effect.TEAR_DOWN and stray.name not in named]
    sure = asked_first(RAYJOBS, job.metadata, actions, observed.held_back)
    status = status_write(observed, job, step, faults)
    events = hindered(observed, step, status)
    if status is not None and events:
        status = replace(status, urgent=True)  # a status that is held back would be told of at each look
    return Plan(tuple(sure), status, waiting(observed, job), events, tuple(calls))


def faults_of(observed: Observed) -> tuple[Fault, ...]:
    return (*validate_job(observed.job, observed.config), *observed.env_faults)


def unread(observed: Observed, job: Undecodable) -> Plan:
    """Whatever runs is left alone: nobody knows what was meant."""
    text = clip("; ".join(map(str, job.faults)))
    said = {"reason": "ValidationFailed", "message": text}
    if all(job.report.get(name) == value for name, value in said.items()):
        return Plan()
    started = bool(job.report.get("rayClusterName"))
    patch = said if started else {**said, "jobDeploymentStatus": State.INVALID}
    return Plan(status=StatusWrite(patch, job.metadata.resource_version, True, text), events=(invalid(text),))


def moved(observed: Observed, job: RayJob, state: State, step: Step, faults: Sequence[Fault]) -> Plan:
    """Into another state: nothing but the status, and before it what must be on the object. What the new state asks for is seen at once."""
    if step.state is State.INITIALIZING and (held := deletion.hold(job)):
        return Plan(tuple(held) if not observed.held_back(FINALIZER_SCOPE) else (), None, observed.next_try())
    if state in (State.SUSPENDING, State.RETRYING) and step.state is not State.SUSPENDING and (fence := recorded(job)):
        return Plan((fence,) if not observed.held_back(TRIES_SCOPE) else (), None, observed.next_try())
    return Plan(status=status_write(observed, job, step, faults), requeue_after=0.0, events=told(job, step, faults))


def recorded(job: RayJob) -> Fence | None:
    """Remember a try that is over; None when it is remembered."""
    status, tries, meta = job.status, parse_tries(job.metadata), job.metadata
    over = Try(next_number(tries), status.ray_cluster_name, status.job_id, status.start_time or "")
    if not status.ray_cluster_name or (tries and tries[-1].start_time == over.start_time):
        return None
    return Fence(
        resource=RAYJOBS,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        annotations={labels.TRIES: written((*tries, over))},
        scope=TRIES_SCOPE,
        reason="the names of a try must not come back",
    )


def told(job: RayJob, step: Step, faults: Sequence[Fault]) -> tuple[Event, ...]:
    if step.state is State.INVALID:
        return (invalid(clip("; ".join(map(str, faults)))),)
    if step.state is State.RETRYING:
        return (Event("Warning", "RetryingRayJob", f"try {job.status.failed + 1} has failed ({step.reason}): another one follows"),)
    return ()


def hindered(observed: Observed, step: Step, status: StatusWrite | None) -> tuple[Event, ...]:
    """Of a submitter that cannot start, in the moment in which the status comes to say so: in its words."""
    found = clip(of_submitter(observed)) if step.state is State.INITIALIZING and status is not None else ""
    if status is None or not found or status.patch.get("message") != found:
        return ()
    return (Event("Warning", "FailedToStartRayJobSubmitter", found),)


def invalid(text: str) -> Event:
    return Event("Warning", "InvalidRayJobSpec", text, "Validate")


def effects(observed: Observed, job: RayJob, step: Step) -> tuple[list[Action], list[Call]]:
    if step.state is State.INITIALIZING and (found := submission.unfenced(observed, job)):
        return [submission.fence(job, found)], []
    if step.effect is Effect.MAKE_CLUSTER:
        return cluster.make_cluster(observed, job), []
    if step.effect is Effect.SUBMIT:
        return submission.plan_submission(observed, job)
    if step.effect is Effect.STOP:
        return [], submission.plan_stop(observed, job)
    if step.effect is Effect.SERVE:
        return cluster.plan_service(observed, job), []
    if step.effect is Effect.CLEAN_UP:
        return deletion.clean_up(observed, job), []
    if step.effect is Effect.TEAR_DOWN:
        if step.state is State.SUSPENDING and not (submission.stop_settled(observed, job) or submission.stop_in_vain(observed)):
            return [], submission.plan_stop(observed, job)
        why = "the job is suspended" if step.state is State.SUSPENDING else "the job is tried again"
        return cluster.tear_down(observed, left_over(observed, job), why), []
    return [], []


def waiting(observed: Observed, job: RayJob) -> float | None:
    """Seconds until the same observations may mean something else; None: wait for a change."""
    waits = [when - observed.now for when in deadlines.moments(observed, job) if when > observed.now]
    waits += [wait for wait in (observed.next_try(), deletion.next_due(observed, job)) if wait is not None]
    if observed.stopped is not None and job.status.job_deployment_status == State.SUSPENDING:
        waits.append(max(observed.stopped.at + submission.STOP_AGAIN - observed.now, 0.1))
    return min(waits, default=None)
