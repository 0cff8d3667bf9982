"""The status of a Job: counts, conditions, and when it has come to its end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rayfleet.apiserver import job_pods, metadata
from rayfleet.apiserver.record import Obj

MET, COMPLETE = "SuccessCriteriaMet", "Complete"
TARGET, FAILED, SUSPENDED = "FailureTarget", "Failed", "Suspended"
Why = tuple[str, str]
"""(reason, message) of a condition"""

REACHED: Why = ("CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF: Why = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE: Why = ("DeadlineExceeded", "Job was active longer than specified deadline")


def condition(status: Obj, kind: str) -> Obj | None:
    return next((each for each in status.get("conditions") or () if each["type"] == kind), None)


def holds(status: Obj, kind: str) -> bool:
    found = condition(status, kind)
    return found is not None and found["status"] == "True"


def is_finished(job: Obj) -> bool:
    return holds(job.get("status") or {}, COMPLETE) or holds(job.get("status") or {}, FAILED)


def set_condition(status: Obj, kind: str, why: Why, now: float, *, true: bool = True) -> None:
    stamp = metadata.timestamp(now)
    reason, message = why
    new = {"type": kind, "status": "True" if true else "False", "lastProbeTime": stamp, "lastTransitionTime": stamp}
    conditions = [each for each in status.get("conditions") or () if each["type"] != kind]
    status["conditions"] = [*conditions, {**new, "reason": reason, "message": message}]


def seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def finished_at(job: Obj) -> float:
    """Of a finished Job."""
    status = job["status"]
    last = condition(status, COMPLETE) or condition(status, FAILED)
    assert last is not None, "it is finished"
    return seconds(last["lastTransitionTime"])


def out_of_time_at(job: Obj) -> float | None:
    """When its time is over; None while it has no such time, or is suspended."""
    limit, start = job["spec"].get("activeDeadlineSeconds"), job["status"].get("startTime")
    return None if limit is None or not start or job["spec"].get("suspend") else seconds(start) + float(limit)


def failure(job: Obj, pods: Iterable[Obj], policy: str, now: float) -> Why | None:
    """Why a Job fails, if it does. `policy`: what its podFailurePolicy says."""
    status, spec = job["status"], job["spec"]
    if (target := condition(status, TARGET)) is not None:
        return target["reason"], target["message"]
    if policy:
        return "PodFailurePolicy", policy
    limit = spec.get("backoffLimit", 6)
    again = sum(job_pods.restarts(pod) for pod in pods if job_pods.is_active(pod))
    in_place = spec["template"]["spec"].get("restartPolicy") == "OnFailure"
    if status.get("failed", 0) > limit or (in_place and again >= max(1, limit)):
        return BACKOFF
    end = out_of_time_at(job)
    return DEADLINE if end is not None and now >= end else None


def is_complete(job: Obj, active: int) -> bool:
    """Without completions a Job is a work queue: done when one has succeeded and no other is left."""
    succeeded, wanted = job["status"].get("succeeded", 0), job["spec"].get("completions")
    return succeeded > 0 and active == 0 if wanted is None else succeeded >= wanted


def wanted_active(job: Obj, active: int) -> int:
    spec, succeeded = job["spec"], job["status"].get("succeeded", 0)
    if spec.get("suspend"):
        return 0
    if spec.get("completions") is None:
        return min(active, spec["parallelism"]) if succeeded else spec["parallelism"]
    return max(0, min(spec["completions"] - succeeded, spec["parallelism"]))


def indexes(text: str) -> set[int]:
    """1,3-5: what `completedIndexes` says."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def index_text(numbers: set[int]) -> str:
    """Runs of three and more are shortened; two stand side by side."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
