"""render and plan: what would be done, without doing it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from rayfleet.cli.output import FORMS, dump_yaml
from rayfleet.sim.service_specs import cluster_spec, document
from tests.cli.conftest import Run

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "two-clusters.yaml")
Invoke = Callable[..., Result]
JOB = {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec()}
SPECS = {
    "RayService": document()["spec"],
    "RayJob": JOB,
    "RayCronJob": {"schedule": "0 3 * * *", "jobTemplate": JOB},
}
OTHERS = "---\n".join(
    dump_yaml({"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": kind.lower()}, "spec": spec}) for kind, spec in SPECS.items()
)


def test_render_prints_every_object_of_every_cluster_as_it_would_be_sent(invoke: Invoke) -> None:
    shown = invoke("render", "-f", EXAMPLE)
    assert shown.exit_code == 0, shown.output
    objects = list(yaml.safe_load_all(shown.output))
    assert [each["kind"] for each in objects].count("Pod") == 5
    assert {each["metadata"]["name"] for each in objects if each["kind"] == "Service"} == {"one-head-svc", "two-head-svc"}
    assert all(each["metadata"]["ownerReferences"] for each in objects)


def test_render_is_the_same_every_time(invoke: Invoke) -> None:
    assert invoke("render", "-f", EXAMPLE).output == invoke("render", "-f", EXAMPLE).output


def test_render_takes_the_operators_configuration(invoke: Invoke, tmp_path: Path) -> None:
    config = tmp_path / "operator.yaml"
    config.write_text("enableInitContainerInjection: false\n")
    assert "initContainers" in invoke("render", "-f", EXAMPLE).output
    assert "initContainers" not in invoke("render", "-f", EXAMPLE, "--config", str(config)).output


def test_a_spec_that_the_operator_would_refuse_fails_render_with_the_fields_path(invoke: Invoke) -> None:
    text = Path(EXAMPLE).read_text().replace("groupName: small", "groupName: ''")
    shown = invoke("render", "-f", "-", input=text)
    assert shown.exit_code == 1
    assert "spec.workerGroupSpecs[0].groupName" in shown.output


def test_a_file_without_a_raycluster_is_told(invoke: Invoke) -> None:
    shown = invoke("render", "-f", "-", input="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert shown.exit_code == 1
    assert "no RayCluster" in shown.output


def test_plan_says_what_would_be_done_first_and_why(invoke: Invoke) -> None:
    shown = invoke("plan", "-f", EXAMPLE, "-n", "team").output
    assert "raycluster team/one\n" in shown
    assert "create pod/one-head-" in shown
    assert "because the cluster has no head Pod" in shown


def test_render_as_json_of_a_wrong_spec_is_an_empty_list_with_every_fault_on_standard_error(command: Run) -> None:
    text = Path(EXAMPLE).read_text().replace("groupName: small", "groupName: ''").replace("minReplicas: 1", "minReplicas: -1")
    shown = command("render", "-f", "-", "-o", "json", text=text)
    assert (shown.returncode, shown.stdout) == (1, "[]\n")
    for path in ("workerGroupSpecs[0].groupName: is empty", "workerGroupSpecs[0].minReplicas: -1 is negative"):
        assert path in shown.stderr


def test_render_and_plan_take_the_environment_as_the_operator_does(invoke: Invoke) -> None:
    for command in ("render", "plan"):
        assert "one-head\n" in invoke(command, "-f", EXAMPLE, env={"ENABLE_DETERMINISTIC_HEAD_POD_NAME": "true"}).output
        wrong = invoke(command, "-f", EXAMPLE, env={"ENABLE_DETERMINISTIC_HEAD_POD_NAME": "perhaps"})
        assert wrong.exit_code == 2 and "ENABLE_DETERMINISTIC_HEAD_POD_NAME: 'perhaps'; it must be true or false" in wrong.output


def test_admission_policies_are_printed_in_place_of_the_crds(invoke: Invoke) -> None:
    kinds = ("rayclusters", "rayservices", "rayjobs", "raycronjobs")
    for words, names in (
        (("--policies",), [f"{kind}.rayfleet.dev" for kind in kinds]),
        (("--policies", "rights"), ["rights.rayfleet.dev"]),
    ):
        found = list(yaml.safe_load_all(invoke("crds", *words).output))
        pairs = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        assert [(each["kind"], each["metadata"]["name"]) for each in found] == [(kind, name) for name in names for kind in pairs]
    assert "CustomResourceDefinition" in invoke("crds").output


def test_every_kind_is_rendered_and_planned(invoke: Invoke) -> None:
    shown = invoke("render", "-f", "-", "--now", "2026-12-24T00:00:00Z", input=OTHERS)
    assert shown.exit_code == 0, shown.output
    owners = {(each["kind"], each["metadata"]["ownerReferences"][0]["kind"]) for each in yaml.safe_load_all(shown.output)}
    made = {("RayCluster", "RayService"), ("RayCluster", "RayJob"), ("RayJob", "RayCronJob"), ("Job", "RayJob"), ("Service", "RayService")}
    assert made <= owners
    assert invoke("plan", "-f", "-", "--now", "2026-12-24T00:00:00Z", input=OTHERS).output.splitlines() == [
        "rayservice default/rayservice",
        "  hold rayservice/rayservice with ray.io/rayservice-finalizer",
        "      because its clusters go first",
        "  status Ready=False (Initializing); RollbackInProgress=False (NoPendingCluster); Suspended=False (NotSuspended); "
        "Suspending=False (NotSuspended); UpgradeInProgress=False (Initializing); observedGeneration=1",
        "rayjob default/rayjob",
        "  hold rayjob/rayjob with ray.io/rayjob-finalizer",
        "      because its Ray job is to be stopped when it goes",
        "raycronjob default/raycronjob",
        "  look again at 2026-12-24T03:00:00Z",
        "  note: the operator looks after no RayCronJob unless it is started with --feature-gates RayCronJob=true",
    ]


@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_plan_is_given_to_programs(invoke: Invoke, form: str, load: Callable[[str], Any]) -> None:
    assert set(FORMS) == {"json", "yaml"}
    shown = load(invoke("plan", "-f", "-", "-o", form, input=OTHERS).output)
    assert [each["kind"] for each in shown] == list(SPECS)
    assert shown[0]["actions"][0]["why"] == "its clusters go first"
    assert shown[2]["looksAgain"].endswith("T03:00:00Z")


def test_a_time_that_is_none_is_told(invoke: Invoke) -> None:
    assert "'tomorrow' is no time; write it as" in invoke("plan", "-f", EXAMPLE, "--now", "tomorrow").output
