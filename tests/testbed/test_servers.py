"""What the API server may do to an operator: die and come back, forget, not know a kind yet, be too busy."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from testbed.audit import counted
from tests.local.waiting import eventually
from tests.testbed.busy import Busy
from tests.testbed.operator import Operators, hollow_kubelet
from tests.testbed.place import Place
from tests.testbed.planes import NewControlPlane

pytestmark = pytest.mark.testbed
ROOT = Path(__file__).parents[2]


def test_the_api_server_is_killed_in_the_middle_of_a_roll_out_and_comes_back(operators: Operators, place: Place) -> None:
    operator = operators.start()
    eventually(lambda: operator.leads)
    for number in range(10):
        place.make_cluster(f"many-{number}", workers=3)
    eventually(lambda: len(place.pods()) >= 3)
    place.plane.kill_apiserver()
    place.plane.start_apiserver()
    for number in range(10):
        place.await_ready(workers=3, name=f"many-{number}", within=90.0)
    assert len(place.pods()) == 10 * 4
    assert len(place.list("services")) == 10
    assert operator.process.alive
    assert operator.said("error") == operator.said("broken") == []


def test_a_watch_whose_version_was_compacted_away_is_taken_up_by_one_new_list(operators: Operators, place: Place) -> None:
    plane = place.plane
    operator = operators.start("--no-leader-election")
    place.make_cluster(workers=2)
    place.await_ready(workers=2)
    operator.process.signal(signal.SIGSTOP)
    plane.kill_apiserver()  # its cache of past versions goes with it
    plane.start_apiserver()
    worker = next(pod["metadata"]["name"] for pod in place.pods() if "worker" in pod["metadata"]["name"])
    plane.request("DELETE", place.path("pods", worker), {"gracePeriodSeconds": 0})
    for number in range(20):
        place.create("configmaps", {"metadata": {"name": f"other-{number}"}})
    plane.compact()
    plane.kill_apiserver()
    plane.start_apiserver()
    mark = len(operators.asked())
    operator.process.signal(signal.SIGCONT)
    place.scale(3)
    place.await_ready(workers=3, within=90.0)
    assert worker not in {pod["metadata"]["name"] for pod in place.pods()}
    assert any("has expired; listing again" in text for text in operator.said())
    lists = counted(request for request in operators.asked()[mark:] if request.verb == "list")
    assert max(lists.values()) <= 2, lists


def test_crds_that_come_later_are_taken_up_without_a_restart(new_control_plane: NewControlPlane, tmp_path: Path) -> None:
    plane = new_control_plane()
    manifest = tmp_path / "without-crds.yaml"
    documents = (ROOT / "deploy" / "rayfleet.yaml").read_text().split("---\n")
    crds = [document for document in documents if "kind: CustomResourceDefinition" in document]
    manifest.write_text("---\n".join(document for document in documents if document not in crds))
    plane.kubectl("apply", "--filename", str(manifest))
    operators = Operators(plane, tmp_path)
    try:
        operator = operators.start(wait=False)
        eventually(lambda: operator.answer("/readyz") == "not listed yet: rayclusters\n", 30.0)
        assert operator.answer("/healthz") == "ok\n", "a restart would not help"
        plane.kubectl("apply", "--filename", "-", text="---\n".join(crds))
        plane.kubectl("wait", "--for=condition=Established", "--all", "customresourcedefinitions")
        eventually(lambda: operator.is_ready, 30.0)
        with hollow_kubelet(plane, tmp_path):
            place = Place(plane).make()
            place.make_cluster(workers=1)
            place.await_ready(workers=1)
        told = [text for text in operator.said("warning") if "is not served by this API server" in text]
        assert len(told) == 1, told
    finally:
        operators.stop()
        plane.stop()


def test_a_server_that_is_too_busy_is_asked_again_when_it_said(operators: Operators, place: Place) -> None:
    """429 with Retry-After, as API priority and fairness answers: nobody hurries, and nothing is lost."""
    with Busy(place.plane, operators.kubeconfig) as busy:
        operator = operators.start("--no-leader-election", kubeconfig=busy.kubeconfig)
        busy.refuse(("POST", "PATCH"), times=8, retry_after=2)
        place.make_cluster(workers=3)
        place.await_ready(workers=3, within=60.0)
        assert busy.refused == 8
        assert min(busy.pauses()) >= 2.0, "nobody came back before the time"
        assert len(place.pods()) == 4
        busy.refuse(("GET",), times=3, retry_after=1)
        busy.cut()
        place.scale(1)
        place.await_ready(workers=1, within=60.0)
        assert operator.said("error") == operator.said("broken") == []
