"""The arithmetic of an incremental upgrade, for any pace and whatever happens on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayfleet.rayservice.incremental import ALL, Pace, Side, Stand, Step, next_step

paces = st.integers(1, ALL).flatmap(lambda surge: st.builds(Pace, st.just(surge), st.integers(1, surge)))
BEGIN = Stand(Side(ALL), Side(0), 0)


def taken(stand: Stand, step: Step, *, first: bool = True, second: bool = True) -> Stand:
    """The step was taken, as far as Ray heard of it."""
    return replace(
        stand,
        weight=step.weight,
        first=replace(stand.first, capacity=step.first if first else stand.first.capacity),
        second=replace(stand.second, capacity=step.second if second else stand.second.capacity),
    )


def ended(stand: Stand, pace: Pace) -> tuple[Stand, int]:
    """Where it comes to when all goes well, and in how many steps."""
    for number in range(1000):
        step = next_step(stand, pace)
        if step.over:
            return stand, number
        after = taken(stand, step)
        assert after != stand, f"it stays at {stand}"
        stand = after
    raise AssertionError("it never ends")


@given(paces)
def test_an_upgrade_ends_with_everything_at_the_second_and_in_as_many_steps_as_it_must(pace: Pace) -> None:
    stand, steps = ended(BEGIN, pace)
    assert (stand.weight, stand.first.capacity, stand.second.capacity) == (ALL, 0, ALL)
    rounds = -(-ALL // pace.surge)
    assert steps <= rounds * (2 + -(-pace.surge // pace.step)) + 1


@given(paces, st.data())
def test_whatever_happens_shares_are_shares_and_traffic_finds_replicas(pace: Pace, data: st.DataObject) -> None:
    """Ray hears of some steps only, the interval is over or not, the spec goes back and forth, somebody pauses."""
    stand = BEGIN
    for _ in range(data.draw(st.integers(1, 60))):
        bits = st.booleans()
        stand = replace(stand, back=data.draw(bits), due=data.draw(bits), held=data.draw(st.integers(0, 4)) == 0)
        step = next_step(stand, pace)
        after = taken(stand, step, first=data.draw(bits), second=data.draw(bits))
        assert 0 <= after.weight <= ALL and 0 <= after.first.capacity <= ALL and 0 <= after.second.capacity <= ALL
        assert after.weight <= after.second.capacity and ALL - after.weight <= after.first.capacity
        assert after.first.capacity + after.second.capacity <= ALL + pace.surge
        assert abs(after.weight - stand.weight) <= pace.step
        if stand.held or not stand.due:
            assert after.weight == stand.weight
        stand = stand if step.over else after
    for back in (False, True):
        end, _ = ended(replace(stand, back=back, due=True, held=False), pace)
        assert end.weight == (0 if back else ALL)


@given(paces, st.data())
def test_nothing_goes_to_who_has_no_endpoints_while_the_other_has(pace: Pace, data: st.DataObject) -> None:
    bits, percent = st.booleans(), st.integers(0, ALL)
    sides = [Side(data.draw(percent), data.draw(bits), data.draw(bits), data.draw(bits)) for _ in range(2)]
    stand = Stand(*sides, data.draw(percent), data.draw(bits), data.draw(bits), data.draw(bits))
    step = next_step(stand, pace)
    if step.over:
        return
    if step.weight != stand.weight:
        assert (step.first, step.second) == (stand.first.capacity, stand.second.capacity), "replicas follow traffic, seen where it is"
    if stand.first.answers and not stand.second.answers:
        assert step.weight == 0
    if not stand.second.serves or not stand.second.answers:
        assert step.weight <= stand.weight
    if not stand.first.answers and stand.second.answers:
        assert step.weight >= stand.weight


@pytest.mark.parametrize(
    ("stand", "told"), [(Stand(Side(50), Side(ALL), ALL), (0, ALL)), (Stand(Side(ALL), Side(50), 0, back=True), (ALL, 0))]
)
def test_who_has_no_traffic_any_more_keeps_its_replicas_for_an_interval(stand: Stand, told: tuple[int, int]) -> None:
    early, late = (next_step(replace(stand, due=due), Pace(50, 25)) for due in (False, True))
    assert (early.first, early.second) == (stand.first.capacity, stand.second.capacity) and (late.first, late.second) == told


@given(paces, st.integers(1, ALL - 1))
def test_a_second_cluster_that_is_lost_in_the_middle_can_be_begun_with_again(pace: Pace, weight: int) -> None:
    stand = Stand(Side(ALL), Side(0, answers=False, serves=False, hears=False), weight)
    step = next_step(stand, pace)
    assert step.weight == 0
    end, _ = ended(replace(taken(stand, step), second=Side(0)), pace)
    assert end.weight == ALL


@pytest.mark.parametrize(
    ("pace", "stands"),
    [
        # As KubeRay was recorded to go (rayservice-incremental, rayservice-incremental-rollback): first, second, weight.
        (
            Pace(50, 25),
            [(100, 50, 0), (100, 50, 25), (100, 50, 50), (50, 50, 50), (50, 100, 50), (50, 100, 75), (50, 100, 100), (0, 100, 100)],
        ),
        (Pace(100, 20), [(100, 100, 0), *((100, 100, weight) for weight in (20, 40, 60, 80, 100)), (0, 100, 100)]),
    ],
)
def test_the_steps_are_the_peer_s(pace: Pace, stands: list[tuple[int, int, int]]) -> None:
    stand, seen = BEGIN, []
    while not (step := next_step(stand, pace)).over:
        stand = taken(stand, step)
        seen.append((stand.first.capacity, stand.second.capacity, stand.weight))
    assert seen == stands
    back = [(100, 100, 20), (100, 100, 0), (100, 0, 0)]
    stand, seen = Stand(Side(ALL), Side(ALL), 40, back=True), []
    while not (step := next_step(stand, Pace(100, 20))).over:
        stand = taken(stand, step)
        seen.append((stand.first.capacity, stand.second.capacity, stand.weight))
    assert seen == back
