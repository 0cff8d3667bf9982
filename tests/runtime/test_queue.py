from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rayfleet.api.meta import Key
from rayfleet.runtime.queue import Dispenser, Pace, WorkQueue
from tests.runtime.clocks import ManualClock, settle

A, B, C = Key("x", "a"), Key("x", "b"), Key("y", "c")
FREE = Pace(rate=1e6, burst=10**6, beginnings=10**6)


def queue(pace: Pace = FREE, dice: float = 0.0) -> WorkQueue:
    return WorkQueue(pace, lambda: dice)


def drain(q: WorkQueue, now: float = 0.0) -> list[Key]:
    taken = []
    while (key := q.take(now)) is not None:
        taken.append(key)
        q.done(key)
    return taken


def test_a_key_that_is_added_often_comes_once() -> None:
    q = queue()
    for _ in range(5):
        q.add(A)
    assert len(q) == 1 and drain(q) == [A] and q.next_at() is None


def test_a_key_in_work_is_not_handed_out_again_but_comes_after_it() -> None:
    q = queue()
    q.add(A)
    assert q.take(0) == A
    q.add(A)
    q.add(A)
    assert q.take(0) is None
    q.done(A)
    assert q.take(0) == A
    q.done(A)
    assert q.take(0) is None


def test_namespaces_take_turns_and_within_one_the_order_is_that_of_arrival() -> None:
    q = queue()
    many = [Key("many", str(number)) for number in range(4)]
    for key in [*many, C, Key("z", "d")]:
        q.add(key)
    assert drain(q) == [many[0], C, Key("z", "d"), *many[1:]]


def test_what_was_begun_goes_before_what_is_new_and_starves_it_not() -> None:
    q = queue()
    known, new = [Key("x", f"known-{n}") for n in range(6)], [Key("x", f"new-{n}") for n in range(3)]
    for key in new:
        q.add(key, new=True)
    for key in known:
        q.add(key)
    assert drain(q) == [*known[:3], new[0], *known[3:], new[1], new[2]]


def test_only_so_many_are_begun_at_once() -> None:
    q = queue(Pace(rate=1e6, burst=10**6, beginnings=2))
    new = [Key(f"ns-{n % 2}", f"new-{n}") for n in range(4)]
    for key in new:
        q.add(key, new=True)
    assert [q.take(0), q.take(0), q.take(0)] == [new[0], new[1], None] and q.next_at() is None and len(q) == 2
    q.add(A)
    assert q.next_at() == float("-inf") and q.take(0) == A
    q.done(new[1])
    assert q.next_at() == float("-inf") and q.take(0) == new[2] and q.take(0) is None


def test_of_several_delays_the_earliest_counts_and_now_beats_later() -> None:
    q = queue()
    q.add_at(A, 10)
    q.add_at(A, 5)
    q.add_at(A, 20)
    assert q.next_at() == 5 and q.take(4.9) is None
    assert drain(q, 5) == [A] and q.next_at() is None
    q.add_at(A, 9)
    q.add(A)
    assert drain(q, 6) == [A] and q.next_at() is None


def test_a_delay_that_ends_while_in_work_brings_the_key_again() -> None:
    q = queue()
    q.add(A)
    q.take(0)
    q.add_at(A, 1)
    assert q.take(2) is None
    q.done(A)
    assert q.take(2) == A


def test_failures_wait_longer_each_time_up_to_a_limit_until_a_success() -> None:
    q = queue(Pace(1e6, 10**6, first_retry=1, longest_retry=60))
    assert [q.retry(A, 0) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    q.succeeded(A)
    assert q.retry(A, 0) == 1
    assert queue(Pace(first_retry=1), dice=1).retry(B, 0) == 1.25


def test_a_key_that_comes_too_often_is_slowed_down_and_no_other() -> None:
    q = queue(Pace(rate=2, burst=3))
    for _ in range(3):
        q.add(A)
        assert drain(q) == [A]
    q.add(A)
    q.add(B)
    assert drain(q) == [B]
    assert q.next_at() == 0.5 and drain(q, 0.49) == [] and drain(q, 0.5) == [A]
    q.add(A)
    assert drain(q, 10) == [A]


def test_a_turn_that_was_not_used_costs_nothing() -> None:
    q = queue(Pace(rate=0.001, burst=1))
    for _ in range(5):
        q.add(A)
        assert q.take(0) == A
        q.refund(A)
        q.done(A)
    q.add(A)
    assert drain(q) == [A]


def test_nothing_is_remembered_of_what_is_forgotten() -> None:
    q = queue(Pace(rate=0.001, burst=1, first_retry=1))
    q.add(A)
    drain(q)
    q.retry(A, 0)
    q.forget(A)
    assert q.next_at() is None
    q.add(A)
    assert drain(q) == [A] and q.retry(A, 0) == 1


class QueueMachine(RuleBasedStateMachine):
    """Against a model that knows only: who must come now, who must come when, who is in work."""

    keys = st.sampled_from([A, B, C, Key("y", "d"), Key("z", "e")])

    def __init__(self) -> None:
        super().__init__()
        self.queue = queue()
        self.now = 0.0
        self.wanted: set[Key] = set()
        self.due: dict[Key, float] = {}
        self.working: set[Key] = set()
        self.again: set[Key] = set()
        self.turns: Counter[Key] = Counter()

    @rule(key=keys, new=st.booleans())
    def add(self, key: Key, new: bool) -> None:
        self.queue.add(key, new)
        if key in self.working:
            self.again.add(key)
        else:
            self.wanted.add(key)
            self.due.pop(key, None)

    @rule(key=keys, delay=st.sampled_from([0.5, 1, 3, 10]))
    def add_later(self, key: Key, delay: float) -> None:
        self.queue.add_at(key, self.now + delay)
        if key not in self.wanted:
            self.due[key] = min(self.due.get(key, 1e9), self.now + delay)

    @rule(seconds=st.sampled_from([0.1, 1, 5]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        for key in [key for key, at in self.due.items() if at <= self.now]:
            del self.due[key]
            (self.again if key in self.working else self.wanted).add(key)
        key = self.queue.take(self.now)
        assert (key is None) == (not self.wanted)
        if key is not None:
            assert key in self.wanted and key not in self.working
            self.wanted.discard(key)
            self.working.add(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.queue.done(key)
        self.working.discard(key)
        if key in self.again:
            self.again.discard(key)
            self.wanted.add(key)
            self.due.pop(key, None)

    @invariant()
    def it_says_when_to_come_back(self) -> None:
        if not self.wanted:
            assert self.queue.next_at() == min(self.due.values(), default=None)
        else:
            assert self.queue.next_at() == float("-inf") and len(self.queue) == len(self.wanted)


QueueMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestQueueMachine = QueueMachine.TestCase


@pytest.mark.parametrize("busy", [3, 50])
def test_a_quiet_namespace_waits_for_one_turn_of_each_other(busy: int) -> None:
    q = queue()
    for number in range(busy):
        q.add(Key("busy", str(number)))
    q.take(0)
    q.add(C)
    assert C in [q.take(0), q.take(0)]


async def test_the_next_key_is_waited_for() -> None:
    clock = ManualClock()
    dispenser = Dispenser(queue(), clock)
    first = asyncio.create_task(dispenser.get())
    await settle()
    dispenser.add_after(B, 60)
    await settle()
    dispenser.add_after(A, 5)
    await clock.advance(4.9)
    assert not first.done()
    await clock.advance(0.2)
    assert first.result() == A
    second = asyncio.create_task(dispenser.get())
    dispenser.add(A)
    await settle()
    assert not second.done()
    dispenser.done(A)
    await settle()
    assert second.result() == A
    third = asyncio.create_task(dispenser.get())
    dispenser.done(A)
    assert dispenser.retry(A) == 0.5
    await clock.advance(0.5)
    assert third.result() == A
    fourth = asyncio.create_task(dispenser.get())
    await clock.advance(60)
    assert fourth.result() == B and clock.waiting == []
