"""`rayfleet explain` of what is broken for real: processes of a local fleet, and what its kubelet says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayfleet.local.end import end
from rayfleet.local.state import State
from tests.cli.explain.plain import plain
from tests.golden import recorded
from tests.local.fleet import CLUSTERS, Fleet, idle_cluster, template
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces
HERE = Path(__file__).parent / "explain"

TWICE = "python3 -m http.server 8265 & until (exec 3<> /dev/tcp/127.0.0.1/8265); do sleep 0.1; done; exec python3 -m http.server 8265"
SECRET = {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "hub-login", "key": "word"}}}
BROKEN = {
    "crash-loop": (template(command=["bash", "-c", "echo loading; echo 'Fatal error: no licence' >&2; exit 3"]), "CrashLoopBackOff"),
    "port-clash": (template(command=["bash", "-c", TWICE]), "CrashLoopBackOff"),
    "missing-secret": (template(env=[SECRET]), "CreateContainerConfigError"),
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """With all the clusters, so that they break beside each other."""
    fleet = Fleet(State(tmp_path_factory.mktemp("explain") / "fleet"))
    try:
        fleet.up()
        fleet.apply(*(idle_cluster(name, workers=0, head=head) for name, (head, _) in BROKEN.items()))
        yield fleet
    finally:
        assert end(fleet.state).left == ()


def reason(fleet: Fleet, name: str) -> str:
    """Why the head is not ready, as the operator says."""
    cluster: dict[str, Any] = fleet.read(f"{CLUSTERS}/{name}") or {}
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return "".join(each["reason"] for each in conditions if each["type"] == "HeadPodReady")


@pytest.mark.parametrize("name", BROKEN)
def test_processes_that_fail_are_explained(fleet: Fleet, name: str) -> None:
    eventually(lambda: reason(fleet, name) == BROKEN[name][1], 60.0, f"{name} is broken")
    text = re.sub(r" \(x\d+\)|back-off \d+s |; \d+ restarts?", "", plain(fleet.run("explain", name, code=1)))
    assert text == recorded(HERE / f"{name}.golden", text)


def test_an_image_of_a_version_that_is_not_installed_is_noted_and_no_fault(fleet: Fleet) -> None:
    fleet.apply(idle_cluster("other-version", workers=0, head=template(image="rayproject/ray:2.9.3")))
    fleet.ready("other-version", 0)
    told = eventually(lambda: (text := fleet.run("explain", "other-version")) and "2.9.3" in text and text, 20.0)
    assert "ready; head ready" in told and "Nothing is wrong with it." in told
    assert "image rayproject/ray:2.9.3 asks for Ray 2.9.3; Ray 2.60.0 stands for it" in told


def test_what_is_mended_is_well_again(fleet: Fleet) -> None:
    fleet.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub-login"}, "stringData": {"word": "x"}})
    fleet.ready("missing-secret", 0)
    assert "Nothing is wrong with it." in fleet.run("explain", "raycluster/missing-secret")
