"""The nouns that all controllers share."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rayfleet.api.meta import PODS, RAYCLUSTERS, Condition
from rayfleet.planning.actions import Create, Delete, Fence, Subject
from rayfleet.planning.backoff import LONGEST_RETRY, retry_delay
from rayfleet.planning.clock import parse_rfc3339, rfc3339
from rayfleet.planning.conditions import settle
from rayfleet.planning.diff import merge_patch
from rayfleet.planning.events import sentences
from rayfleet.planning.plan import Plan

SCALAR = st.none() | st.booleans() | st.integers() | st.text()
JSON = st.dictionaries(st.text(), st.recursive(SCALAR | st.lists(SCALAR), lambda inner: st.dictionaries(st.text(), inner), max_leaves=8))


def applied(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """RFC 7386, written out."""
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = applied(result[name] if isinstance(result.get(name), dict) else {}, value)
        else:
            result[name] = value
    return result


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    return value


@given(JSON, JSON)
def test_a_merge_patch_turns_one_value_into_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    before = without_nulls(before)
    assert applied(before, merge_patch(before, after)) == without_nulls(after)


@given(JSON)
def test_equal_values_need_no_patch(value: dict[str, Any]) -> None:
    assert merge_patch(without_nulls(value), value) == {}


def test_a_condition_keeps_its_time_until_its_status_flips() -> None:
    before = (Condition("Ready", "True", "A", last_transition_time="2026-01-01T00:00:00Z"),)
    same = settle(before, [Condition("Ready", "True", "B")], "2026-02-02T00:00:00Z")
    flipped = settle(before, [Condition("Ready", "False", "B")], "2026-02-02T00:00:00Z")
    assert (same[0].last_transition_time, same[0].reason) == ("2026-01-01T00:00:00Z", "B")
    assert flipped[0].last_transition_time == "2026-02-02T00:00:00Z"


def worker(index: int) -> Create:
    subject = Subject("worker Pod of group small", "worker Pods of group small")
    return Create(PODS, "default", f"w{index}", {}, "worker/small", "0 of 5 replicas are there", subject, "CreatedWorkerPod", "Failed")


def test_equal_actions_are_told_in_one_sentence() -> None:
    (event,) = sentences([worker(index) for index in range(5)])
    assert event.note == "Created 5 worker Pods of group small (w0, w1, w2, ...): 0 of 5 replicas are there"
    assert (event.type, event.reason, event.action) == ("Normal", "CreatedWorkerPod", "Create")


def test_one_action_is_told_with_its_name() -> None:
    delete = Delete(PODS, "default", "h", "u", "head", "it has failed", Subject("head Pod", "head Pods"), "DeletedHeadPod", "Failed")
    assert sentences([delete])[0].note == "Deleted head Pod h: it has failed"


def test_a_fence_comes_before_all_that_relies_on_it() -> None:
    fence = Fence(RAYCLUSTERS, "default", "demo", "7", {"rayfleet.dev/lives": "1"}, "lives", "names must not come back")
    assert Plan((worker(0), fence, worker(1))).stages() == ((fence,), (worker(0), worker(1)))


def test_waits_double_up_to_five_minutes() -> None:
    assert [retry_delay(attempts) for attempts in range(5)] == [0, 5, 10, 20, 40]
    assert [retry_delay(attempts, free=1) for attempts in range(4)] == [0, 0, 5, 10]
    assert retry_delay(10_000) == LONGEST_RETRY


@given(st.integers(min_value=0, max_value=4_000_000_000))
def test_times_survive_being_written(seconds: int) -> None:
    assert parse_rfc3339(rfc3339(seconds)) == seconds
