"""Real clients, through either server: what kubectl shows and does, verb by verb, and the client of Python's users."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.build import binary
from tests.conformance.cases.scales import FERRIES
from tests.e2e.servers import Site
from tests.kubelet.kubectl import Kubectl
from tests.kubelet.world import FOR_EVER, pod
from tests.local.fleet import idle_cluster
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.namespaces, pytest.mark.testbed]


@pytest.fixture(scope="module")
def shell(site: Site) -> Kubectl:
    if not binary().exists():
        pytest.skip("kubectl is not built; build it with: make testbed")
    return Kubectl(site.server.admin_kubeconfig(), site.server.directory)


@pytest.fixture
def settings(shell: Kubectl) -> Iterator[str]:
    """A ConfigMap made by kubectl create."""
    assert shell.kubectl("create", "configmap", "settings", "--from-literal=k=v", "--from-literal=l=w") == "configmap/settings created\n"
    yield "settings"
    assert shell.kubectl("delete", "configmap", "settings") == 'configmap "settings" deleted from default namespace\n'


@pytest.fixture(scope="module")
def worker(shell: Kubectl) -> Iterator[str]:
    """A Pod that has begun anew once, with a file in its volume."""
    once = "if [ ! -e /v/been ]; then echo first life; touch /v/been; exit 1; fi; echo second life; "
    spec = pod(once + FOR_EVER, "worker", labels={"app": "w"}, volumes=[{"name": "v", "emptyDir": {}}])
    spec["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    shell.kubectl("create", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "Pod", **spec}))
    shell.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/worker", "--timeout=300s")
    shell.kubectl("wait", "--for=condition=Ready", "pod/worker", "--timeout=300s")
    yield "worker"
    shell.kubectl("delete", "pod", "worker", "--grace-period=1", "--timeout=300s")


@pytest.fixture(scope="module")
def cluster(shell: Kubectl) -> Iterator[str]:
    shell.kubectl("apply", "-f", "-", text=json.dumps(idle_cluster("shown", workers=0)))
    shell.kubectl("wait", "--for=jsonpath={.status.state}=ready", "raycluster/shown", "--timeout=300s")
    yield "shown"
    shell.kubectl("delete", "raycluster", "shown", "--timeout=300s")
    shell.kubectl("wait", "--for=delete", "pods", "-l", "ray.io/cluster=shown", "--timeout=300s")


def test_get_in_every_form(shell: Kubectl, cluster: str) -> None:
    header, row = shell.kubectl("get", "rayclusters").splitlines()
    assert header.split()[:3] == ["NAME", "DESIRED", "WORKERS"]
    assert row.split()[0] == "shown"
    assert len(shell.kubectl("get", "raycluster", cluster, "-o", "wide").splitlines()[0].split()) > len(header.split())
    assert shell.kubectl("get", "raycluster", cluster, "-o", "name") == "raycluster.ray.io/shown\n"
    assert shell.kubectl("get", "raycluster", cluster, "-o", "jsonpath={.spec.rayVersion}") == "2.60.0"
    assert json.loads(shell.kubectl("get", "raycluster", cluster, "-o", "json"))["kind"] == "RayCluster"
    assert "\nkind: RayCluster\n" in shell.kubectl("get", "raycluster", cluster, "-o", "yaml")
    custom = "custom-columns=NAME:.metadata.name,STATE:.status.state"
    assert shell.kubectl("get", "rayclusters", "-o", custom).split() == ["NAME", "STATE", "shown", "ready"]
    pods = shell.kubectl("get", "pods", "-l", "ray.io/cluster=shown", "--sort-by=.metadata.name", "-o", "wide", "--show-labels")
    assert [line.split()[1:3] for line in pods.splitlines()[1:]] == [["1/1", "Running"]]
    everything = shell.kubectl("get", "all", "-l", "ray.io/cluster=shown", "-o", "name").split()
    assert "service/shown-head-svc" in everything
    assert shell.kubectl("get", "pods,services", "-A", "-l", "ray.io/cluster=shown", "--no-headers").count("shown") == 2


def test_get_that_watches(shell: Kubectl, settings: str) -> None:
    with shell.popen("get", "configmap", settings, "--watch", "-o", "jsonpath={.data.k}{' '}") as watching:
        assert watching.stdout is not None
        try:
            assert watching.stdout.read(2) == "v "
            shell.kubectl("patch", "configmap", settings, "-p", '{"data":{"k":"changed"}}')
            assert watching.stdout.read(8) == "changed "
        finally:
            watching.kill()


def test_describe(shell: Kubectl, cluster: str, worker: str) -> None:
    described = shell.kubectl("describe", "raycluster", cluster)
    assert "RayClusterProvisioned" in described
    assert "CreatedHeadPod" in described
    told = shell.kubectl("describe", "pod", worker)
    assert re.search(r"Last State: +Terminated\n +Reason: +Error\n +Exit Code: +1", told)
    assert "Restart Count:  1" in told
    assert "local" in shell.kubectl("describe", "node", "local")


def test_patch_label_annotate_and_wait(shell: Kubectl, settings: str) -> None:
    what = ("configmap", settings)
    assert shell.kubectl("patch", *what, "--type=json", "-p", '[{"op":"remove","path":"/data/l"}]').endswith("patched\n")
    assert shell.kubectl("patch", *what, "--type=merge", "-p", '{"data":{"m":"x"}}').endswith("patched\n")
    assert shell.kubectl("label", *what, "team=a", "tier=b").endswith("labeled\n")
    assert "already has a value (a)" in shell.kubectl("label", *what, "team=c", code=1)
    assert shell.kubectl("label", *what, "team=c", "tier-", "--overwrite") == "configmap/settings modified\n"
    assert shell.kubectl("annotate", *what, "why=because").endswith("annotated\n")
    found = json.loads(shell.kubectl("get", *what, "-o", "json"))
    assert (found["data"], found["metadata"]["labels"]) == ({"k": "v", "m": "x"}, {"team": "c"})
    assert found["metadata"]["annotations"] == {"why": "because"}
    assert shell.kubectl("wait", "--for=jsonpath={.data.m}=x", "configmap/settings", "--timeout=300s").endswith("condition met\n")
    assert "timed out" in shell.kubectl("wait", "--for=jsonpath={.data.m}=y", "configmap/settings", "--timeout=1s", code=1)


def test_edit(shell: Kubectl, settings: str, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/k: v/k: edited/' \"$1\"\n")
    editor.chmod(0o755)
    environ = shell.environ()
    shell.environ = lambda: {**environ, "KUBE_EDITOR": str(editor)}  # type: ignore[method-assign]
    try:
        assert shell.kubectl("edit", "configmap", settings) == "configmap/settings edited\n"
    finally:
        del shell.environ  # type: ignore[attr-defined]
    assert shell.kubectl("get", "configmap", settings, "-o", "jsonpath={.data.k}") == "edited"


def a_map(**data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data})


def test_apply_on_either_side(shell: Kubectl) -> None:
    assert shell.kubectl("apply", "-f", "-", text=a_map(k="v", l="w")) == "configmap/applied created\n"
    assert shell.kubectl("apply", "-f", "-", text=a_map(k="v", l="w")) == "configmap/applied unchanged\n"
    differences = shell.kubectl("diff", "-f", "-", text=a_map(k="x"), code=None)
    assert re.search(r"^-  k: v$", differences, re.M) and re.search(r"^\+  k: x$", differences, re.M)
    assert shell.kubectl("apply", "-f", "-", text=a_map(k="x")) == "configmap/applied configured\n"
    server_side = ("apply", "--server-side", "-f", "-")
    assert shell.kubectl(*server_side, text=a_map(k="y")) == "configmap/applied serverside-applied\n"
    assert shell.kubectl("patch", "configmap", "applied", "-p", '{"data":{"k":"mine"}}', "--field-manager=me").endswith("patched\n")
    assert 'conflict with "me"' in shell.kubectl(*server_side, text=a_map(k="z"), code=1)
    assert shell.kubectl(*server_side, "--force-conflicts", text=a_map(k="z")) == "configmap/applied serverside-applied\n"
    assert json.loads(shell.kubectl("get", "configmap", "applied", "-o", "json"))["data"] == {"k": "z"}
    shell.kubectl("delete", "configmap", "applied")


def test_scale(shell: Kubectl) -> None:
    shell.kubectl("create", "-f", "-", text=json.dumps(FERRIES))
    shell.kubectl("wait", "--for=condition=Established", "crd/ferries.scale.example", "--timeout=300s")
    ferry = {"apiVersion": "scale.example/v1", "kind": "Ferry", "metadata": {"name": "a"}, "spec": {"crew": {"number": 3}}}
    eventually(lambda: "created" in shell.kubectl("create", "-f", "-", text=json.dumps(ferry), code=None), 20.0, "it is served")
    assert shell.kubectl("scale", "ferry", "a", "--replicas=5").endswith(" scaled\n")
    assert "Expected replicas to be 3" in shell.kubectl("scale", "ferry", "a", "--replicas=6", "--current-replicas=3", code=1)
    assert shell.kubectl("scale", "ferries.scale.example/a", "--replicas=4", "--current-replicas=5").endswith(" scaled\n")
    assert shell.kubectl("get", "ferry", "a", "-o", "jsonpath={.spec.crew.number}") == "4"
    assert "spec.crew.number" in shell.kubectl("scale", "ferry", "a", "--replicas=99", code=1)
    shell.kubectl("delete", "crd", "ferries.scale.example")


def test_explain_and_what_is_served(shell: Kubectl) -> None:
    told = shell.kubectl("explain", "raycluster.spec.workerGroupSpecs.maxReplicas")
    assert "FIELD: maxReplicas <integer>" in told
    served = shell.kubectl("api-resources", "--api-group=ray.io", "-o", "name").split()
    assert {"rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io"} <= set(served)
    assert "ray.io/v1" in shell.kubectl("api-versions").split()


def test_logs_of_both_lives_and_as_they_come(shell: Kubectl, worker: str) -> None:
    assert shell.kubectl("logs", worker) == "second life\n"
    assert shell.kubectl("logs", worker, "--previous") == "first life\n"
    assert shell.kubectl("logs", "-l", "app=w", "--prefix", "-c", "main") == "[pod/worker/main] second life\n"
    with shell.popen("logs", "-f", worker) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "second life\n"
        shell.kubectl("exec", worker, "--", "sh", "-c", "echo more > /proc/1/fd/1")
        assert following.stdout.readline() == "more\n"
        following.kill()


def test_files_are_copied_both_ways(shell: Kubectl, worker: str, tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(bytes(range(256)) * 1000)
    shell.kubectl("cp", str(tmp_path / "sent"), f"{worker}:/v/sent")
    shell.kubectl("cp", f"{worker}:/v/sent", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (tmp_path / "sent").read_bytes()


def test_events(shell: Kubectl, worker: str) -> None:
    told = shell.kubectl("events", "--for", f"pod/{worker}")
    assert {"Started", "BackOff"} & set(told.split())


def test_tokens_and_rights(shell: Kubectl) -> None:
    shell.kubectl("create", "serviceaccount", "reader")
    shell.kubectl("create", "role", "reads", "--verb=get,list", "--resource=pods")
    shell.kubectl("create", "rolebinding", "reads", "--role=reads", "--serviceaccount=default:reader")
    who = "--as=system:serviceaccount:default:reader"
    assert eventually(lambda: shell.kubectl("auth", "can-i", "list", "pods", who, code=None), 10.0, "an answer") == "yes\n"
    assert shell.kubectl("auth", "can-i", "delete", "pods", who, code=None) == "no\n"
    assert shell.kubectl("auth", "can-i", "delete", "pods") == "yes\n"
    token = shell.kubectl("create", "token", "reader", "--duration=10m").strip()
    assert token.count(".") == 2
    mine = (f"--token={token}", "--kubeconfig", str(without_user(shell)))
    assert json.loads(shell.kubectl("get", "pods", "-o", "json", *mine))["kind"] == "List"
    assert "forbidden" in shell.kubectl("get", "secrets", *mine, code=1).lower()
    for what in ("rolebinding/reads", "role/reads", "serviceaccount/reader"):
        shell.kubectl("delete", what)


def without_user(shell: Kubectl) -> Path:
    """A kubeconfig that only leads to the server: certificates of an admin would count before a token."""
    told: dict[str, Any] = json.loads(shell.kubectl("config", "view", "--raw", "-o", "json"))
    path = shell.home / "nobody.kubeconfig"
    path.write_text(json.dumps({**told, "users": [{"name": user["name"], "user": {}} for user in told["users"]]}))
    return path


def test_the_python_client(shell: Kubectl, worker: str) -> None:
    """Typed and dynamic objects, a watch, and a stream."""
    import kubernetes
    from kubernetes.dynamic import DynamicClient
    from kubernetes.stream import stream

    client = kubernetes.config.new_client_from_config(str(shell.kubeconfig))
    core = kubernetes.client.CoreV1Api(client)
    assert core.read_namespaced_pod(worker, "default").status.phase == "Running"
    body = kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name="typed"), data={"k": "v"})
    made = core.create_namespaced_config_map("default", body)
    seen = kubernetes.watch.Watch()
    names = []
    for event in seen.stream(core.list_namespaced_config_map, "default", resource_version="0", timeout_seconds=20):
        names.append(event["object"].metadata.name)
        if names[-1] == "typed":
            seen.stop()
    assert "typed" in names
    assert core.patch_namespaced_config_map("typed", "default", {"data": {"k": "w"}}).data == {"k": "w"}
    core.delete_namespaced_config_map("typed", "default", body=kubernetes.client.V1DeleteOptions(preconditions={"uid": made.metadata.uid}))
    kinds = DynamicClient(client).resources
    found = kinds.get(api_version="ray.io/v1", kind="RayCluster").get(namespace="default")
    assert found.kind == "RayClusterList"
    said = stream(core.connect_get_namespaced_pod_exec, worker, "default", command=["echo", "hello"], stdout=True)
    assert said == "hello\n"
    with pytest.raises(kubernetes.client.ApiException) as refused:
        core.read_namespaced_secret("none", "default")
    assert refused.value.status == 404
