"""KubeRay's released operator as a black box: rayfleet takes its clusters over and hands them back, and no Pod is recreated.

Its own definitions are installed, which do not know what is newer than its release.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.objects import NAME, SYSTEM_NAMESPACE
from rayfleet.runtime.lease import NAME as LEASE
from testbed.control_plane import ControlPlane, free_port
from testbed.peer import built
from testbed.process import Process
from tests.local.waiting import eventually
from tests.parity.grounds import furnish
from tests.testbed.operator import Operators, hollow_kubelet
from tests.testbed.place import Place, cluster
from tests.testbed.planes import NewControlPlane

pytestmark = pytest.mark.testbed
HOME = "kuberay-system"
TAKEN_OVER = 60.0  # seconds: a lease that its holder did not give up has to run out
VERSION = "ray.io/kuberay-version"


class Peer:
    """`start` KubeRay's operator, and `stop` it as Kubernetes does."""

    def __init__(self, plane: ControlPlane, directory: Path, binary: Path) -> None:
        self.plane, self.directory, self.binary = plane, directory, binary
        self.process: Process | None = None

    def start(self) -> None:
        metrics, probes = free_port(), free_port()
        words = ["--metrics-addr", f"127.0.0.1:{metrics}", "--health-probe-bind-address", f"127.0.0.1:{probes}"]
        kubeconfig = self.plane.service_account(HOME, "kuberay-operator")
        command = [str(self.binary), "--kubeconfig", str(kubeconfig), "--leader-election-namespace", HOME, *words]
        self.process = Process(command, self.directory / "kuberay.log")

    def stop(self) -> None:
        if self.process:
            self.process.stop()


@pytest.fixture(scope="module")
def plane(new_control_plane: NewControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    found = built()
    if found is None:
        pytest.skip("KubeRay's operator is not built; build it with: make peer")
    plane = new_control_plane()
    plane.kubectl("create", "--filename", str(found[1] / "definitions"))
    furnish(plane, lambda: ())
    plane.kubectl("create", "namespace", HOME)
    plane.kubectl("create", "serviceaccount", "kuberay-operator", "--namespace", HOME)
    plane.kubectl("create", "clusterrolebinding", "kuberay", "--clusterrole=cluster-admin", f"--serviceaccount={HOME}:kuberay-operator")
    with hollow_kubelet(plane, tmp_path_factory.mktemp("kubelet")):
        yield plane


@pytest.fixture
def peer(plane: ControlPlane, tmp_path: Path) -> Iterator[Peer]:
    found = built()
    assert found is not None
    one = Peer(plane, tmp_path, found[1] / "operator")
    yield one
    one.stop()
    plane.request("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{LEASE}")


@pytest.fixture
def place(plane: ControlPlane) -> Iterator[Place]:
    made = Place(plane).make()
    yield made
    made.remove()


@pytest.fixture
def operators(plane: ControlPlane, tmp_path: Path) -> Iterator[Operators]:
    begun = Operators(plane, tmp_path)
    yield begun
    begun.stop()


WORKERS = {"plain": 2, "recreated": 1, "scaled": 1, "slices": 4}


def fleet(place: Place) -> None:
    for name, workers in WORKERS.items():
        place.create("ray.io/v1/rayclusters", made(name, workers))


def made(name: str, workers: int) -> dict[str, Any]:
    found = cluster(name, workers)
    if name.startswith("recreated"):
        found["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    if name.startswith("scaled"):
        found["spec"]["enableInTreeAutoscaling"] = True
    if name.startswith("slices"):
        found["spec"]["workerGroupSpecs"][0] |= {"replicas": workers // 2, "numOfHosts": 2}
    return found


def await_fleet(place: Place, prefix: str = "") -> None:
    for name, workers in WORKERS.items():
        place.await_ready(workers, name + prefix)


def lives(place: Place) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in place.pods()}


def version(place: Place, name: str) -> str:
    (head,) = place.list("pods", f"ray.io/cluster={name},ray.io/node-type=head")
    return str(head["metadata"]["annotations"][VERSION])


def writes_by(operators: Operators, place: Place, account: str) -> list[str]:
    asked = [each for each in operators.asked() if each.namespace == place.name and each.user.endswith(account)]
    return [f"{each.verb} {each.resource}" for each in asked if each.verb not in ("get", "list", "watch")]


def test_there_and_back_again_without_a_pod_being_recreated(plane: ControlPlane, peer: Peer, operators: Operators, place: Place) -> None:
    peer.start()
    fleet(place)
    await_fleet(place)
    before, theirs = lives(place), version(place, "recreated")

    ours = operators.start(wait=False)
    eventually(lambda: f"holds the lease {HOME}/{LEASE}" in ours.answer("/readyz"), 30.0)
    assert not writes_by(operators, place, f":{NAME}")
    peer.stop()
    eventually(lambda: ours.is_ready and ours.leads, TAKEN_OVER)
    for name in WORKERS:
        eventually(lambda name=name: place.condition("Valid", name).get("status") == "True", 30.0)
    operators.settle(place.name)
    assert lives(place) == before
    written = writes_by(operators, place, f":{NAME}")
    assert written.count("patch ray.io/rayclusters/status") == len(WORKERS)
    assert [each for each in written if each.endswith(" pods")] == ["patch pods"], "the head of the Recreate cluster gets our hash"
    assert version(place, "recreated") != theirs

    for name, workers in WORKERS.items():
        place.create("ray.io/v1/rayclusters", made(f"{name}-ours", workers))
    await_fleet(place, "-ours")
    both = lives(place)
    assert before.items() < both.items()
    ours.process.stop()

    mark = len(operators.asked())
    peer.start()
    for name in ("plain", "plain-ours"):
        place.scale(3, name)
    for name in ("plain", "plain-ours"):
        place.await_ready(3, name, within=TAKEN_OVER)
    for name in ("recreated", "recreated-ours"):
        eventually(lambda name=name: version(place, name) == theirs, TAKEN_OVER)
    quiet(operators, place)
    after = lives(place)
    assert both.items() < after.items() and len(after) == len(both) + 2, "what was there is kept, and one is added to each"
    back = [each for each in operators.asked()[mark:] if each.namespace == place.name and each.user.endswith(":kuberay-operator")]
    assert [str(each) for each in back if each.verb.startswith("delete")] == []


def quiet(operators: Operators, place: Place) -> None:
    """KubeRay looks at a cluster again two seconds after it wrote its status."""
    operators.settle(place.name)
    operators.settle(place.name)


def test_an_administrator_may_say_what_kuberay_looks_after(plane: ControlPlane, peer: Peer, operators: Operators, place: Place) -> None:
    peer.start()
    path = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{LEASE}"
    eventually(lambda: plane.answers(path) == 200, 30.0)
    words = ("--watch-namespace", place.name, "--leader-election-namespace", SYSTEM_NAMESPACE)
    ours = operators.start(*words, wait=False)
    eventually(lambda: "waiting: the operator" in ours.answer("/readyz"), 30.0)
    plane.kubectl("annotate", f"lease/{LEASE}", "--namespace", HOME, "rayfleet.dev/watches=elsewhere")
    noted = plane.request("GET", path)[1]
    eventually(lambda: ours.leads, 30.0)
    eventually(lambda: plane.request("GET", path)[1]["spec"]["renewTime"] > noted["spec"]["renewTime"], 30.0)
    assert plane.request("GET", path)[1]["metadata"]["annotations"]["rayfleet.dev/watches"] == "elsewhere", "it outlives renewals"
