"""Jobs as the controller runs and reports them; the case is the kubelet."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import case, delete, get, patch, post
from tests.conformance.cases import manifests as m

JOB = f"{m.JOBS}/gen"
MINE = f"{m.PODS}?labelSelector=job-name=gen"
RUNNING = {"phase": "Running", "startTime": "2026-01-02T03:04:05Z", "conditions": [{"type": "Ready", "status": "True"}]}
FIRST, SECOND, THIRD = ({f"p{n}": f"items[{n}].metadata.name"} for n in range(3))


def job(spec: Any = None, pod: Any = None, **meta: Any) -> Any:
    """Its Pods are named gen-xxxxx: names that a server draws."""
    main = {"name": "main", "image": "busybox:1"}
    template = {"spec": {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [main], **(pod or {})}}
    return {"metadata": {"name": "gen", **meta}, "spec": {"template": template, **(spec or {})}}


def ended(code: int) -> Any:
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    statuses = [{"name": "main", "image": "busybox:1", "imageID": "", "ready": False, "restartCount": 0, "state": state}]
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": statuses}


def tell(name: str, status: Any) -> Any:
    """As the kubelet."""
    return patch(f"{m.PODS}/${{{name}}}/status", {"status": status}, unseen=True)


BY_INDEX = {"completionMode": "Indexed", "completions": 2, "suspend": True}


def made(active: int, body: Any = None) -> list[Any]:
    """The Job, when it has its first Pods."""
    return [post(m.JOBS, body or job()), get(JOB, until={"status.active": active})]


def seen(**status: Any) -> Any:
    return get(JOB, until={f"status.{name.replace('__', '.')}": value for name, value in status.items()})


def done(kind: str, **more: Any) -> Any:
    """When its last condition is of that kind."""
    return get(JOB, until={"status.conditions[1].type": kind, **more})


POLICY = [
    {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
]

CASES = [
    case(
        "job-completes",
        *made(1),
        get(MINE, keep=FIRST),
        tell("p0", RUNNING),
        seen(ready=1),
        tell("p0", ended(0)),
        done("Complete"),
        get(MINE),
    ),
    case("job-fails-at-once", *made(1, job({"backoffLimit": 0})), get(MINE, keep=FIRST), tell("p0", ended(1)), done("Failed"), get(MINE)),
    case(
        "job-waits-to-try-again", *made(1, job({"backoffLimit": 3})), get(MINE, keep=FIRST), tell("p0", ended(1)), seen(failed=1), get(MINE)
    ),
    case(
        "job-of-several",
        *made(2, job({"completions": 3, "parallelism": 2})),
        get(MINE, keep=FIRST | SECOND),
        tell("p0", ended(0)),
        seen(succeeded=1, active=2),
        tell("p1", ended(0)),
        seen(succeeded=2, active=1),
        get(f"{MINE}&fieldSelector=status.phase=Pending", keep=FIRST, unseen=True),
        tell("p0", ended(0)),
        done("Complete"),
    ),
    case(
        "job-of-a-work-queue",
        *made(2, job({"parallelism": 2})),
        get(MINE, keep=FIRST | SECOND, unseen=True),
        tell("p0", ended(0)),
        seen(succeeded=1, active=1),
        tell("p1", ended(0)),
        done("Complete"),
    ),
    case(
        "job-by-index-refused",
        post(m.JOBS, job({**BY_INDEX, "backoffLimitPerIndex": 1})),
        post(
            f"{m.JOBS}?dryRun=All",
            job({**BY_INDEX, "successPolicy": {"rules": [{"succeededCount": 1}]}}),
        ),
    ),
    case(
        "job-that-leaves-its-pods",
        *made(1),
        get(MINE, keep=FIRST),
        delete(JOB),
        get(JOB, until={"code": 404}),
        get(f"{m.PODS}/${{p0}}", until={"metadata.finalizers": "<absent>"}),
    ),
    case("job-that-takes-its-pods", *made(1), delete(JOB, {"propagationPolicy": "Background"}), get(MINE, until={"items": []})),
    case("job-of-nothing", post(m.JOBS, job({"completions": 0})), done("Complete"), get(MINE)),
    case(
        "job-of-another-width",
        *made(3, job({"completions": 5, "parallelism": 3})),
        patch(JOB, {"spec": {"parallelism": 1}}),
        seen(active=1, terminating=0),
        patch(JOB, {"spec": {"parallelism": 2}}),
        seen(active=2),
    ),
    case(
        "job-out-of-time",
        post(m.JOBS, job({"activeDeadlineSeconds": 1})),
        done("Failed"),
        get(MINE),
    ),
    case(
        "job-out-of-time-waits-for-its-pods",
        *made(1, job({"activeDeadlineSeconds": 2}, {"nodeName": "n"})),
        get(MINE, keep=FIRST, unseen=True),
        tell("p0", RUNNING),
        seen(failed=1, terminating=1),
        delete(f"{m.PODS}/${{p0}}?gracePeriodSeconds=0", unseen=True),
        done("Failed"),
    ),
    case(
        "job-suspended-from-the-start",
        post(m.JOBS, job({"suspend": True})),
        seen(**{"conditions[0]__type": "Suspended"}),
        get(MINE),
        patch(JOB, {"spec": {"suspend": False}}),
        seen(active=1),
        get(MINE, keep=FIRST),
        tell("p0", ended(0)),
        get(JOB, until={"status.conditions[2].type": "Complete"}),
    ),
    case(
        "job-suspended-while-it-runs",
        *made(1),
        patch(JOB, {"spec": {"suspend": True}}),
        seen(**{"conditions[0]__status": "True", "terminating": 0}),
        get(MINE, until={"items": []}, unseen=True),
        patch(JOB, {"spec": {"suspend": False}}),
        seen(active=1),
    ),
    case(
        "job-goes-when-its-time-is-over",
        *made(1, job({"ttlSecondsAfterFinished": 0})),
        get(MINE, keep=FIRST, unseen=True),
        tell("p0", ended(0)),
        get(JOB, until={"code": 404}),
        get(MINE, until={"items": []}),
    ),
    case(
        "job-fails-by-its-policy",
        *made(1, job({"podFailurePolicy": {"rules": POLICY}})),
        get(MINE, keep=FIRST, unseen=True),
        tell("p0", ended(42)),
        done("Failed"),
    ),
    case(
        "job-whose-pod-is-deleted",
        *made(1),
        get(MINE, keep=FIRST, unseen=True),
        delete(f"{m.PODS}/${{p0}}", unseen=True),
        get(f"{m.PODS}/${{p0}}", until={"code": 404}, unseen=True),
        seen(failed=1, terminating=0),
    ),
    case(
        "job-deleted",
        *made(1),
        delete(f"{JOB}?propagationPolicy=Background"),
        get(JOB, until={"code": 404}, unseen=True),
        get(MINE, until={"items": []}),
    ),
    case("job-of-another-manager", post(m.JOBS, job({"managedBy": "conformance.example/nobody"})), get(JOB), get(MINE)),
    case(
        "job-by-index",
        *made(2, job({"completions": 2, "parallelism": 2, "completionMode": "Indexed"})),
        get(MINE, keep=FIRST | SECOND),
        tell("p1", ended(0)),
        seen(succeeded=1),
        tell("p0", ended(0)),
        done("Complete"),
    ),
]
