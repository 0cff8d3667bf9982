"""RayServices, RayJobs and RayCronJobs beside a real operator: `explain`, `plan --live`, `diff` and `service status`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import Result

from rayfleet.cli.output import dump_yaml
from rayfleet.sim.service_specs import cluster_spec, document
from tests.cli.explain.kubelet_words import crash_loop, unschedulable, well
from tests.cli.explain.ward import Obj, Ward, pods_of, told, ward
from tests.local.waiting import eventually

Type = Callable[..., Result]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with ward(tmp_path_factory.mktemp("ward")) as found:
        yield found


@pytest.fixture
def run(place: Ward, invoke: Type) -> Type:
    return lambda *words, **more: invoke(*words, "--kubeconfig", str(place.kubeconfig), **more)


def made(place: Ward, plural: str, name: str, spec: Obj, **metadata: Any) -> Obj:
    kind = {"rayservices": "RayService", "rayjobs": "RayJob", "raycronjobs": "RayCronJob"}[plural]
    body = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name, "namespace": "default", **metadata}, "spec": spec}
    place.create(body, plural)
    return body


def status_of(place: Ward, plural: str, name: str, holds: Callable[[Obj], bool]) -> Obj:
    def look() -> Obj | None:
        found = place.send("GET", f"/apis/ray.io/v1/namespaces/default/{plural}/{name}").get("status") or {}
        return found if holds(found) else None

    return eventually(look, 30.0, f"the status of {plural}/{name}")


def has(type: str, reason: str) -> Callable[[Obj], bool]:
    return lambda status: any((each["type"], each["reason"]) == (type, reason) for each in status.get("conditions", ()))


def test_specs_that_the_operator_refuses_are_explained_with_every_path(place: Ward, run: Type) -> None:
    made(place, "rayservices", "wrong", document(serveConfigV2="- a\n")["spec"])
    made(place, "rayjobs", "wrong", {"entrypoint": "x", "submissionMode": "Telepathy", "rayClusterSpec": cluster_spec()})
    made(place, "raycronjobs", "wrong", {"schedule": "often", "jobTemplate": {"entrypoint": "x", "rayClusterSpec": cluster_spec()}})
    status_of(place, "rayservices", "wrong", has("Ready", "ValidationFailed"))
    status_of(place, "rayjobs", "wrong", lambda status: status.get("jobDeploymentStatus") == "ValidationFailed")
    for word, path in (("rayservice", "spec.serveConfigV2"), ("rayjobs", "spec.submissionMode"), ("raycronjob.ray.io", "spec.schedule")):
        shown = run("explain", f"{word}/wrong")
        assert shown.exit_code == 1, shown.output
        assert "refused" in shown.output.splitlines()[0] and "[InvalidSpec]" in shown.output and path in shown.output


def test_a_service_and_a_job_whose_head_crashes_lead_to_the_line_of_its_log(place: Ward, run: Type) -> None:
    made(place, "rayservices", "shop", document()["spec"])
    made(place, "rayjobs", "train", {"entrypoint": "x", "rayClusterSpec": cluster_spec()})
    status_of(place, "rayjobs", "train", lambda status: "rayClusterName" in status)
    for plural, name in (("rayservice", "shop"), ("rayjob", "train")):
        cluster = cluster_of(place, name)
        (head,) = pods_of(place, "default", cluster, "head")
        crash_loop(place, head, "ValueError: no such address\n")
        told(place, "default", cluster, "HeadPodReady", "CrashLoopBackOff")
        shown = run("explain", f"{plural}/{name}", "-o", "json")
        assert shown.exit_code == 1, shown.output
        found = json.loads(shown.output)
        assert (found["kind"], found["state"]) == (plural, "broken")
        (crash,) = [each for each in found["findings"] if each["problem"] == "CrashLoop"]
        assert crash["where"] == [f"pod/{head['metadata']['name']}"]
        assert any("ValueError: no such address" in step["says"] for step in crash["why"])


def test_what_was_done_for_a_service_is_told(place: Ward, run: Type) -> None:
    made(place, "rayservices", "told", document()["spec"])
    cluster = cluster_of(place, "told")
    eventually(lambda: f"CreatedRayCluster: Created RayCluster {cluster}" in run("logs", "rayservice/told").output, 30.0, "it is told")
    assert "rayservice/NAME" in run("logs", "deployment/x").output


def test_a_submitter_that_no_node_takes_is_told_of_its_job(place: Ward, run: Type) -> None:
    made(place, "rayjobs", "waits", {"entrypoint": "x", "rayClusterSpec": cluster_spec()})
    status_of(place, "rayjobs", "waits", lambda status: "rayClusterName" in status)
    owner = place.send("GET", "/apis/ray.io/v1/namespaces/default/rayjobs/waits")["metadata"]["uid"]
    reference = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "waits", "uid": owner, "controller": True}
    labels = {"ray.io/originated-from-crd": "RayJob"}
    pod = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [{"name": "ray-job-submitter", "image": "i"}]}}
    meta = {"name": "waits", "namespace": "default", "labels": labels, "ownerReferences": [reference]}
    place.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": pod}}, "jobs")
    path = "/api/v1/namespaces/default/pods?labelSelector=job-name%3Dwaits"
    (found,) = eventually(lambda: place.send("GET", path)["items"], 30.0, "the Job has its Pod")
    unschedulable(place, found, "0/3 nodes are available: 3 Insufficient cpu.")
    shown = run("explain", "rayjob/waits")
    assert shown.exit_code == 1
    assert "No node takes the submitter. [Unschedulable]" in shown.output and "3 Insufficient cpu" in shown.output


def cluster_of(place: Ward, owner: str) -> str:
    def look() -> str | None:
        items = place.send("GET", "/apis/ray.io/v1/namespaces/default/rayclusters")["items"]
        return next((each["metadata"]["name"] for each in items if each["metadata"]["name"].startswith(f"{owner}-")), None)

    return eventually(look, 30.0, f"a cluster of {owner}")


def test_a_live_service_is_planned_compared_and_shown_without_ray(place: Ward, run: Type) -> None:
    body = made(place, "rayservices", "live", document()["spec"])
    cluster = cluster_of(place, "live")
    for role in ("head", "worker"):
        for pod in pods_of(place, "default", cluster, role):
            well(place, pod)
    told(place, "default", cluster, "RayClusterProvisioned", "AllPodRunningAndReadyFirstTime")
    plan = run("plan", "--live", "-f", "-", input=dump_yaml(body))
    assert f"ask raycluster/{cluster} GET /api/serve/applications/?api_type=declarative" in plan.output
    diff = run("diff", "-f", "-", input=dump_yaml(body))
    assert f"  call raycluster/{cluster} PUT /api/serve/applications/\n" in diff.output
    assert f"    because Sent the Serve config to RayCluster {cluster}: it does not run fruit, sums\n" in diff.output
    assert "create service/live-serve-svc" in diff.output and "create raycluster" not in diff.output
    other = {**body, "spec": {**body["spec"], "rayClusterConfig": cluster_spec(env="2")}}
    changed = run("diff", "-f", "-", "-o", "json", input=dump_yaml(other))
    (found,) = json.loads(changed.output)
    assert (found["changes"][0]["verb"], found["changes"][0]["kind"]) == ("change", "RayService")
    assert ("create", "RayCluster") in {(each["verb"], each["kind"]) for each in found["changes"]}
    status_of(place, "rayservices", "live", lambda status: "pendingServiceStatus" in status)
    shown = run("service", "status", "live")
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines()[0] == "rayservice/live"
    assert f"raycluster/{cluster} is to take it: 0 %" in shown.output and "Ray does not answer" in shown.output


def test_a_cron_job_tells_its_next_time_and_names_are_near(place: Ward, run: Type) -> None:
    made(place, "raycronjobs", "nightly", {"schedule": "0 3 * * *", "jobTemplate": {"entrypoint": "x", "rayClusterSpec": cluster_spec()}})
    shown = run("explain", "raycronjob/nightly")
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("raycronjob default/nightly: ready; it has no job yet\n") and "the next job is due at" in shown.output
    assert "did you mean nightly?" in run("explain", "raycronjob/nigthly").output


def test_what_is_not_explained_is_told(run: Type) -> None:
    assert "rayservice/NAME" in run("explain", "pod/x").output
