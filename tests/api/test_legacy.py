"""The old formats: the field map (Ray, A.5), and the faults of the old operator that must not come back (Ray, A.4)."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from rayfleet.api.config import Configuration
from rayfleet.api.legacy import Converted, Inconvertible, convert
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.sim.ideal import refusals, render

LEGACY = Path(__file__).parents[2] / "examples" / "legacy"
Obj = dict[str, Any]


def example(name: str) -> Obj:
    found: Obj = yaml.safe_load((LEGACY / f"{name}.yaml").read_text())
    return found


def pod(**container: Any) -> Obj:
    return {
        "metadata": {"generateName": "x-"},
        "spec": {"containers": [{"name": "ray-node", "image": "rayproject/ray:2.60.0", **container}]},
    }


def limits(**amounts: Any) -> Obj:
    return pod(resources={"limits": amounts})


def kind(name: str, config: Obj | None = None, **fields: Any) -> Obj:
    return {"name": name, "podConfig": config or limits(cpu=1, memory="1Gi"), **fields}


def resource(*types: Obj, **spec: Any) -> Obj:
    whole = {"headPodType": "head", "podTypes": [kind("head"), *types], **spec}
    return {"apiVersion": "cluster.ray.io/v1", "kind": "RayCluster", "metadata": {"name": "old"}, "spec": whole}


def cluster(found: Converted) -> Obj:
    return found.objects[0]


def groups(found: Converted) -> dict[str, Obj]:
    return {each["groupName"]: each for each in cluster(found)["spec"]["workerGroupSpecs"]}


def lost(found: Converted) -> list[str]:
    return [note.path for note in found.notes if note.lost]


@pytest.mark.parametrize("name", sorted(path.stem for path in LEGACY.glob("*.yaml")))
def test_the_operator_takes_what_comes_of_an_example(name: str) -> None:
    given = example(name)
    before = copy.deepcopy(given)
    assert refusals(cluster(convert(given)), Configuration(), 0.0) == ()
    assert given == before


@pytest.mark.parametrize(
    ("cpu", "memory", "cpus", "bytes_"),
    [
        ("0.5", "1G", "1", 700_000_000),
        ("500m", "1Gi", "1", 751_619_276),
        ("1500m", "1k", "2", 700),
        (2, "1Ei", "2", 807_045_053_224_792_883),
        (1, 1e9, "1", 700_000_000),
        (1, "128974848000m", "1", 90_282_393),
    ],
)
def test_quantities_are_those_of_kubernetes(cpu: Any, memory: Any, cpus: str, bytes_: int) -> None:
    """A.4, 5: `1G` was read as 1 Gi; `1k`, `Ei`, `m` and `cpu: "0.5"` ended the program."""
    params = groups(convert(resource(kind("w", limits(cpu=cpu, memory=memory)))))["w"]["rayStartParams"]
    assert (params["num-cpus"], params["memory"]) == (cpus, str(bytes_))


def test_without_a_limit_of_memory_nothing_is_said_of_it() -> None:
    """A.4, 4: it ended the program."""
    found = convert(resource(kind("w", pod())))
    assert groups(found)["w"]["rayStartParams"] == {"num-cpus": "0"}
    assert any("no CPUs were counted" in note.said for note in found.notes) and not lost(found)


def test_a_head_type_with_workers_is_a_group_too() -> None:
    """A.4, 8."""
    given = resource()
    given["spec"]["podTypes"] = [kind("head", minWorkers=1, maxWorkers=2)]
    assert (groups(convert(given))["head"]["minReplicas"], groups(convert(given))["head"]["maxReplicas"]) == (1, 2)
    assert groups(convert(resource())) == {}


def test_nothing_of_kopf_is_kept() -> None:
    """A.4, 2: its finalizer kept objects from ever going."""
    made = cluster(convert(example("resource")))["metadata"]
    assert "finalizers" not in made and "annotations" not in made and made["labels"] == {"team": "research"}


@pytest.mark.parametrize(
    ("speed", "mode", "is_lost"),
    [(1.0, "Conservative", False), (0, "Conservative", False), (0.5, "Conservative", True), (3, "Default", True)],
)
def test_speed_is_a_mode(speed: float, mode: str, is_lost: bool) -> None:
    found = convert(resource(kind("w"), upscalingSpeed=speed))
    assert cluster(found)["spec"]["autoscalerOptions"]["upscalingMode"] == mode
    assert ("spec.upscalingSpeed" in lost(found)) == is_lost


def test_sizes_and_the_cap_on_all_of_them() -> None:
    found = convert(resource(kind("a", minWorkers=1), kind("b", maxWorkers=9), maxWorkers=3, idleTimeoutMinutes=2))
    sizes = {name: (each["replicas"], each["minReplicas"], each["maxReplicas"]) for name, each in groups(found).items()}
    assert sizes == {"a": (1, 1, 3), "b": (0, 0, 3)}
    assert "spec.maxWorkers" in lost(found)
    assert cluster(found)["spec"]["autoscalerOptions"]["idleTimeoutSeconds"] == 120
    usual = convert(resource(kind("a")))
    assert (groups(usual)["a"]["maxReplicas"], cluster(usual)["spec"]["autoscalerOptions"]["idleTimeoutSeconds"]) == (2, 300)
    assert not lost(usual)


def test_names_that_pods_cannot_have_are_changed_and_remembered() -> None:
    made = groups(convert(resource(kind("worker_A", maxWorkers=1), kind("worker-a", maxWorkers=1))))
    assert list(made) == ["worker-a", "worker-a-2"]
    assert made["worker-a"]["template"]["metadata"]["annotations"] == {"cluster.ray.io/pod-type": "worker_A"}
    assert made["worker-a"]["template"]["metadata"]["labels"]["ray-user-node-type"] == "worker_A"
    long = resource()
    long["metadata"]["name"] = "9" * 60
    found = convert(long)
    assert len(cluster(found)["metadata"]["name"]) <= 53 and lost(found) == ["metadata.name"]


def worker_of(found: Converted) -> Obj:
    """The only worker, as the operator would make it."""
    made = render([cluster(found)], Configuration())
    (worker,) = [each for each in made if each["metadata"]["labels"].get("ray.io/node-type") == "worker"]
    return worker


STARTS: list[tuple[list[str], Obj, str]] = [
    (["ray stop", "ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379"], {}, ""),
    (["ray stop -f", "ray start --address=$RAY_HEAD_IP:6379 --num-gpus 1"], {"num-gpus": "1"}, ""),
    (
        ["export A=b; echo x && ray start --address=$RAY_HEAD_IP:6379"],
        {},
        "{ export A=b; echo x\n} && ",
    ),
    (
        ["echo one", "echo $RAY_HEAD_IP; ray start --address=$RAY_HEAD_IP:6379 --include-dashboard=false"],
        {"include-dashboard": "false"},
        'export RAY_HEAD_IP="$FQ_RAY_IP" && echo one && echo $RAY_HEAD_IP && ',
    ),
]


@pytest.mark.parametrize(("commands", "params", "script"), STARTS)
def test_start_commands_become_parameters_and_what_comes_before(commands: list[str], params: Obj, script: str) -> None:
    found = convert(resource(kind("w", minWorkers=1), workerStartRayCommands=commands))
    given = {name: value for name, value in groups(found)["w"]["rayStartParams"].items() if name not in ("num-cpus", "memory")}
    assert given == params and not lost(found)
    assert worker_of(found)["spec"]["containers"][0]["args"][0].partition("ulimit")[0] == script


@pytest.mark.parametrize(
    ("commands", "end"),
    [
        (["ray stop", "if true; then ray start --address=$RAY_HEAD_IP:6379; fi"], "\nsleep infinity"),
        (["ray start --address=$RAY_HEAD_IP:6379", "python more.py"], "\npython more.py\nsleep infinity"),
        (["numactl ray start --address=$RAY_HEAD_IP:6379"], "numactl ray start --address=$RAY_HEAD_IP:6379 --block"),
        (["ray start --address=$RAY_HEAD_IP:6379 --labels=$(cat x)"], "\nsleep infinity"),
    ],
)
def test_commands_that_cannot_be_split_are_run_as_they_are(commands: list[str], end: str) -> None:
    found = convert(resource(kind("w", minWorkers=1), workerStartRayCommands=commands))
    (container,) = groups(found)["w"]["template"]["spec"]["containers"]
    (script,) = container["args"]
    assert script.startswith('export RAY_HEAD_IP="$FQ_RAY_IP"\n') and script.endswith(end)
    assert any("cannot be split" in note.said for note in found.notes)
    assert worker_of(found)["spec"]["containers"][0]["args"] == [script]


def test_a_command_of_the_user_s_own_is_kept_and_told() -> None:
    found = convert(resource(kind("w", pod(command=["python"], args=["serve.py"], resources={"limits": {"cpu": 1}}))))
    assert lost(found) == ["spec.podTypes[1].podConfig.spec.containers[0].command"]
    assert groups(found)["w"]["template"]["spec"]["containers"][0]["command"] == ["python"]


def test_the_head_s_service_keeps_its_name_its_ports_and_its_pods() -> None:
    service = convert(resource(headServicePorts=[{"name": "client", "port": 80, "targetPort": 10001}])).objects[1]
    assert service["metadata"]["name"] == "old-ray-head"
    assert [(each["name"], each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == [
        ("client", 80, 10001),
        ("dashboard", 8265, 8265),
        ("ray-serve", 8000, 8000),
    ]
    (head,) = [each for each in render([cluster(convert(resource()))], Configuration()) if each["kind"] == "Pod"]
    assert service["spec"]["selector"].items() <= head["metadata"]["labels"].items()


def test_workers_clients_and_the_dashboard_are_reached_whatever_ports_were_declared() -> None:
    """A Service of today has the ports that have a name (kuberay#463)."""
    declared: list[tuple[list[Obj], set[str]]] = [
        ([], set()),
        ([{"containerPort": 6379}, {"containerPort": 9000}], {"port-9000"}),
        ([{"name": "x", "containerPort": 1}], {"x"}),
    ]
    for ports, more in declared:
        given = resource(podTypes=[kind("head", pod(ports=ports, resources={"limits": {"cpu": 1}}))])
        made = render([cluster(convert(given))], Configuration())
        (service,) = [each for each in made if each["kind"] == "Service"]
        assert {"gcs-server", "client", "dashboard", "serve"} | more <= {each["name"] for each in service["spec"]["ports"]}


def test_both_words_for_setup_and_fields_that_never_were() -> None:
    found = convert(resource(kind("w", setupCommands=["a"], workerSetupCommands=["b"]), SetupCommands=["c"]))
    assert groups(found)["w"]["template"]["spec"]["containers"][0]["args"] == ["b"]
    assert {"spec.SetupCommands", "spec.podTypes[1].setupCommands"} <= {note.path for note in found.notes}


def test_ray_up_merges_setup_as_it_did() -> None:
    given = example("ray-up")
    made = cluster(convert(given))["spec"]
    assert made["headGroupSpec"]["template"]["spec"]["containers"][0]["args"] == ["echo on all && echo on the head"]
    assert made["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["args"] == ["echo of this type"]
    assert made["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert made["workerGroupSpecs"][0]["rayStartParams"]["resources"] == '"{\\"foo\\": 2}"'
    del given["available_node_types"]["worker"]["worker_setup_commands"]
    assert cluster(convert(given))["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["args"] == ["echo on all"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"cluster_name": "x", "provider": {"type": "aws"}}, "'aws' does not run on Kubernetes"),
        ({"cluster_name": "x", "provider": {"type": "kuberay"}}, "tells the autoscaler"),
        ({"cluster_name": "x", "provider": {"type": "kubernetes"}}, "nothing of any Pod"),
        ({"provider": {"type": "kubernetes"}, "available_node_types": {"a": {}}, "head_node_type": "b"}, "none of available_node_types"),
        ({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"extensions": [], "head": {}}}, "the first operator of 2019"),
        (resource(headPodType="other"), "spec.headPodType"),
        (resource(kind("w", {"spec": {"containers": []}})), "spec.podTypes[1].podConfig.spec.containers: it has none"),
        (resource(kind("w", minWorkers=-1)), "spec.podTypes[1].minWorkers"),
        (resource(kind("w", rayResources={"CPU": 0.5})), "spec.podTypes[1].rayResources.CPU"),
        (resource(kind("w", limits(memory="much"))), "no quantity"),
        (resource(podTypes=[kind("head", pod(image="rayproject/ray:1.9.2"))]), "older than 1.11"),
        ({"apiVersion": "ray.io/v1alpha1", "kind": "RayThing"}, "no kind RayThing"),
    ],
)
def test_what_cannot_be_converted_says_why(given: Obj, told: str) -> None:
    with pytest.raises(Inconvertible) as caught:
        convert(given)
    assert told in str(caught.value)


def test_fields_of_the_first_api_version_are_lost_by_name() -> None:
    spec = {"rayClusterConfig": example("v1alpha1")["spec"], "serveDeploymentGraphSpec": {"importPath": "a"}}
    found = convert({"apiVersion": "ray.io/v1alpha1", "kind": "RayService", "metadata": {"name": "s"}, "spec": spec, "status": {}})
    assert cluster(found)["apiVersion"] == "ray.io/v1" and "status" not in cluster(found)
    assert lost(found) == ["spec.serveDeploymentGraphSpec"]
    assert "replicas" not in cluster(found)["spec"]["rayClusterConfig"]["headGroupSpec"]


def alpha(kind: str, **spec: Any) -> Converted:
    return convert({"apiVersion": "ray.io/v1alpha1", "kind": kind, "metadata": {"name": "a"}, "spec": spec})


@pytest.mark.parametrize(
    ("given", "said", "lost_at"),
    [
        ({"runtimeEnv": "e30="}, "{}", []),
        ({"runtimeEnv": "e30=", "runtimeEnvYAML": "pip: [a]"}, "pip: [a]", ["spec.runtimeEnv"]),
        ({"runtimeEnv": "{}"}, "", ["spec.runtimeEnv"]),
        ({"runtimeEnv": "cGlwOiBbYV0="}, "", ["spec.runtimeEnv"]),
        ({"runtimeEnv": "/w=="}, "", ["spec.runtimeEnv"]),
        ({"runtimeEnv": {"pip": []}}, None, ["spec.runtimeEnv"]),
        ({}, None, []),
    ],
)
def test_a_runtime_environment_in_base64_is_written_out(given: Obj, said: str | None, lost_at: list[str]) -> None:
    found = alpha("RayJob", entrypoint="true", **given)
    assert (cluster(found)["spec"].get("runtimeEnvYAML"), lost(found)) == (said, lost_at)


def served(**config: Any) -> tuple[Any, list[str]]:
    """What is deployed, or what is wrong with the text; and what was lost."""
    found = alpha("RayService", serveConfig=config)
    read = read_config(cluster(found)["spec"]["serveConfigV2"])
    return (read.document if isinstance(read, ServeConfig) else [fault.value for fault in read]), lost(found)


def test_a_serve_config_of_the_first_api_version_is_one_application() -> None:
    text = "a:\n- 1\n- |\n  two\n\n  lines\n"
    assert served(importPath="m:app", deployments=[{"name": "x", "userConfig": text}, {"name": "y", "routePrefix": "/y"}]) == (
        {
            "applications": [
                {
                    "name": "default",
                    "route_prefix": "/y",
                    "import_path": "m:app",
                    "deployments": [{"name": "x", "user_config": {"a": [1, "two\n\nlines\n"]}}, {"name": "y"}],
                }
            ]
        },
        [],
    )
    assert served(importPath="m:app", deployments=[{"name": "x", "routePrefix": "/x"}, {"name": "y", "routePrefix": "/y"}])[1] == [
        "spec.serveConfig.deployments"
    ]
    assert served(importPath="m:app", runtimeEnv="a: [")[0][0].startswith("is no YAML")
    assert served(importPath="m:app", deployments=["x", {}], runtimeEnv="  ")[0]["applications"][0]["deployments"] == [{}]
    both = alpha("RayService", serveConfig={"importPath": "m:app"}, serveConfigV2="applications: []")
    assert (cluster(both)["spec"], lost(both)) == ({"serveConfigV2": "applications: []"}, ["spec.serveConfig"])
