"""The state machine of a RayJob as data: (state, finding) -> state, effect, reason; and which pairs of statuses may ever be seen.

In each state the first finding of its rows that holds is what counts. A row that changes the state does nothing else; one that keeps it has
its effect. Source: KubeRay, 3.1; where this differs, docs/differences.md says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """`status.jobDeploymentStatus`."""

    NEW = ""
    INITIALIZING = "Initializing"
    WAITING = "Waiting"
    RUNNING = "Running"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    RETRYING = "Retrying"
    COMPLETE = "Complete"
    FAILED = "Failed"
    INVALID = "ValidationFailed"


class Finding(StrEnum):
    INVALID = "the spec is invalid"
    SUSPENSION = "suspension is asked for"
    SUCCEEDED = "Ray says SUCCEEDED, and the submitter has ended"
    FAILED = "Ray says FAILED, and the submitter has ended"
    STOPPED = "Ray says STOPPED, and the submitter has ended"
    STOPPED_AT_DEADLINE = "Ray says STOPPED after a deadline"
    LINGERING = "Ray's job has ended, the submitter not for a while"
    DEADLINE = "activeDeadlineSeconds have passed"
    DEADLINE_AND_GRACE = "activeDeadlineSeconds have passed, and Ray's job does not stop"
    PRE_RUNNING_DEADLINE = "preRunningDeadlineSeconds have passed"
    CLUSTER_LOST = "the cluster is gone"
    RECORD_LOST = "Ray knows the job no longer"
    REFUSED = "the job cannot be submitted"
    SILENT = "Ray has not answered for long"
    KNOWN = "Ray knows the job"
    UNKNOWN_YET = "Ray does not know yet what another operator called running"
    NO_CLUSTER = "there is no cluster yet"
    READY = "the cluster is ready"
    READY_FOR_USER = "the cluster is ready, and its user submits"
    ID_GIVEN = "the user says which job it is"
    GONE = "the cluster and the submitter are gone"
    ALWAYS = "otherwise"


class Effect(StrEnum):
    NONE = "nothing"
    MAKE_CLUSTER = "make the cluster"
    SUBMIT = "submit the job"
    STOP = "stop Ray's job"
    SERVE = "lead the Service to the head"
    TEAR_DOWN = "stop Ray's job, then remove the cluster and the submitter"
    CLEAN_UP = "remove what the policy says"


class Step(NamedTuple):
    state: State
    effect: Effect = Effect.NONE
    reason: str = ""


BEGIN: Mapping[Finding, Step] = {
    Finding.INVALID: Step(State.INVALID, reason="ValidationFailed"),
    Finding.SUSPENSION: Step(State.SUSPENDED),
    Finding.ALWAYS: Step(State.INITIALIZING),
}

ENDINGS: Mapping[Finding, Step] = {
    Finding.STOPPED_AT_DEADLINE: Step(State.FAILED, reason="DeadlineExceeded"),
    Finding.SUCCEEDED: Step(State.COMPLETE),
    Finding.STOPPED: Step(State.COMPLETE, reason="JobStopped"),
    Finding.FAILED: Step(State.FAILED, reason="AppFailed"),
}

TABLE: Mapping[State, Mapping[Finding, Step]] = {
    State.NEW: BEGIN,
    State.INVALID: BEGIN,
    State.INITIALIZING: {
        **ENDINGS,
        Finding.SUSPENSION: Step(State.SUSPENDING),
        Finding.DEADLINE_AND_GRACE: Step(State.FAILED, reason="DeadlineExceeded"),
        Finding.DEADLINE: Step(State.INITIALIZING, Effect.STOP),
        Finding.KNOWN: Step(State.RUNNING),
        Finding.PRE_RUNNING_DEADLINE: Step(State.FAILED, reason="PreRunningDeadlineExceeded"),
        Finding.CLUSTER_LOST: Step(State.FAILED, reason="ClusterLost"),
        Finding.RECORD_LOST: Step(State.FAILED, reason="JobRecordLost"),
        Finding.REFUSED: Step(State.FAILED, reason="SubmissionFailed"),
        Finding.SILENT: Step(State.FAILED, reason="JobStatusCheckTimeoutExceeded"),
        Finding.INVALID: Step(State.INVALID, reason="ValidationFailed"),
        Finding.NO_CLUSTER: Step(State.INITIALIZING, Effect.MAKE_CLUSTER),
        Finding.READY_FOR_USER: Step(State.WAITING),
        Finding.READY: Step(State.INITIALIZING, Effect.SUBMIT),
        Finding.ALWAYS: Step(State.INITIALIZING),
    },
    State.WAITING: {
        Finding.SUSPENSION: Step(State.SUSPENDING),
        Finding.ID_GIVEN: Step(State.RUNNING),
        Finding.DEADLINE: Step(State.FAILED, reason="DeadlineExceeded"),
        Finding.PRE_RUNNING_DEADLINE: Step(State.FAILED, reason="PreRunningDeadlineExceeded"),
        Finding.CLUSTER_LOST: Step(State.FAILED, reason="ClusterLost"),
        Finding.ALWAYS: Step(State.WAITING, Effect.SERVE),
    },
    State.RUNNING: {
        **ENDINGS,
        Finding.LINGERING: Step(State.RUNNING, Effect.SERVE),
        Finding.SUSPENSION: Step(State.SUSPENDING),
        Finding.DEADLINE_AND_GRACE: Step(State.FAILED, reason="DeadlineExceeded"),
        Finding.DEADLINE: Step(State.RUNNING, Effect.STOP),
        Finding.CLUSTER_LOST: Step(State.FAILED, reason="ClusterLost"),
        Finding.UNKNOWN_YET: Step(State.INITIALIZING),
        Finding.RECORD_LOST: Step(State.FAILED, reason="JobRecordLost"),
        Finding.SILENT: Step(State.FAILED, reason="JobStatusCheckTimeoutExceeded"),
        Finding.ALWAYS: Step(State.RUNNING, Effect.SERVE),
    },
    State.SUSPENDING: {
        Finding.GONE: Step(State.SUSPENDED),
        Finding.ALWAYS: Step(State.SUSPENDING, Effect.TEAR_DOWN),
    },
    State.SUSPENDED: {
        Finding.SUSPENSION: Step(State.SUSPENDED),
        Finding.INVALID: Step(State.INVALID, reason="ValidationFailed"),
        Finding.ALWAYS: Step(State.INITIALIZING),
    },
    State.RETRYING: {
        Finding.SUSPENSION: Step(State.SUSPENDING),
        Finding.GONE: Step(State.INITIALIZING),
        Finding.ALWAYS: Step(State.RETRYING, Effect.TEAR_DOWN),
    },
    State.COMPLETE: {Finding.ALWAYS: Step(State.COMPLETE, Effect.CLEAN_UP)},
    State.FAILED: {Finding.ALWAYS: Step(State.FAILED, Effect.CLEAN_UP)},
}

RETRIED: Mapping[str, bool] = {
    "AppFailed": True,
    "ClusterLost": True,
    "JobRecordLost": True,
    "SubmissionFailed": True,
    "DeadlineExceeded": False,
    "PreRunningDeadlineExceeded": False,
    "JobStatusCheckTimeoutExceeded": False,
}
"""Whether a failure of that reason is tried again while `backoffLimit` allows. A deadline is a bound on what is spent, not on one try."""

ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
ANY = ("", "PENDING", "RUNNING", *ENDED)

ALLOWED: Mapping[State, tuple[str, ...]] = {
    State.NEW: ("",),
    State.INVALID: ("",),
    State.INITIALIZING: ("",),
    State.WAITING: ("",),
    State.RUNNING: ANY,  # "": the user of InteractiveMode named a job that Ray has not been asked for; ended: the submitter lingers
    State.SUSPENDING: ANY,
    State.SUSPENDED: ("",),
    State.RETRYING: ("", "FAILED"),
    State.COMPLETE: ("SUCCEEDED", "STOPPED"),
    State.FAILED: ("", "FAILED", "STOPPED"),  # "": Ray never knew of it; FAILED also where Ray's last word is lost; STOPPED at a deadline
}
"""Which `jobStatus` may stand beside which `jobDeploymentStatus`."""

TERMINAL = frozenset({State.COMPLETE, State.FAILED})
POLLED = frozenset({State.INITIALIZING, State.RUNNING, State.SUSPENDING, State.RETRYING})
"""Where Ray is asked at all."""
