"""`migrate` against an embedded API with living clusters: what would change, what cannot be seen, and the steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from rayfleet.api.crds import crds
from rayfleet.cli.output import dump_yaml
from rayfleet.cli.takeover_steps import Deployed, lines_of, steps
from tests.cli.api import api_server
from tests.cli.conftest import Run
from tests.cli.test_run import EXAMPLE, Start, start, workers_of
from tests.local.waiting import eventually

__all__ = ["start"]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with api_server(tmp_path) as path:
        yield str(path)


def test_living_clusters_are_judged_and_nothing_is_written(command: Run, kubeconfig: str, start: Start) -> None:
    def check(*words: str) -> tuple[int, str]:
        done = command("migrate", "check", "--kubeconfig", kubeconfig, *words)
        return done.returncode, done.stdout + done.stderr

    def apply(*objects: dict[str, Any], where: str = "default") -> None:
        done = command("apply", "-f", "-", "-n", where, "--kubeconfig", kubeconfig, text="---\n".join(map(dump_yaml, objects)))
        assert done.returncode == 0, done.stderr

    apply(*crds())
    two = list(yaml.safe_load_all(EXAMPLE.read_text()))
    two[0]["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    apply(*two)
    operator = start("run", "--no-leader-election")
    start("hollow-kubelet", "--delay", "0.05")
    eventually(lambda: workers_of(command, kubeconfig) == {"one": "ready 2/2", "two": "ready 1/1"}, 30.0)
    operator.kill()
    assert check() == (0, "2 RayClusters in 1 namespace: nothing would change\n")

    pods = json.loads(command("get", "pods", "-o", "json", "--kubeconfig", kubeconfig).stdout)["items"]
    (head,) = (pod for pod in pods if pod["metadata"]["name"].startswith("one-head"))
    apply({**head, "metadata": {**head["metadata"], "annotations": {"ray.io/kuberay-version": "v1.6.2"}}})
    code, shown = check()
    assert code == 0
    assert f"note: pod/{head['metadata']['name']} gets new annotations, once, and stays" in shown

    two[1]["spec"]["workerGroupSpecs"][0]["replicas"] = 2
    apply(two[1])
    code, shown = check("-A", "-o", "json")
    assert code == 1
    report = json.loads(shown)
    assert {case["name"]: [change["verb"] for change in case["changes"]] for case in report["clusters"]} == {
        "default/one": [],
        "default/two": ["create"],
    }
    assert check("-n", "elsewhere") == (0, "0 RayClusters in 0 namespaces: nothing would change\n")


def test_what_nobody_would_look_after_and_who_is_there_already_is_told(command: Run, kubeconfig: str) -> None:
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "kuberay-1", "leaseDurationSeconds": 60, "renewTime": stamp}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "ray-operator-leader"}, "spec": spec}
    cron = {"schedule": "0 1 * * *", "jobTemplate": {"entrypoint": "true"}}
    job = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": "nightly"}, "spec": cron}
    bad = next(yaml.safe_load_all(EXAMPLE.read_text()))
    bad["spec"]["workerGroupSpecs"][0]["minReplicas"] = 9999
    for body in (*crds(), lease, job, bad):
        assert command("apply", "-f", "-", "--kubeconfig", kubeconfig, text=dump_yaml(body)).returncode == 0
    done = command("migrate", "check", "-A", "--kubeconfig", kubeconfig)
    assert done.returncode == 1
    assert "operator: kuberay-1 holds the lease default/ray-operator-leader" in done.stdout
    assert "raycronjob default/nightly\n  because this version does not look after it" in done.stdout
    assert "refuse raycluster/one" in done.stdout and "spec.workerGroupSpecs[0].minReplicas" in done.stdout


def test_the_steps_name_what_is_there_and_lead_back() -> None:
    said = [line for each in steps([Deployed("ops", "peer", 2)], None) for line in each["commands"]]
    stop, go = (said.index(f"kubectl -n ops scale deployment/peer --replicas={count}") for count in (0, 2))
    install = said.index("kubectl apply -f deploy/rayfleet.yaml")
    end = said.index("kubectl -n rayfleet-system scale deployment/rayfleet --replicas=0")
    assert stop < install < end < go


def test_where_there_is_no_kuberay_the_steps_say_so(command: Run, kubeconfig: str) -> None:
    done = command("migrate", "plan", "-A", "-o", "yaml", "--kubeconfig", kubeconfig)
    assert done.returncode == 0
    assert "No Deployment carries KubeRay's labels" in yaml.safe_load(done.stdout)[1]["why"]


def test_one_namespace_leaves_kuberay_the_others() -> None:
    text = "\n".join(lines_of(steps([Deployed("ops", "peer", 2)], "team-a")))
    assert "kubectl -n ops annotate lease/ray-operator-leader rayfleet.dev/watches=ALL-BUT-TEAM-A" in text
    assert "python -m deploy.generate team-a | kubectl apply -f -" in text and "scale deployment/peer" not in text


def test_what_may_not_be_listed_is_said() -> None:
    assert "may not be read here" in steps(None, None)[1]["why"]
