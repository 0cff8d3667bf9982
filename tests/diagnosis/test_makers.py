"""RayServices, RayJobs and RayCronJobs as values, and what a diagnosis makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.fault import Fault
from rayfleet.diagnosis.cron_jobs import diagnose_cron_job
from rayfleet.diagnosis.finding import Diagnosis, Finding
from rayfleet.diagnosis.jobs import diagnose_job
from rayfleet.diagnosis.maker import Maker
from rayfleet.diagnosis.services import diagnose_service
from rayfleet.diagnosis.situation import Told
from rayfleet.sim.ideal import typed
from rayfleet.sim.service_specs import cluster_spec, document
from tests.diagnosis.test_diagnose import NOW, ago

Obj = dict[str, Any]
META = {"namespace": "default", "uid": "u", "generation": 1, "creationTimestamp": ago(600)}
CRASH = Finding("CrashLoop", "The container ray of the head ends again and again.", ("pod/shop-one-head",))
BROKEN = Diagnosis("default", "shop-one", "broken", "head not ready, no workers", (CRASH,))


def condition(type: str, status: str, reason: str, message: str = "") -> Obj:
    return {"type": type, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(100)}


def service(*conditions: Obj, generation: int = 1, spec: Obj | None = None, **status: Any) -> Any:
    said = {"conditions": list(conditions), "observedGeneration": 1, **status} if conditions or status else {}
    meta = {**META, "name": "shop", "generation": generation}
    return typed({**document(**(spec or {})), "metadata": meta, "status": said})


def application(status: str, message: str = "", **deployments: tuple[str, str]) -> Obj:
    parts = {name: {"status": word, "message": text} for name, (word, text) in deployments.items()}
    return {"status": status, "message": message, "serveDeploymentStatuses": parts}


def active(**applications: Obj) -> Obj:
    return {"activeServiceStatus": {"rayClusterName": "shop-one", "applicationStatuses": applications}, "numServeEndpoints": 2}


def words(found: Diagnosis) -> str:
    lines = (line for each in found.findings for line in (each.seen, *each.where, *(step.says for step in each.why), *each.advice))
    return "\n".join((found.summary, *lines, *found.notes))


READY = condition("Ready", "True", "NonZeroServeEndpoints")


def not_ready(reason: str, message: str = "") -> Obj:
    return condition("Ready", "False", reason, message)


TRACE = "Traceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'shop'"
SERVICES: list[tuple[str, Any, tuple[Diagnosis, ...], str, list[str], str]] = [
    ("ready", service(READY, **active(fruit=application("RUNNING"))), (), "ready", [], "1 of 1 applications run on raycluster/shop-one"),
    ("blank", service(), (), "broken", ["NoOperator"], "its status is empty"),
    ("old", service(READY, generation=2, **active()), (), "broken", ["NoOperator"], "generation 2, observedGeneration 1"),
    (
        "refused",
        service(not_ready("ValidationFailed", "spec.serveConfigV2: is a list; it must be a mapping; spec.x: no")),
        (),
        "refused",
        ["InvalidSpec"],
        "spec.serveConfigV2: is a list",
    ),
    ("not its form", typed({**document(suspend="maybe"), "metadata": {**META, "name": "shop"}}), (), "refused", ["InvalidSpec"], "suspend"),
    (
        "failed application",
        service(not_ready("ApplicationsNotRunning", "x"), **active(fruit=application("DEPLOY_FAILED", TRACE))),
        (),
        "broken",
        ["ApplicationFailed"],
        "\nModuleNotFoundError: No module named 'shop'",
    ),
    (
        "no room",
        service(
            not_ready("Initializing"),
            pendingServiceStatus={
                "rayClusterName": "shop-one",
                "applicationStatuses": {"fruit": application("DEPLOYING", Stand=("UPDATING", "no room for 2 replicas"))},
            },
        ),
        (),
        "broken",
        ["ApplicationWaits"],
        "deployment Stand is UPDATING: no room for 2 replicas",
    ),
    (
        "silent Ray",
        service(not_ready("DashboardUnreachable", "it does not answer"), **active()),
        (),
        "broken",
        ["DashboardUnreachable"],
        "8265",
    ),
    (
        "its head crashes",
        service(not_ready("DashboardUnreachable", "x"), **active()),
        (BROKEN,),
        "broken",
        ["CrashLoop"],
        "pod/shop-one-head",
    ),
    ("no endpoints", service(not_ready("ZeroServeEndpoints"), **active()), (), "broken", ["ZeroServeEndpoints"], "service status shop"),
    ("given up", service(not_ready("InitializingTimeout"), **active()), (), "broken", ["InitializingTimeout"], "initializing-timeout"),
    (
        "suspended",
        service(not_ready("SuspendComplete"), condition("Suspended", "True", "SuspendComplete"), spec={"suspend": True}),
        (),
        "suspended",
        [],
        "spec.suspend: false",
    ),
    (
        "upgrade",
        service(
            READY,
            condition("UpgradeInProgress", "True", "BothActivePendingClustersExist", "A cluster is to take the active one's place"),
            **active(fruit=application("RUNNING")),
            pendingServiceStatus={"rayClusterName": "shop-two"},
        ),
        (),
        "ready",
        [],
        "UpgradeInProgress: A cluster is to take the active one's place",
    ),
    (
        "upgrade that waits for its Gateway",
        service(
            READY,
            condition("GatewayReady", "False", "WaitingForRoute", "HTTPRoute shop-httproute was not looked at yet"),
            **active(fruit=application("RUNNING")),
        ),
        (),
        "ready",
        [],
        "GatewayReady: HTTPRoute shop-httproute was not looked at yet",
    ),
]


@pytest.mark.parametrize(
    ("found", "clusters", "state", "problems", "text"), [case[1:] for case in SERVICES], ids=[case[0] for case in SERVICES]
)
def test_a_service(found: Any, clusters: tuple[Diagnosis, ...], state: str, problems: list[str], text: str) -> None:
    diagnosis = diagnose_service(Maker(found, NOW, clusters))
    assert (diagnosis.kind, diagnosis.name, diagnosis.state) == ("rayservice", "shop", state)
    assert [each.problem for each in diagnosis.findings] == problems
    assert text in words(diagnosis)
    assert all(each.advice or each is CRASH for each in diagnosis.findings)


def test_what_the_api_server_refused_is_told_while_it_matters() -> None:
    note = "RayCluster shop-one: rayclusters.ray.io is forbidden: exceeded quota: budget, requested: count=1"
    events = (Told(("RayService", "shop"), "Warning", "FailedToCreateRayCluster", note, ago(60)),)
    starting = Maker(service(not_ready("Initializing", note)), NOW, events=events)
    assert [each.problem for each in diagnose_service(starting).findings] == ["Quota"]
    well = Maker(service(READY, **active(fruit=application("RUNNING"))), NOW, events=events)
    assert diagnose_service(well).healthy
    assert diagnose_service(Maker(starting.object, NOW + 1000, events=events)).healthy


def test_an_object_that_does_not_go_names_what_holds_it() -> None:
    leaving = {**META, "name": "shop", "deletionTimestamp": ago(120), "finalizers": ["ray.io/rayservice-finalizer"]}
    found = diagnose_service(Maker(typed({**document(), "metadata": leaving}), NOW))
    assert (found.state, found.findings[0].problem) == ("deleting", "StuckDeleting")
    assert "ray.io/rayservice-finalizer" in words(found)


def job(state: str, spec: Obj | None = None, **status: Any) -> Any:
    said = (
        {"jobDeploymentStatus": state, "rayClusterName": "train-one", "jobId": "train-x", "observedGeneration": 1, **status}
        if state
        else {}
    )
    whole = {"entrypoint": "python x", "rayClusterSpec": cluster_spec(), **(spec or {})}
    return typed({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {**META, "name": "train"}, "spec": whole, "status": said})


HEAD = Diagnosis("default", "train-one", "broken", "head not ready", (CRASH,))
PULL = Finding("ImagePull", "The image x cannot be pulled.", ("pod/train-abc",))
NO_POD = "submitter: its Job has no Pod, and the Job's events say why"
REFUSED = 'Error creating: pods "train-x7k2p" is forbidden: exceeded quota: budget, requested: pods=1, used: pods=4, limited: pods=4'
NO_ROOM = Told(("Job", "train"), "Warning", "FailedCreate", REFUSED, ago(30))
SELECTS = {"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "train-one"}}
JOBS: list[tuple[str, Any, dict[str, Any], str, list[str], str]] = [
    ("blank", job(""), {}, "broken", ["NoOperator"], "its status is empty"),
    ("starting", job("Initializing"), {}, "starting", [], "Ray has no job of it yet on raycluster/train-one"),
    ("its head crashes", job("Initializing"), {"clusters": (HEAD,)}, "broken", ["CrashLoop"], "ends again and again"),
    ("its submitter has no image", job("Initializing"), {"submitter": (PULL,)}, "broken", ["ImagePull"], "pod/train-abc"),
    (
        "its submitter gets no Pod",
        job("Initializing", message=NO_POD),
        {"events": (NO_ROOM,)},
        "broken",
        ["Quota"],
        "exceeded quota: budget",
    ),
    ("hindered", job("Initializing", message="Ray answered 500: no"), {}, "broken", ["NotStarting"], "Ray answered 500: no"),
    ("no such cluster", job("Initializing", SELECTS), {}, "broken", ["ClusterMissing"], "There is no RayCluster train-one"),
    ("waits for its user", job("Waiting"), {}, "waiting", [], "spec.jobId"),
    ("running", job("Running", jobStatus="RUNNING"), {}, "running", [], "job train-x is RUNNING"),
    ("silent", job("Running", jobStatusCheckFailureStartTime=ago(60)), {}, "broken", ["DashboardUnreachable"], "raycluster/train-one"),
    ("done", job("Complete", jobStatus="SUCCEEDED"), {"clusters": (HEAD,)}, "succeeded", [], "SUCCEEDED"),
    ("stopped", job("Complete", jobStatus="STOPPED", reason="JobStopped"), {}, "stopped", [], "STOPPED"),
    (
        "its program failed",
        job("Failed", jobStatus="FAILED", reason="AppFailed", message=TRACE),
        {"clusters": (HEAD,)},
        "failed",
        ["AppFailed"],
        "\nModuleNotFoundError: No module named 'shop'",
    ),
    (
        "late",
        job("Failed", reason="DeadlineExceeded", message="activeDeadlineSeconds, 5"),
        {},
        "failed",
        ["DeadlineExceeded"],
        "spec.activeDead",
    ),
    ("lost", job("Failed", reason="SomethingNew"), {}, "failed", ["SomethingNew"], "The job has failed."),
    (
        "again",
        job("Retrying", {"backoffLimit": 3}, failed=2, reason="AppFailed"),
        {},
        "retrying",
        [],
        "2 of 4 tries have failed",
    ),
    ("refused", job("ValidationFailed", message="spec.submissionMode: no"), {}, "refused", ["InvalidSpec"], "spec.submissionMode: no"),
    ("suspended", job("Suspended"), {}, "suspended", [], "spec.suspend: false"),
]


@pytest.mark.parametrize(("found", "more", "state", "problems", "text"), [case[1:] for case in JOBS], ids=[case[0] for case in JOBS])
def test_a_job(found: Any, more: dict[str, Any], state: str, problems: list[str], text: str) -> None:
    diagnosis = diagnose_job(Maker(found, NOW, **more))
    assert (diagnosis.kind, diagnosis.state) == ("rayjob", state)
    assert [each.problem for each in diagnosis.findings] == problems
    assert text in words(diagnosis)


def cron(**spec: Any) -> Any:
    whole = {"schedule": "0 3 * * *", "jobTemplate": {"entrypoint": "x", "rayClusterSpec": cluster_spec()}, **spec}
    return typed({"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {**META, "name": "nightly"}, "spec": whole})


CRONS: list[tuple[str, dict[str, Any], str, list[str], str]] = [
    ("ready", {"following": "2030-03-18T03:00:00Z"}, "ready", [], "the next job is due at 2030-03-18T03:00:00Z"),
    ("refused", {"faults": (Fault("spec.schedule", "cannot be read"),)}, "refused", ["InvalidSpec"], "spec.schedule: cannot be read"),
    ("missed", {"due": "2030-03-17T03:00:00Z"}, "broken", ["NoOperator"], "--feature-gates RayCronJob=true"),
    ("its job failed", {"jobs": (job("Failed", reason="AppFailed"),)}, "broken", ["LastJobFailed"], "rayfleet explain rayjob/train"),
]


@pytest.mark.parametrize(("more", "state", "problems", "text"), [case[1:] for case in CRONS], ids=[case[0] for case in CRONS])
def test_a_cron_job(more: dict[str, Any], state: str, problems: list[str], text: str) -> None:
    diagnosis = diagnose_cron_job(Maker(cron(), NOW, **more))
    assert (diagnosis.kind, diagnosis.state) == ("raycronjob", state)
    assert [each.problem for each in diagnosis.findings] == problems
    assert text in words(diagnosis)
    assert diagnose_cron_job(Maker(cron(suspend=True), NOW)).state == "suspended"
