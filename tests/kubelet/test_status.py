"""What the API is told about a Pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

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
    assert list(judged(status).items()) == [
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("Ready", "False"),
        ("ContainersReady", "False"),
        ("PodScheduled", "True"),
    ]
    assert said(status, "Ready") == said(status, "ContainersReady") == ("ContainersNotReady", "containers with unready status: [main]")


def test_an_init_container_that_succeeded_is_ready_and_a_sidecar_that_ended_is_not() -> None:
    own: list[dict[str, Any]] = [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]
    ended = {name: (structs.replace(life(code=0, name=name), init=True),) for name in ("i", "s")}
    found = pod_status(seen(histories=ended, spec={"initContainers": own}))["initContainerStatuses"]
    assert {one["name"]: one["ready"] for one in found} == {"i": True, "s": False}


def said(status: dict[str, Any], kind: str) -> tuple[str, str]:
    (found,) = [one for one in status["conditions"] if one["type"] == kind]
    return found.get("reason", ""), found.get("message", "")


INIT = {"initContainers": [{"name": "i"}]}


@pytest.mark.parametrize(
    ("observed", "kind", "status", "words"),
    [
        (seen(sandbox=False), "PodReadyToStartContainers", "False", ("PodSandboxNotReady", "no pod sandbox exists")),
        (seen((life(code=0),), sandbox=False), "PodReadyToStartContainers", "False", ("PodSandboxNotReady", "pod sandbox is not ready")),
        (seen(spec=INIT), "Initialized", "False", ("ContainersNotInitialized", "containers with incomplete status: [i]")),
        (seen((life(),), spec=INIT), "Initialized", "True", ("", "")),  # prepared anew after its sandbox was lost
        (seen((life(code=0),), outcome="Succeeded"), "Initialized", "True", ("PodCompleted", "")),
        (seen((life(code=0),), outcome="Succeeded"), "Ready", "False", ("PodCompleted", "")),
        (seen((life(code=1),), outcome="Failed"), "ContainersReady", "False", ("PodFailed", "")),
    ],
)
def test_a_condition_in_a_kubelets_words(observed: Observed, kind: str, status: str, words: tuple[str, str]) -> None:
    told = pod_status(observed)
    assert (judged(told)[kind], said(told, kind)) == (status, words)


def test_the_generation_that_was_looked_at_is_told_where_pods_have_one() -> None:
    told = pod_status(seen((life(),), generation=3))
    assert {told["observedGeneration"], *(one["observedGeneration"] for one in told["conditions"])} == {3}
    assert "observedGeneration" not in pod_status(seen((life(),)))


def test_a_readiness_gate_holds_back_ready_alone() -> None:
    gated = seen((life(),), ready=frozenset({"main"}), spec={"readinessGates": [{"conditionType": "g"}]})
    assert (judged(pod_status(gated))["ContainersReady"], judged(pod_status(gated))["Ready"]) == ("True", "False")
    assert said(pod_status(gated), "Ready") == (
        "ReadinessGatesNotReady",
        'corresponding condition of pod readiness gate "g" does not exist.',
    )
    closed = replace(gated, old={"conditions": [{"type": "g", "status": "False"}]})
    assert said(pod_status(closed), "Ready")[1] == 'the status of pod readiness gate "g" is not "True", but False'
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
    assert times == {"PodReadyToStartContainers": old, "PodScheduled": old, "Initialized": old, "ContainersReady": new, "Ready": new}


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
