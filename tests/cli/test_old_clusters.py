"""RayClusters of `cluster.ray.io` beside a real operator on the embedded API: adopted, run, changed, and gone with all that was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.crds import crds
from rayfleet.api.legacy.definition import old_crd
from rayfleet.cli.output import dump_yaml
from tests.cli.conftest import Run
from tests.cli.test_run import Start, answer, free_port, kubeconfig, start
from tests.local.waiting import eventually

__all__ = ["free_port", "kubeconfig", "start"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "legacy" / "resource.yaml"
OLD = "rayclusters.cluster.ray.io"


def test_an_old_cluster_is_adopted_runs_is_changed_and_goes(command: Run, kubeconfig: str, start: Start, free_port: int) -> None:
    """Its definition comes when the operator is there already."""

    def run(*words: str, text: str = "") -> str:
        done = command(*words, "--kubeconfig", kubeconfig, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def old(name: str = "old") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run("get", OLD, name, "-o", "json"))
        return found

    def phase() -> str:
        return str((old().get("status") or {}).get("phase", ""))

    run("apply", "-f", "-", text="---\n".join(map(dump_yaml, crds())))
    start("run", "--listen", f"127.0.0.1:{free_port}")
    eventually(lambda: answer(free_port, "/readyz"), 20.0, "the operator has seen what there is")
    run("apply", "-f", "-", text=dump_yaml(old_crd()))
    run("apply", "-f", str(EXAMPLE))
    start("hollow-kubelet", "--delay", "0.05")
    eventually(lambda: phase() == "Running", 40.0, "the old object says Running")
    meta = old()["metadata"]
    assert not meta.get("finalizers") and not any(name.startswith("kopf") for name in meta.get("annotations", {}))
    made = json.loads(run("get", "rayclusters", "old", "-o", "json"))
    assert made["apiVersion"] == "ray.io/v1" and made["metadata"]["ownerReferences"][0]["uid"] == meta["uid"]
    table = run("get", OLD)
    assert "RESTARTS" in table and "Running" in table
    service = json.loads(run("get", "services", "old-ray-head", "-o", "json"))
    (head,) = json.loads(run("get", "pods", "-l", "ray.io/node-type=head", "-o", "json"))["items"]
    assert service["spec"]["selector"].items() <= head["metadata"]["labels"].items()

    run("apply", "-f", "-", text=EXAMPLE.read_text().replace("minWorkers: 1", "minWorkers: 2"))
    eventually(lambda: json.loads(run("get", "rayclusters", "old", "-o", "json"))["spec"]["workerGroupSpecs"][0]["minReplicas"] == 2, 20.0)
    eventually(lambda: phase() == "Running", 20.0, "the old object says Running again")

    run("delete", OLD, "old")
    eventually(lambda: "No" in command("get", "rayclusters", "--kubeconfig", kubeconfig).stderr, 30.0, "the cluster is gone")
    eventually(lambda: "No" in command("get", "pods", "--kubeconfig", kubeconfig).stderr, 30.0, "its Pods are gone")
    assert "old-ray-head" not in run("get", "services")


def test_without_the_definition_nobody_asks_for_them_and_the_definition_can_be_printed(command: Run) -> None:
    shown = command("crds", "--old")
    assert shown.returncode == 0 and "rayclusters.cluster.ray.io" in shown.stdout


@pytest.mark.parametrize("served", [True, False])
def test_the_kind_is_there_where_it_is_served(served: bool) -> None:
    from rayfleet.api.config import Configuration
    from rayfleet.api.meta import OLD_RAYCLUSTERS
    from rayfleet.controllers import kinds_of

    kinds = kinds_of(Configuration(has_old_clusters=served))
    assert (OLD_RAYCLUSTERS in {kind.resource for kind in kinds}) == served
