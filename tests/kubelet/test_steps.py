"""What a Pod needs next."""

from __future__ import annotations

from typing import Any

from rayfleet.kubelet.attempt import Attempt, History
from rayfleet.kubelet.steps import Steps, next_steps

NOW = 1000.0


def ran(name: str, *codes: int | None, init: bool = False) -> dict[str, History]:
    """The attempts of a container by their exit codes, each ended just now; None: it runs."""
    return {
        name: tuple(
            Attempt(name, number, f"{name}{number}", init, NOW - 1, None if code is None else NOW, code)
            for number, code in enumerate(codes)
        )
    }


def spec(policy: str = "Always", init: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"restartPolicy": policy, "initContainers": init or [], "containers": [{"name": "a"}, {"name": "b"}]}


def test_without_init_containers_all_start_at_once() -> None:
    assert next_steps(spec(), {}, (), NOW) == Steps(start=("a", "b"))


def test_init_containers_start_one_after_the_other() -> None:
    two = spec(init=[{"name": "i"}, {"name": "j"}])
    assert next_steps(two, {}, (), NOW).start == ("i",)
    assert next_steps(two, ran("i", None), (), NOW).start == ()
    assert next_steps(two, ran("i", 0), (), NOW).start == ("j",)
    assert next_steps(two, ran("i", 0) | ran("j", 0), (), NOW).start == ("a", "b")


def test_a_failed_init_container_is_tried_again_or_fails_the_pod() -> None:
    assert next_steps(spec("Always", [{"name": "i"}]), ran("i", 1), (), NOW).start == ("i",)
    assert next_steps(spec("Never", [{"name": "i"}]), ran("i", 1), (), NOW).outcome == "Failed"


def test_a_sidecar_lets_the_others_start_once_it_has_started() -> None:
    sidecar = spec(init=[{"name": "s", "restartPolicy": "Always"}])
    assert next_steps(sidecar, ran("s", None), (), NOW).start == ()
    assert next_steps(sidecar, ran("s", None), ("s",), NOW).start == ("a", "b")


def test_a_sidecar_that_crashes_is_started_again_and_holds_no_outcome_up() -> None:
    jobs = spec("Never", [{"name": "s", "restartPolicy": "Always"}])
    assert next_steps(jobs, ran("s", 1) | ran("a", None) | ran("b", None), (), NOW).start == ("s",)
    assert next_steps(jobs, ran("s", 1, 1) | ran("a", 0) | ran("b", 0), (), NOW).outcome == "Succeeded"


def test_the_first_crash_is_followed_at_once_the_second_after_a_while() -> None:
    assert next_steps(spec(), ran("a", 1) | ran("b", None), (), NOW).start == ("a",)
    waiting = next_steps(spec(), ran("a", 1, 1) | ran("b", None), (), NOW)
    assert waiting == Steps(wake_at=NOW + 10, backing_off={"a": 10.0})
    assert next_steps(spec(), ran("a", 1, 1) | ran("b", None), (), NOW, 0.1).wake_at == NOW + 1


def test_a_pod_has_an_outcome_when_nothing_will_run_again() -> None:
    assert next_steps(spec("Never"), ran("a", 0) | ran("b", None), (), NOW).outcome == ""
    assert next_steps(spec("Never"), ran("a", 0) | ran("b", 0), (), NOW).outcome == "Succeeded"
    assert next_steps(spec("Never"), ran("a", 0) | ran("b", 3), (), NOW).outcome == "Failed"
    assert next_steps(spec("OnFailure"), ran("a", 0) | ran("b", 3), (), NOW).start == ("b",)
    assert next_steps(spec("OnFailure"), ran("a", 0) | ran("b", 3, 0), (), NOW).outcome == "Succeeded"


def test_after_a_boot_init_containers_run_again_and_no_back_off_counts_what_was_before() -> None:
    prepared = spec("OnFailure", [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}])
    lost = ran("i", 0) | ran("s", 137) | ran("a", 137, 137, 137) | ran("b", 0)
    before = {"i": 0, "s": 0, "a": 2, "b": 0}
    assert next_steps(prepared, lost, (), NOW, earlier=before).start == ("i",)
    assert next_steps(prepared, lost | ran("i", 0, 0), (), NOW, earlier=before).start == ("s",)
    sidecar = ran("i", 0, 0) | ran("s", 137, None)
    assert next_steps(prepared, lost | sidecar, ("s",), NOW, earlier=before) == Steps(start=("a",))
    assert next_steps(prepared, lost | sidecar | ran("a", 137, 137, 137, 0), ("s",), NOW, earlier=before).outcome == "Succeeded"


def test_what_is_never_to_be_restarted_is_not_by_a_boot() -> None:
    once = spec("Never", [{"name": "i"}])
    lost = ran("i", 0) | ran("a", 137) | ran("b", 0)
    assert next_steps(once, lost, (), NOW, earlier={"i": 0, "a": 0, "b": 0}).outcome == "Failed"
    assert next_steps(once, ran("i", 137), (), NOW, earlier={"i": 0}).outcome == "Failed"
