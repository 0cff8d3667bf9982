"""Conditions by the API conventions: a list keyed by type, where the transition time moves only when the status flips."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rayfleet.api.meta import Condition


def settle(before: Iterable[Condition], wanted: Iterable[Condition], now: str) -> tuple[Condition, ...]:
    """The new list, sorted by type.

    A condition that says the same as before keeps its transition time, also when reason or message are new; types not wanted are dropped.
    `now` is RFC 3339, in seconds, UTC.
    """
    known = {condition.type: condition for condition in before}
    settled = []
    for condition in wanted:
        old = known.get(condition.type)
        same = old is not None and old.status == condition.status and old.last_transition_time
        settled.append(msgspec.structs.replace(condition, last_transition_time=old.last_transition_time if same and old else now))
    return tuple(sorted(settled, key=lambda condition: condition.type))


def find(conditions: Iterable[Condition], type: str) -> Condition | None:
    """The condition of the given type, None when it is not there."""
    for condition in conditions:
        if condition.type == type:
            return condition
    return None


def is_true(conditions: Iterable[Condition], type: str) -> bool:
    """Is there a condition of the given type with status True? Absence means unknown, hence not true."""
    found = find(conditions, type)
    return found is not None and found.status == "True"


def says(conditions: Iterable[Condition], verdict: Condition, generation: int) -> bool:
    """Does the condition of the verdict's type say just this already, of this generation?"""
    found = find(conditions, verdict.type)
    return found is not None and (found.status, found.reason, found.message, found.observed_generation) == (
        verdict.status,
        verdict.reason,
        verdict.message,
        generation,
    )
