"""What a scrape of the real operator says of a cluster, and that it says nothing of one that is gone."""

from __future__ import annotations

import pytest

from tests.local.waiting import eventually
from tests.testbed.operator import Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed


def test_a_clusters_series_come_and_go_with_it(operators: Operators, place: Place) -> None:
    operator = operators.start("--watch-namespace", place.name)
    mine = f'namespace="{place.name}"'

    def told() -> list[str]:
        return [line for line in operator.answer("/metrics").splitlines() if line.startswith("kuberay_") and mine in line]

    uid = place.make_cluster(workers=1)["metadata"]["uid"]
    place.await_ready(workers=1)
    eventually(lambda: len(told()) == 3, 10.0, "the status has come back")
    labels = f'name="demo",{mine},uid="{uid}"'
    info, provisioned, duration = told()
    assert info == f'kuberay_cluster_info{{{labels},owner_kind="None"}} 1.0'
    assert provisioned == f'kuberay_cluster_condition_provisioned{{{labels},condition="true"}} 1.0'
    assert duration.startswith(f"kuberay_cluster_provisioned_duration_seconds{{{labels}}} ") and float(duration.split()[-1]) >= 0

    whole = operator.answer("/metrics")
    for line in (
        'leader_election_master_status{name="ray-operator-leader"} 1.0',
        'controller_runtime_reconcile_total{controller="raycluster",result="success"}',
        'workqueue_depth{controller="raycluster",name="raycluster"}',
    ):
        assert line in whole
    place.plane.request("DELETE", place.path("ray.io/v1/rayclusters", "demo"))
    eventually(lambda: told() == [], 20.0, "nothing is told of what is gone")
