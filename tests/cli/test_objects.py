"""apply, get, delete, scale, logs: against the embedded API server, as a user types them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from rayfleet.api.crds import crds
from rayfleet.cli.output import dump_yaml
from tests.cli.api import api_server

Type = Callable[..., Result]
EXAMPLE = Path(__file__).parents[2] / "examples" / "two-clusters.yaml"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {k: %s}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with api_server(tmp_path_factory.mktemp("api")) as path:
        yield path


@pytest.fixture
def typed(invoke: Type, server: Path) -> Iterator[Type]:
    """A command, its last words naming the API server; what it made is deleted afterwards."""

    def run(*words: str, text: str = "", code: int = 0) -> Result:
        result = invoke(*words, "--kubeconfig", str(server), input=text)
        assert result.exit_code == code, (words, result.output, result.exception)
        return result

    run("apply", "-f", "-", text="---\n".join(map(dump_yaml, crds())))
    yield run
    for kind in ("rayclusters", "configmaps", "pods"):
        run("delete", kind, "--all")


def test_apply_says_created_then_unchanged_then_configured(typed: Type) -> None:
    assert typed("apply", "-f", "-", text=MAP % ("a", "'1'")).output == "configmap/a created\n"
    assert typed("apply", "-f", "-", text=MAP % ("a", "'1'")).output == "configmap/a unchanged\n"
    assert typed("apply", "-f", "-", text=MAP % ("a", "'2'")).output == "configmap/a configured\n"
    assert json.loads(typed("get", "cm", "a", "-o", "json").output)["data"] == {"k": "2"}


def test_the_example_is_applied_and_listed_with_the_kinds_own_columns(typed: Type) -> None:
    assert typed("apply", "-f", str(EXAMPLE)).output == "raycluster.ray.io/one created\nraycluster.ray.io/two created\n"
    shown = typed("get").output
    assert shown.splitlines()[0].startswith("NAME   DESIRED WORKERS")
    assert "one" in shown and "two" in shown
    assert typed("get", "-A").output.startswith("NAMESPACE")


def test_applying_a_second_time_writes_nothing(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    before = json.loads(typed("get", "raycluster/one", "-o", "json").output)["metadata"]["resourceVersion"]
    assert typed("apply", "-f", str(EXAMPLE)).output.count("unchanged") == 2
    assert json.loads(typed("get", "raycluster/one", "-o", "json").output)["metadata"]["resourceVersion"] == before


def test_a_live_export_can_be_applied_again_also_after_a_deletion(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    exported = typed("get", "rayclusters", "-o", "yaml").output
    assert "uid:" in exported
    typed("apply", "-f", "-", text=exported)
    typed("delete", "rayclusters", "--all")
    assert typed("apply", "-f", "-", text=exported).output.count("created") == 2


def test_one_object_that_is_refused_does_not_stop_the_others_and_is_told_with_its_place(typed: Type) -> None:
    wrong = "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: bad}\nspec: {headGroupSpec: 5}\n"
    result = typed("apply", "-f", "-", text=f"{MAP % ('a', 'x')}---\n{wrong}---\n{MAP % ('b', 'x')}", code=1)
    assert "configmap/a created" in result.output
    assert "configmap/b created" in result.output
    assert "standard input:6: RayCluster bad:" in result.output
    assert "headGroupSpec" in result.output


def test_a_field_nobody_knows_is_warned_of_with_the_one_that_was_perhaps_meant(typed: Type) -> None:
    text = EXAMPLE.read_text().replace("workerGroupSpecs:", "workerGroupSpec:", 1)
    assert "did you mean workerGroupSpecs?" in typed("apply", "-f", "-", text=text).output


def test_a_kind_that_is_not_served_points_to_its_crd(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayfleet.cli.apply.CRD_IN", 0.0)
    result = typed("apply", "-f", "-", text="apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: a}\n", code=1)
    assert "no kind Thing of x.io/v1" in result.output


def test_a_namespace_in_the_file_and_another_on_the_command_line_is_refused(typed: Type) -> None:
    text = (MAP % ("a", "x")).replace("name: a", "name: a, namespace: default")
    assert "the file says namespace default" in typed("apply", "-n", "other", "-f", "-", text=text, code=1).output


@pytest.mark.parametrize("words", [("cm", "a"), ("configmap", "a"), ("configmaps/a",), ("ConfigMap", "a")], ids=" ".join)
def test_an_object_is_found_by_every_usual_word(typed: Type, words: tuple[str, ...]) -> None:
    typed("apply", "-f", "-", text=MAP % ("a", "x"))
    assert typed("get", *words, "-o", "name").output == "configmap/a\n"


def test_a_word_that_is_no_type_names_the_nearest(typed: Type) -> None:
    assert "did you mean rayclusters?" in typed("get", "raycluters", code=1).output


def test_yaml_of_one_name_is_the_object_and_of_many_a_list(typed: Type) -> None:
    typed("apply", "-f", "-", text=f"{MAP % ('a', 'x')}---\n{MAP % ('b', 'x')}")
    assert yaml.safe_load(typed("get", "cm", "a", "-o", "yaml").output)["kind"] == "ConfigMap"
    many = yaml.safe_load(typed("get", "cm", "-o", "yaml").output)
    assert many["kind"] == "List"
    assert {item["metadata"]["name"] for item in many["items"]} >= {"a", "b"}
    assert all(item["kind"] == "ConfigMap" for item in many["items"])


def test_several_types_at_once_have_a_table_each_and_say_which_is_which(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    typed("apply", "-f", "-", text=MAP % ("a", "x"))
    shown = typed("get", "rayclusters,configmaps").output
    assert "raycluster.ray.io/one" in shown and "configmap/a" in shown


def test_of_two_names_the_one_that_is_there_is_shown_and_the_other_fails_the_command(typed: Type) -> None:
    typed("apply", "-f", "-", text=MAP % ("a", "x"))
    shown = typed("get", "cm", "a", "nobody", code=1).output
    assert "\na " in shown and "nobody" in shown


def test_nothing_found_is_said_and_is_no_failure(typed: Type) -> None:
    assert "No rayclusters in namespace default" in typed("get", "rayclusters").output


def test_labels_choose(typed: Type) -> None:
    typed("apply", "-f", "-", text=(MAP % ("a", "x")).replace("name: a", "name: a, labels: {colour: red}"))
    assert "a" in typed("get", "cm", "-l", "colour=red", "-o", "name").output
    assert typed("get", "cm", "-l", "colour=blue", "-o", "name").output.startswith("No cm")


def test_deleting_waits_until_the_object_is_gone_and_says_so(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    assert typed("delete", "-f", str(EXAMPLE)).output == "raycluster.ray.io/two deleted\nraycluster.ray.io/one deleted\n"
    assert "is not there" in typed("delete", "raycluster", "one", code=1).output
    typed("delete", "raycluster", "one", "--ignore-not-found")


def test_deleting_a_type_without_a_name_needs_all(typed: Type) -> None:
    assert "--all" in typed("delete", "rayclusters", code=2).output


def test_an_object_that_a_finalizer_holds_is_told_after_the_timeout(typed: Type) -> None:
    typed("apply", "-f", "-", text=(MAP % ("held", "x")).replace("name: held", "name: held, finalizers: [test/hold]"))
    assert "finalizer" in typed("delete", "cm", "held", "--timeout", "0.3", code=1).output
    typed("apply", "-f", "-", text=(MAP % ("held", "x")).replace("name: held", "name: held, finalizers: []"))


def test_scaling_changes_one_group_and_nothing_else(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    before = json.loads(typed("get", "raycluster", "one", "-o", "json").output)["spec"]
    assert typed("scale", "raycluster/one", "--replicas", "4").output == "raycluster.ray.io/one scaled: group small to 4\n"
    after = json.loads(typed("get", "raycluster", "one", "-o", "json").output)["spec"]
    before["workerGroupSpecs"][0]["replicas"] = 4
    assert after == before


def test_the_log_of_a_pod_that_is_not_there_is_a_failure_in_one_line(typed: Type) -> None:
    assert 'pods "nobody" not found' in str(typed("logs", "nobody", code=1).exception)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("autoscaler", "oen"), "there is no raycluster oen in namespace default; did you mean one?"),
        (("token", "oen"), "there is no raycluster oen in namespace default; did you mean one?"),
        (("service", "status", "shop"), "there is no rayservice shop in namespace default, nor any other"),
    ],
)
def test_a_name_that_nothing_has_is_answered_with_those_that_are_near(typed: Type, words: tuple[str, ...], told: str) -> None:
    typed("apply", "-f", str(EXAMPLE))
    assert told in typed(*words, code=1).output


def test_the_story_of_a_cluster_comes_from_its_events(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    assert "Nothing was done for raycluster/one yet" in typed("logs", "raycluster/one").output
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "one.1", "namespace": "default"},
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "regarding": {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "one", "namespace": "default"},
        "type": "Normal",
        "reason": "CreatedHeadPod",
        "action": "Create",
        "note": "Created head Pod one-head-x: the cluster has no head Pod",
        "reportingController": "test",
        "reportingInstance": "test-1",
    }
    typed("apply", "-f", "-", text=json.dumps(event))
    assert "CreatedHeadPod: Created head Pod one-head-x" in typed("logs", "raycluster/one").output
    typed("delete", "events.events.k8s.io", "one.1", code=0)


def test_status_lists_clusters_of_any_api_server(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    rows = json.loads(typed("status", "-o", "json").output)["clusters"]
    assert [(row["name"], row["state"]) for row in rows] == [("one", "starting"), ("two", "starting")]


def test_a_live_plan_starts_from_what_is_there_and_changes_nothing(typed: Type) -> None:
    typed("apply", "-f", str(EXAMPLE))
    before = typed("get", "raycluster/one", "-o", "json").output
    changed = EXAMPLE.read_text().replace("replicas: 2\n", "replicas: 1\n", 1)
    told = typed("plan", "--live", "-f", "-", text=changed).output
    assert "raycluster default/one" in told
    assert "because 0 of 1 replicas are there" in told
    assert typed("get", "raycluster/one", "-o", "json").output == before
