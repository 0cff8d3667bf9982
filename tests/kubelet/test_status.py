"""What the API is told about a Pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rayfleet.kubelet.attempt import Attempt, History
from rayfleet.kubelet.status import Observed, changes, pod_status, quality

NOW = 1_700_000_000.0


def life(number: int = 0, code: int | None = None, name: str = "main", **facts: Any) -> Attempt:
    return Attempt(name, number, f"id{number}", False, NOW - 9, None if code is None else NOW - 3, code, **facts)


def seen(history: History = (), **facts: Any) -> Observed:
    spec = {"containers": [{"name": "main", "image": "i"}], **facts.pop("spec", {})}
    base = Observed(spec, {}, {"main": history}, {}, frozenset(), frozenset(), "", "10.88.0.2", "10.88.0.1", NOW)
    return replace(base, **facts)


def judged(status: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status["conditions"]}


@pytest.mark.parametrize(
    ("observed", "phase"),
    [
        (seen(), "Pending"),
        (seen((life(),)), "Running"),
        (seen((life(code=1),)), "Running"),
        (seen((life(code=0),), outcome="Succeeded"), "Succeeded"),
        (seen((), spec={"initContainers": [{"name": "i"}]}), "Pending"),
    ],
)
def test_the_phase(observed: Observed, phase: str) -> None:
    assert pod_status(observed)["phase"] == phase


def test_ready_needs_every_container() -> None:
    assert judged(pod_status(seen((life(),), ready=frozenset({"main"}))))["Ready"] == "True"
    status = pod_status(seen((life(),)))
    assert judged(status) == {"PodScheduled": "True", "Initialized": "True", "ContainersReady": "False", "Ready": "False"}
    assert status["conditions"][-1]["message"] == "containers with unready status: [main]"


def test_a_readiness_gate_holds_back_ready_alone() -> None:
    gated = seen((life(),), ready=frozenset({"main"}), spec={"readinessGates": [{"conditionType": "g"}]})
    assert (judged(pod_status(gated))["ContainersReady"], judged(pod_status(gated))["Ready"]) == ("True", "False")
    opened = replace(gated, old={"conditions": [{"type": "g", "status": "True"}]})
    assert judged(pod_status(opened))["Ready"] == "True"
    assert pod_status(opened)["conditions"][0] == {"type": "g", "status": "True"}


def test_a_transition_time_moves_only_with_its_status() -> None:
    first = pod_status(seen((life(),)))
    later = replace(seen((life(),)), old=first, now=NOW + 60)
    assert changes(first, pod_status(later)) == {}
    flipped = pod_status(replace(later, ready=frozenset({"main"})))
    old, new = "2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z"
    times = {one["type"]: one["lastTransitionTime"] for one in flipped["conditions"]}
    assert times == {"PodScheduled": old, "Initialized": old, "ContainersReady": new, "Ready": new}


@pytest.mark.parametrize(
    ("history", "waiting", "state", "last"),
    [
        ((), {}, {"waiting": {"reason": "ContainerCreating"}}, None),
        ((), {"main": ("CreateContainerConfigError", "m")}, {"waiting": {"reason": "CreateContainerConfigError", "message": "m"}}, None),
        ((life(code=2), life(1)), {}, {"running": {"startedAt": "2023-11-14T22:13:11Z"}}, ("Error", 2)),
        ((life(code=2),), {"main": ("CrashLoopBackOff", "m")}, {"waiting": {"reason": "CrashLoopBackOff", "message": "m"}}, ("Error", 2)),
        ((life(code=128, error="e"),), {"main": ("RunContainerError", "e")}, {"waiting": {"reason": "RunContainerError", "message": "e"}},
         ("StartError", 128)),
    ],
)  # fmt: skip
def test_the_state_of_a_container(
    history: History, waiting: dict[str, tuple[str, str]], state: dict[str, Any], last: tuple[str, int] | None
) -> None:
    told = pod_status(seen(history, waiting=waiting))["containerStatuses"][0]
    before = told["lastState"].get("terminated")
    assert told["state"] == state
    assert (before and (before["reason"], before["exitCode"])) == last


def test_a_container_that_was_killed_says_by_which_signal() -> None:
    ended = pod_status(seen((life(code=137, signal=9),), outcome="Failed"))["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["signal"], ended["reason"]) == (137, 9, "Error")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}, "Burstable"),
    ],
)
def test_the_class_of_service(resources: dict[str, Any], expected: str) -> None:
    assert quality([{"resources": resources}]) == expected
