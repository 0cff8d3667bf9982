"""The offline host for RayServices, RayJobs and RayCronJobs: what `render`, `plan` and `diff` tell of them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS
from rayfleet.planning.actions import Create
from rayfleet.sim.foresight import Change, foresee
from rayfleet.sim.ideal import Refused, next_steps, render, uid_of, world_of
from rayfleet.sim.ideal_ray import IdealRay
from rayfleet.sim.kubelet import running
from rayfleet.sim.service_life import Story
from rayfleet.sim.service_specs import CONFIG as APPLICATIONS
from rayfleet.sim.service_specs import NOW, cluster_spec, document
from rayfleet.sim.store import Obj
from rayfleet.sim.transcript import plan_told

CONFIG = Configuration()
MODES = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")


def job(**spec: Any) -> Obj:
    whole = {"entrypoint": "python train.py", "rayClusterSpec": cluster_spec(), **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}, "spec": whole}


def cron(**spec: Any) -> Obj:
    whole = {"schedule": "0 3 * * *", "jobTemplate": job()["spec"], **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": "nightly"}, "spec": whole}


def service(**spec: Any) -> Obj:
    whole = document(**spec)
    whole["metadata"] = {"name": "shop", "namespace": "default", "uid": uid_of("default", "shop"), "generation": 1}
    return whole


def kinds(objects: list[Obj]) -> list[str]:
    return [obj["kind"] for obj in objects]


def told(changes: list[Change]) -> list[str]:
    return [f"{each.verb} {each.kind}{f' {each.what}' if each.what else ''}" for each in changes]


CLUSTER = ["RayCluster", "Service", "Pod", "Pod"]


def test_a_service_is_rendered_with_its_first_cluster_and_both_services() -> None:
    made = render([service()], CONFIG)
    assert kinds(made) == [*CLUSTER, "Service", "Service"]
    assert [each["metadata"]["name"] for each in made[-2:]] == ["shop-head-svc", "shop-serve-svc"]
    assert all(each["spec"]["selector"][labels.CLUSTER] == made[0]["metadata"]["name"] for each in made[-2:])


@pytest.mark.parametrize("mode", MODES)
def test_a_job_is_rendered_in_every_mode(mode: str) -> None:
    submitter = ["Job"] if mode == "K8sJobMode" else []
    assert kinds(render([job(submissionMode=mode)], CONFIG, NOW)) == [*CLUSTER, *submitter, "Service"]
    assert render([job(submissionMode=mode, suspend=True, shutdownAfterJobFinishes=True)], CONFIG, NOW) == []


@pytest.mark.parametrize(("now", "due"), [(NOW, "2027-01-16T03:00:00Z"), (NOW + 70_000, "2027-01-17T03:00:00Z")])
def test_a_cron_job_is_rendered_with_the_job_of_the_next_tick(now: float, due: str) -> None:
    made = render([cron()], CONFIG, now)
    assert kinds(made) == ["RayJob", *CLUSTER, "Job", "Service"]
    assert made[0]["metadata"]["annotations"][labels.SCHEDULED_AT] == due
    assert render([cron(suspend=True)], CONFIG, now) == []


@pytest.mark.parametrize(
    ("bad", "path"),
    [
        (service(serveConfigV2="- a\n"), "spec.serveConfigV2"),
        (job(submissionMode="Telepathy"), "spec.submissionMode"),
        (job(runtimeEnvYAML="- a\n"), "spec.runtimeEnvYAML"),
        (cron(schedule="often"), "spec.schedule"),
        (job(entrypoint=7), "spec.entrypoint"),
    ],
    ids=["serve config", "mode", "runtime env", "schedule", "type"],
)
def test_what_the_operator_refuses_is_refused_with_the_path(bad: Obj, path: str) -> None:
    for ask in (lambda: render([bad], CONFIG, NOW), lambda: foresee(bad, CONFIG, NOW)):
        with pytest.raises(Refused) as caught:
            ask()
        assert path in str(caught.value)


def test_what_ray_would_be_asked_and_told_is_part_of_a_plan() -> None:
    story = Story()
    story.settle()
    (name,) = story.names
    story.start(name)
    assert story.service is not None
    there = [each | {"kind": kind} for kind, each in everything(story)]
    lines = plan_told(*next_steps(story.service, CONFIG, NOW, there))
    assert f"ask raycluster/{name} GET /api/serve/applications/?api_type=declarative" in lines
    assert not any(line.startswith("call") for line in lines)  # Ray says nothing, so it is told nothing


def everything(story: Story) -> list[tuple[str, Obj]]:
    return [
        *(("RayCluster", each) for each in story.clusters.values()),
        *(("Service", each) for each in story.services.values()),
        *(("Pod", owned_by_cluster(story, each)) for each in story.pods.values()),
    ]


def owned_by_cluster(story: Story, pod: Obj) -> Obj:
    owner = story.clusters[pod["metadata"]["labels"][labels.CLUSTER]]["metadata"]["uid"]
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [{"uid": owner, "controller": True}]}}


def living(obj: Obj) -> tuple[Obj, list[Obj]]:
    """A service that serves, and what hangs below it, as an API server would list them."""
    children = copy.deepcopy(render([obj], CONFIG, NOW))
    for number, child in enumerate(children):
        meta = child["metadata"]
        meta |= {"uid": uid_of("default", meta["name"]), "resourceVersion": "5", "namespace": "default", "generation": 1}
        if child["kind"] == "Pod":
            child["status"] = running(child, f"10.0.0.{number}", ready=True)
            meta["labels"][labels.SERVE] = "true"
    name = children[0]["metadata"]["name"]
    statuses = {each: {"status": "RUNNING"} for each in ("fruit", "sums")}
    return {**obj, "status": {"activeServiceStatus": {"rayClusterName": name, "applicationStatuses": statuses}}}, children


def test_a_service_at_rest_has_nothing_to_come() -> None:
    obj, children = living(service())
    assert foresee(obj, CONFIG, NOW, children) == []


def test_another_serve_config_is_sent_to_the_same_cluster() -> None:
    before, children = living(service())
    after = {**before, "spec": {**before["spec"], "serveConfigV2": APPLICATIONS.replace("/sums", "/figures")}}
    (call,) = foresee(after, CONFIG, NOW, children, before)
    assert told([call]) == ["call RayCluster PUT /api/serve/applications/"]
    assert (call.name, call.why) == (
        children[0]["metadata"]["name"],
        f"Sent the Serve config to RayCluster {children[0]['metadata']['name']}: the config has changed",
    )


def test_another_cluster_takes_the_traffic_and_the_old_one_goes() -> None:
    before, children = living(service())
    after = {**before, "spec": {**before["spec"], "rayClusterConfig": cluster_spec(env="2")}}
    found = foresee(after, CONFIG, NOW, children, before)
    assert told(found)[:4] == ["create RayCluster", "create Service", "create Pod", "create Pod"]
    rest = told(found)[4:]
    assert rest.index("call RayCluster PUT /api/serve/applications/") < rest.index("change Service") < rest.index("delete RayCluster")
    assert found[-1].name == children[0]["metadata"]["name"] and "its traffic has moved" in found[-1].why


def test_what_hung_below_a_cluster_goes_with_it() -> None:
    before, children = living(service())
    after = {**before, "spec": {**before["spec"], "rayClusterConfig": cluster_spec(env="2")}}
    world = world_of(after, CONFIG, NOW, children, IdealRay(NOW))
    new = {step.name for step in world.lived() if isinstance(step, Create)}
    assert {pod["metadata"]["name"] for pod in world.store.all(PODS)} <= new


def test_an_upgrade_by_steps_is_told_step_by_step_to_its_end() -> None:
    options = {"stepSizePercent": 25, "intervalSeconds": 10, "gatewayClassName": "istio", "maxSurgePercent": 50}
    strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}
    before, children = living(service(rayClusterConfig=cluster_spec(enableInTreeAutoscaling=True), upgradeStrategy=strategy))
    assert {"Gateway", "HTTPRoute"} <= set(kinds(children)) and foresee(before, CONFIG, NOW, children) == []
    after = {**before, "spec": {**before["spec"], "rayClusterConfig": cluster_spec(enableInTreeAutoscaling=True, env="2")}}
    found = foresee(after, CONFIG, NOW, children, before)
    shares = [each.why.split()[0] for each in found if each.kind == "HTTPRoute"]
    assert shares == ["100", "75", "50", "25", "0", "100"]
    assert (found[-1].verb, found[-1].kind, found[-1].name) == ("delete", "RayCluster", children[0]["metadata"]["name"])


def test_a_new_job_is_followed_until_it_runs() -> None:
    assert told(foresee(job(), CONFIG, NOW))[-2:] == ["create Job", "create Service"]
    assert "call RayCluster POST /api/jobs/" in told(foresee(job(submissionMode="HTTPMode"), CONFIG, NOW))


def test_a_job_that_runs_is_stopped_before_its_cluster_goes() -> None:
    children = [{**copy.deepcopy(each)} for each in render([job(submissionMode="HTTPMode")], CONFIG, NOW)]
    for number, child in enumerate(children):
        meta = child["metadata"]
        meta |= {"uid": uid_of("default", meta["name"]), "resourceVersion": "5", "namespace": "default", "generation": 1}
        if child["kind"] == "Pod":
            child["status"] = running(child, f"10.0.0.{number}", ready=True)
    cluster = children[0]
    cluster["status"] = {"state": "ready", "head": {"podIP": "10.0.0.2", "serviceIP": "10.0.0.9"}}
    live = job(submissionMode="HTTPMode", suspend=True, shutdownAfterJobFinishes=True)
    live["status"] = {
        "jobId": "train-x",
        "jobStatus": "RUNNING",
        "jobDeploymentStatus": "Running",
        "rayClusterName": cluster["metadata"]["name"],
        "startTime": "2027-01-15T07:00:00Z",
    }
    found = [line for line in told(foresee(live, CONFIG, NOW, children)) if "Service" not in line]
    assert found == ["call RayCluster POST /api/jobs/train-x/stop", "delete RayCluster"]


def test_a_cron_job_does_nothing_before_its_time_and_tells_when() -> None:
    plan = next_steps(cron(), CONFIG, NOW).plan
    assert plan.done and plan.requeue_after is not None
    assert NOW + plan.requeue_after == 1_800_068_400.0  # 2027-01-16T03:00:00Z
    assert foresee(cron(), CONFIG, NOW) == []
