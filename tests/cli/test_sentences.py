"""What commands make of objects: sentences, patches, columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rayfleet.cli.failure import Failure, explain
from rayfleet.cli.kinds import qualified, served
from rayfleet.cli.output import columns, dump_json, dump_yaml
from rayfleet.cli.scale import patch_of
from rayfleet.cli.standing import standing
from rayfleet.cli.story import told_by_event, told_by_log
from rayfleet.cli.table import render_table


def cluster(*groups: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "one", "namespace": "default", "generation": 2},
        "spec": {"workerGroupSpecs": list(groups)},
        "status": status,
    }


GROUP = {"groupName": "small", "replicas": 1, "minReplicas": 0, "maxReplicas": 4}


def test_scaling_tests_the_groups_name_before_it_writes_by_index() -> None:
    chosen, patch = patch_of(cluster({"groupName": "big"}, GROUP), "small", 3)
    assert chosen == "small"
    assert patch == [
        {"op": "test", "path": "/spec/workerGroupSpecs/1/groupName", "value": "small"},
        {"op": "add", "path": "/spec/workerGroupSpecs/1/replicas", "value": 3},
    ]


def test_the_only_group_needs_no_name() -> None:
    assert patch_of(cluster(GROUP), None, 0)[0] == "small"


@pytest.mark.parametrize(
    ("group", "replicas", "told"),
    [("huge", 1, "it has: small"), ("small", 5, "0 to 4"), (None, 1, "--group with one of: small, big")],
)
def test_scaling_that_cannot_be_says_what_can(group: str | None, replicas: int, told: str) -> None:
    groups = [GROUP] if group else [GROUP, {"groupName": "big"}]
    with pytest.raises(Failure, match=told):
        patch_of(cluster(*groups), group, replicas)


HEAD = {"type": "HeadPodReady", "status": "True"}


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, "starting"),
        ({"state": "ready", "observedGeneration": 2, "conditions": [HEAD], "desiredWorkerReplicas": 1, "readyWorkerReplicas": 1}, "ready"),
        (
            {"state": "ready", "observedGeneration": 1, "conditions": [HEAD], "desiredWorkerReplicas": 1, "readyWorkerReplicas": 1},
            "starting",
        ),
        (
            {"state": "ready", "observedGeneration": 2, "conditions": [HEAD], "desiredWorkerReplicas": 2, "readyWorkerReplicas": 1},
            "starting",
        ),
        ({"observedGeneration": 2, "conditions": [{"type": "Valid", "status": "False", "message": "spec.x: no"}]}, "refused"),
    ],
    ids=["new", "ready", "another spec's status", "a worker is missing", "invalid"],
)
def test_a_cluster_is_ready_when_its_present_spec_is_served(status: dict[str, Any], state: str) -> None:
    assert standing(cluster(GROUP, **status), []).state == state


def test_a_starting_cluster_says_what_its_pod_waits_for() -> None:
    waiting = {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}}}
    pod = {"metadata": {"name": "one-head"}, "status": {"containerStatuses": [waiting]}}
    assert standing(cluster(GROUP), [pod]).note == 'one-head: CreateContainerConfigError: secret "x" not found'


def test_what_an_earlier_fleet_wrote_does_not_make_a_cluster_ready() -> None:
    told = cluster(GROUP, state="ready", observedGeneration=2, conditions=[HEAD])
    pod = {
        "metadata": {"name": "one-head"},
        "status": {"containerStatuses": [{"state": {"running": {"startedAt": "2030-01-01T00:00:05Z"}}}]},
    }
    assert standing(told, [pod], "2030-01-01T00:00:05Z").ready
    assert not standing(told, [pod], "2030-01-01T00:00:06Z").ready


def test_an_event_is_a_line_and_a_series_says_how_often() -> None:
    event = {
        "type": "Normal",
        "reason": "CreatedWorkerPod",
        "note": "Created 2 worker Pods",
        "eventTime": "2030-01-01T00:00:00.123456Z",
        "series": {"count": 3, "lastObservedTime": "2030-01-01T00:00:09.5Z"},
        "metadata": {"creationTimestamp": "2030-01-01T00:00:00Z"},
    }
    assert str(told_by_event(event)) == "2030-01-01 00:00:09  Normal    CreatedWorkerPod: Created 2 worker Pods (x3)"


def test_a_table_has_the_servers_columns_and_wide_has_all() -> None:
    table = {
        "columnDefinitions": [{"name": "Name"}, {"name": "IP", "priority": 1}],
        "rows": [{"cells": ["a", "10.0.0.1"], "object": {"metadata": {"namespace": "x"}}}],
    }
    assert render_table(table, wide=False, namespaces=False) == "NAME\na"
    assert render_table(table, wide=True, namespaces=True) == "NAMESPACE   NAME   IP\nx           a      10.0.0.1"


def test_columns_are_aligned_and_lines_end_without_blanks() -> None:
    assert columns(["a", "long"], [["xyz", None], ["b", 1]]) == "A     LONG\nxyz\nb     1"


def test_a_kind_is_found_by_plural_singular_short_name_and_group() -> None:
    found = served(
        "ray.io/v1", {"name": "rayclusters", "singularName": "raycluster", "kind": "RayCluster", "namespaced": True, "shortNames": ["rc"]}
    )
    assert {"rayclusters", "raycluster", "rc", "rayclusters.ray.io", "raycluster.ray.io"} <= found.words
    assert qualified(found.resource) == "raycluster.ray.io"


def test_a_fault_of_this_program_is_not_explained_away() -> None:
    assert explain(RuntimeError("bug")) is None
    assert explain(ExceptionGroup("g", [OSError("x"), RuntimeError("bug")])) is None
    assert explain(ExceptionGroup("g", [OSError("x"), OSError("y")])) == "x; y"


def test_yaml_and_json_keep_the_order_and_the_letters() -> None:
    assert dump_yaml({"b": 1, "a": "ü"}) == "b: 1\na: ü\n"
    assert json.loads(dump_json({"b": "ü"})) == {"b": "ü"}


def test_the_operators_log_is_searched_for_the_object_itself(tmp_path: Path) -> None:
    log = tmp_path / "operator.log"
    lines = [{"time": "2030-01-01T00:00:00Z", "object": f"default/{name}", "message": f"for {name}"} for name in ("one", "one-more")]
    log.write_text("no json about default/one\n" + "".join(f"{json.dumps(line)}\n" for line in lines))
    assert [line.text for line in told_by_log(log, "default/one")] == ["for one"]
    assert list(told_by_log(tmp_path / "absent", "default/one")) == []
