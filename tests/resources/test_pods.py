"""What a head and a worker Pod are made of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration, InjectedProbes
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources.pod import head_pod, worker_pod
from tests.raycluster.vocabulary import cluster, group, template

CONFIG = Configuration()


def head_of(of: RayCluster, config: Configuration = CONFIG) -> dict[str, Any]:
    return head_pod(of, "demo-head-x", config)


def worker_of(of: RayCluster, config: Configuration = CONFIG) -> dict[str, Any]:
    return worker_pod(of, of.spec.worker_group_specs[0], Slot(0, 0), 0, "demo-small-worker-x", config)


def env_of(container: dict[str, Any]) -> dict[str, Any]:
    return {variable["name"]: variable.get("value") for variable in container["env"]}


def with_head(**container: Any) -> RayCluster:
    return cluster(headGroupSpec={"rayStartParams": {}, "template": template(**container)})


def test_a_users_variable_wins_over_the_injected_one() -> None:
    pod = head_of(with_head(env=[{"name": "RAY_PORT", "value": "1"}]))
    assert [variable["value"] for variable in pod["spec"]["containers"][0]["env"] if variable["name"] == "RAY_PORT"] == ["1"]


@pytest.mark.parametrize("name", ["RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME", "RAY_CLUSTER_NAME", "KUBERAY_GEN_RAY_START_CMD"])
def test_who_a_node_is_is_not_the_users_to_say(name: str) -> None:
    pod = head_of(with_head(env=[{"name": name, "value": "mine"}, {"name": "OWN", "value": "1"}]))
    found = [variable for variable in pod["spec"]["containers"][0]["env"] if variable["name"] in (name, "OWN")]
    assert [variable["name"] for variable in found] == ["OWN", name]
    assert found[1].get("value") != "mine"


def test_a_users_command_runs_before_ray() -> None:
    ray = head_of(with_head(command=["echo", "hi"]))["spec"]["containers"][0]
    assert ray["command"] == ["/bin/bash", "-c", "--"]
    assert ray["args"][0].startswith("echo hi && ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ray start --head ")


def test_a_template_may_keep_its_own_command() -> None:
    own = {**template(command=["/start.sh"]), "metadata": {"annotations": {"ray.io/overwrite-container-cmd": "True"}}}
    ray = head_of(cluster(headGroupSpec={"template": own}))["spec"]["containers"][0]
    assert (ray["command"], ray.get("args")) == (["/start.sh"], None)


@pytest.mark.parametrize(("value", "policy"), [("1", "Never"), ("true", "Never"), ("0", None)])
def test_a_pod_lives_once_for_an_autoscaler_v2_that_the_variable_asks_for(value: str, policy: str | None) -> None:
    given = template(env=[{"name": "RAY_enable_autoscaler_v2", "value": value}])
    of = cluster(group(), headGroupSpec={"template": given}, enableInTreeAutoscaling=True)
    assert [pod["spec"].get("restartPolicy") for pod in (head_of(of), worker_of(of))] == [policy, policy]


@pytest.mark.parametrize(("given", "policy"), [({}, "Never"), ({"restartPolicy": "Always"}, "Always")])
def test_a_worker_that_the_operator_may_drain_does_not_start_again_unless_the_user_says_so(given: dict[str, Any], policy: str) -> None:
    of = cluster(group(template={"spec": {**template()["spec"], **given}}), enableInTreeAutoscaling=True)
    hosted = msgspec.structs.replace(CONFIG, autoscaling="hosted")
    assert worker_of(of, hosted)["spec"]["restartPolicy"] == policy
    assert head_of(of, hosted)["spec"].get("restartPolicy") is None
    assert worker_of(of)["spec"].get("restartPolicy") == given.get("restartPolicy"), "a sidecar deletes what runs"


def test_the_autoscaler_writes_its_log_where_ray_reads_it() -> None:
    own = {"name": "mine", "mountPath": "/tmp/ray/", "subPath": "ray"}
    pod = head_of(cluster(headGroupSpec={"template": template(volumeMounts=[own])}, enableInTreeAutoscaling=True))
    assert pod["spec"]["containers"][1]["volumeMounts"] == [own]
    assert "ray-logs" not in {volume["name"] for volume in pod["spec"]["volumes"]}
    elsewhere = cluster(enableInTreeAutoscaling=True, autoscalerOptions={"volumeMounts": [own]})
    assert head_of(elsewhere)["spec"]["containers"][1]["volumeMounts"] == [own], "a path may be mounted once"


@pytest.mark.parametrize(("of_cluster", "of_template", "kept"), [("false", "true", True), ("True", "false", True), ("false", "no", False)])
def test_the_annotation_of_the_cluster_only_adds_to_that_of_the_template(of_cluster: str, of_template: str, kept: bool) -> None:
    key = "ray.io/overwrite-container-cmd"
    own = {**template(command=["/start.sh"]), "metadata": {"annotations": {key: of_template}}}
    pod = head_of(cluster(headGroupSpec={"template": own}, annotations={key: of_cluster}))
    assert (pod["spec"]["containers"][0]["command"] == ["/start.sh"], pod["metadata"]["annotations"][key] == "true") == (kept, kept)


@pytest.mark.parametrize("given", [{"annotations": {"ray.io/overwrite-container-cmd": "true"}}, {"text": "ray start --head --block"}])
def test_a_user_who_starts_ray_keeps_the_command(given: dict[str, Any]) -> None:
    text = given.pop("text", "sleep 1")
    of = cluster(headGroupSpec={"template": template(command=["bash", "-c"], args=[text])}, **given)
    ray = head_of(of)["spec"]["containers"][0]
    assert (ray["command"], ray["args"]) == (["bash", "-c"], [text])
    assert env_of(ray)["KUBERAY_GEN_RAY_START_CMD"].startswith("ray start --head")


def test_shared_memory_is_as_large_as_the_containers_memory() -> None:
    pod = head_of(cluster())
    assert pod["spec"]["volumes"] == [{"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}]


def test_shared_memory_is_left_to_a_user_who_mounts_something_there() -> None:
    pod = head_of(with_head(volumeMounts=[{"name": "mine", "mountPath": "/dev/shm/"}]))
    assert "volumes" not in pod["spec"]


def test_a_users_probe_is_honoured_as_it_is() -> None:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 42}
    config = Configuration(injected_probes=InjectedProbes(1, 1))
    ray = head_of(with_head(readinessProbe=probe), config)["spec"]["containers"][0]
    assert ray["readinessProbe"] == probe
    assert (ray["livenessProbe"]["initialDelaySeconds"], ray["livenessProbe"]["periodSeconds"]) == (1, 1)


def test_injected_probes_follow_the_agents_port_and_rays_version() -> None:
    moved = {"rayStartParams": {"dashboard-agent-listen-port": "52366"}, "template": template()}
    assert head_of(cluster(headGroupSpec=moved))["spec"]["containers"][0]["livenessProbe"]["httpGet"] == {
        "path": "/api/healthz",
        "port": 52366,
    }
    old = head_of(cluster(headGroupSpec=moved, rayVersion="2.40.0"))["spec"]["containers"][0]["livenessProbe"]
    assert "http://localhost:52366/api/local_raylet_healthz" in old["exec"]["command"][-1]


@pytest.mark.parametrize(
    ("version", "new"),
    [
        ("2.53.0", 1),
        ("2.53", 1),
        ("v2.55.0", 1),
        ("2.53.0rc1", 1),
        ("2.100.1", 1),
        ("3.0", 1),
        ("2.52.9", 0),
        ("nightly", 0),
        ("", 0),
        ("53", 0),
    ],
)
def test_a_version_is_read_in_every_form_that_names_one(version: str, new: int) -> None:
    assert ("httpGet" in head_of(cluster(rayVersion=version))["spec"]["containers"][0]["readinessProbe"]) == bool(new)


def test_a_worker_waits_for_the_gcs_at_the_heads_port() -> None:
    of = cluster(group(), headGroupSpec={"rayStartParams": {"port": "6380"}, "template": template()})
    pod = worker_of(of)
    (wait,) = pod["spec"]["initContainers"]
    assert "ray health-check --address demo-head-svc.default.svc.cluster.local:6380" in wait["args"][0]
    assert set(wait["resources"]) == {"limits", "requests"}
    assert env_of(pod["spec"]["containers"][0])["RAY_ADDRESS"] == "demo-head-svc.default.svc.cluster.local:6380"


def test_the_waiting_container_sees_certificates_and_no_storage() -> None:
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("certs", "models", "bucket", "scratch")]
    volumes = [
        {"name": "certs", "secret": {"secretName": "certs"}},
        {"name": "models", "persistentVolumeClaim": {"claimName": "models"}},
        {"name": "bucket", "csi": {"driver": "gcsfuse.csi.storage.gke.io"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    made = template(volumeMounts=mounts)
    made["spec"]["volumes"] = volumes
    (wait,) = worker_of(cluster(group(template=made)))["spec"]["initContainers"]
    assert [mount["name"] for mount in wait["volumeMounts"]] == ["certs", "scratch"]


def test_a_templates_labels_stay_but_not_those_by_which_pods_are_found() -> None:
    marks = {"team": "a", "ray.io/cluster": "other", "ray.io/node-type": "x"}
    own = {**template(), "metadata": {"labels": marks, "name": "ignored", "finalizers": ["example.test/mine"]}}
    metadata = head_of(cluster(headGroupSpec={"template": own}))["metadata"]
    assert metadata["finalizers"] == ["example.test/mine"]
    assert (metadata["name"], metadata["labels"]["team"]) == ("demo-head-x", "a")
    assert (metadata["labels"]["ray.io/cluster"], metadata["labels"]["ray.io/node-type"]) == ("demo", "head")


def test_fields_newer_than_this_program_survive() -> None:
    own = template()
    own["spec"]["aFieldOfTomorrow"] = {"x": [1]}
    assert head_of(cluster(headGroupSpec={"template": own}))["spec"]["aFieldOfTomorrow"] == {"x": [1]}


def test_building_changes_nothing_that_was_given() -> None:
    of = cluster(group())
    before = msgspec.json.encode(of)
    head_of(of)
    worker_of(of)
    assert msgspec.json.encode(of) == before
