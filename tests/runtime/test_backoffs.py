from __future__ import annotations

from rayfleet.api.meta import Key
from rayfleet.planning.backoff import FORGOTTEN_AFTER
from rayfleet.runtime.backoffs import Backoffs

KEY, OTHER = Key("x", "a"), Key("x", "b")


def test_a_failure_is_an_observation_until_its_scope_succeeds() -> None:
    held = Backoffs()
    waits = [held.failed(KEY, "head", f"no {number}", "FailedToCreateHeadPod", 100).retry_at - 100 for number in range(8)]
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300]
    held.failed(KEY, "worker/small", "quota", "FailedToCreateWorkerPod", 100)
    seen = held.of(KEY, 1e9)
    assert (seen["head"].attempts, seen["head"].message, seen["head"].event) == (8, "no 7", "FailedToCreateHeadPod")
    held.succeeded(KEY, "head")
    assert list(held.of(KEY, 101)) == ["worker/small"] and not held.of(OTHER, 101)
    held.forget(KEY)
    assert not held.of(KEY, 101)


def test_the_server_may_ask_for_more_patience_but_not_for_ever() -> None:
    held = Backoffs()
    assert held.failed(KEY, "head", "busy", "E", 0, retry_after=60).retry_at == 60
    assert held.failed(OTHER, "head", "busy", "E", 0, retry_after=86400).retry_at == 300


def test_setbacks_are_free_at_first_and_outlive_a_success_until_they_are_old() -> None:
    held = Backoffs()
    assert [held.setback(KEY, "head", "it failed", 100).retry_at - 100 for _ in range(4)] == [0, 5, 10, 20]
    held.succeeded(KEY, "head")
    assert (held.of(KEY, 110)["head"].attempts, held.of(KEY, 110)["head"].event) == (4, "")
    assert held.of(KEY, 120 + FORGOTTEN_AFTER - 1)
    assert not held.of(KEY, 120 + FORGOTTEN_AFTER)
    assert held.setback(KEY, "head", "it failed", 1000).retry_at == 1000


def test_a_failure_and_a_setback_of_one_scope_both_hold_it_back() -> None:
    held = Backoffs()
    for _ in range(4):
        held.setback(KEY, "head", "it failed", 0)
    held.failed(KEY, "head", "quota", "E", 0)
    both = held.of(KEY, 1)["head"]
    assert (both.retry_at, both.message, both.event) == (20, "quota", "E")
    held.succeeded(KEY, "head")
    assert held.of(KEY, 1)["head"].event == ""


def test_an_edit_lets_a_refused_attempt_be_tried_at_once_but_does_not_forget_it() -> None:
    held = Backoffs()
    held.failed(KEY, "head", "quota", "E", 100)
    held.failed(KEY, "head", "quota", "E", 105)
    held.hurry(KEY, 106)
    assert (held.of(KEY, 106)["head"].retry_at, held.of(KEY, 106)["head"].attempts) == (106, 2)


def test_a_failure_is_over_when_it_is_due_and_nothing_is_wanted_in_its_scope() -> None:
    held = Backoffs()
    held.failed(KEY, "worker/small", "quota", "E", 100)
    assert not held.settle(KEY, (), 104), "not due yet"
    assert not held.settle(KEY, {"worker/small"}, 105), "still wanted"
    assert held.settle(KEY, {"head"}, 105)
    assert not held.of(KEY, 105)
