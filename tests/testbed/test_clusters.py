"""A cluster's life on a real API server, and what it costs."""

from __future__ import annotations

import time

import pytest

from testbed.audit import counted
from tests.local.waiting import eventually
from tests.testbed.operator import Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed
REST = 8.0  # seconds that are listened to


def test_a_cluster_becomes_ready_with_few_requests_and_is_then_left_in_peace(operators: Operators, place: Place) -> None:
    operator = operators.start()
    eventually(lambda: operator.leads)
    before, began = len(operators.real(place.name)), time.monotonic()
    place.make_cluster(workers=2)
    place.await_ready(workers=2)
    seconds = time.monotonic() - began
    operators.settle(place.name)
    settled = operators.real(place.name)
    made = settled[before:]
    assert [request for request in made if request.code >= 400] == []
    counts = counted(made)
    assert (counts["create pods"], counts["create services"]) == (3, 1)
    assert counts["patch ray.io/rayclusters/status"] <= 2 + int(seconds), "counters are held back for one"
    time.sleep(REST)
    late = operators.real(place.name)[len(settled) :]
    assert [request for request in late if request.resource != "events.k8s.io/events"] == []
    assert len(late) <= 1, "an event may follow the status, and then nothing"


def test_workers_come_go_fail_and_are_replaced_and_all_ends_with_the_cluster(operators: Operators, place: Place) -> None:
    operators.start()
    place.make_cluster(workers=1)
    place.await_ready(workers=1)
    place.scale(3)
    place.await_ready(workers=3)
    lost = worker_of(place)
    place.plane.request("DELETE", place.path("pods", lost))
    eventually(lambda: lost not in names(place) and len(names(place)) == 4)
    place.await_ready(workers=3)
    failed = worker_of(place)
    fate = {"metadata": {"annotations": {"rayfleet.dev/hollow": "fail"}}}
    place.plane.request("PATCH", place.path("pods", failed), fate, kind="application/merge-patch+json")
    eventually(lambda: failed not in names(place) and len(names(place)) == 4)
    place.await_ready(workers=3)
    place.scale(0)
    place.await_ready(workers=0)
    place.plane.request("DELETE", place.path("ray.io/v1/rayclusters", "demo"))
    eventually(lambda: not place.list("pods", "ray.io/node-type") and not place.list("services"))


def names(place: Place) -> set[str]:
    return {pod["metadata"]["name"] for pod in place.pods()}


def worker_of(place: Place) -> str:
    return min(pod["metadata"]["name"] for pod in place.pods() if pod["metadata"]["labels"]["ray.io/node-type"] == "worker")
