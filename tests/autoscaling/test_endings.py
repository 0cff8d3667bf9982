"""What ends, in which order, and what Ray is asked before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rayfleet.autoscaling.reduction import UNPLACED
from rayfleet.autoscaling.values import Cause, Decision, Demand, Drain, Group, Instance, Memory, Policy, State, answered
from tests.autoscaling.vocabulary import NOW, decided, group, idle, sizes, tasks, texts, worker


def drained(decision: Decision) -> list[str]:
    return [drain.pod for drain in decision.drains]


def deleted(decision: Decision) -> tuple[str, ...]:
    return tuple(pod for target in decision.targets for pod in target.delete)


def asked(pod: str, *, accepted: bool | None, ago: float = 1, cause: Cause = Cause.IDLE) -> Memory:
    return Memory(drains=(Drain(f"node-{pod}", pod, "small", cause, "idle", NOW - ago, accepted, NOW - ago),))


def test_a_worker_idle_for_long_enough_is_drained_and_not_yet_deleted() -> None:
    decision = decided(None, group(replicas=2), idle("a", 61), idle("b", 50))
    assert [(drain.node, drain.cause) for drain in decision.drains] == [("node-a", Cause.IDLE)]
    assert (sizes(decision), deleted(decision)) == ({"small": 2}, ())
    assert texts(decision) == ["a of small: idle for 61 s of 60 s"]
    assert decision.again_at == NOW + 10


@pytest.mark.parametrize("of_group, of_cluster, ends", [(None, 30, True), (None, 90, False), (120, 30, False), (10, 900, True)])
def test_a_group_s_own_timeout_goes_before_the_cluster_s(of_group: float | None, of_cluster: float, ends: bool) -> None:
    decision = decided(None, group(replicas=1, idle_timeout=of_group), idle("a", 61), policy=Policy(idle_timeout=of_cluster))
    assert bool(decision.drains) == ends


def test_as_many_as_the_minimum_stay_and_the_longest_idle_go_first() -> None:
    workers = [idle("a", 70), idle("b", 90), idle("c", 80)]
    assert drained(decided(None, group(replicas=3, min_replicas=2), *workers)) == ["b"]
    assert drained(decided(None, group(replicas=3, min_replicas=3), *workers)) == []


def test_workers_that_have_not_joined_do_not_count_for_the_minimum() -> None:
    pods = [idle("a", 90), idle("b", 90), worker("c", State.PENDING), worker("d", State.LAUNCHING)]
    assert drained(decided(None, group(replicas=4, min_replicas=2), *pods)) == []


def test_what_request_resources_wants_stays() -> None:
    demand = Demand(floor=(tasks(1),))
    assert drained(decided(demand, group(replicas=2), idle("a", 90), idle("b", 80))) == ["a"]


def test_a_worker_that_is_busy_is_never_asked() -> None:
    assert drained(decided(None, group(replicas=1), worker("a", free=4, idle_since=NOW - 900))) == []


def test_the_head_never_ends() -> None:
    assert drained(decided(None, group(), replace(idle("head", 900), group="headgroup"))) == []


def test_a_worker_let_go_by_ray_is_deleted_by_name_and_the_group_is_smaller() -> None:
    gone = worker("a", State.DEAD)
    decision = decided(None, group(replicas=2), gone, worker("b"), memory=asked("a", accepted=True))
    assert (sizes(decision), deleted(decision)) == ({"small": 1}, ("a",))
    assert texts(decision) == ["a drained or dead: small 2 -> 1"]


def test_a_drain_without_an_answer_is_waited_for_and_then_forgotten() -> None:
    waits = decided(None, group(replicas=1), idle("a", 90), memory=asked("a", accepted=None, ago=1))
    assert (drained(waits), waits.again_at) == ([], NOW + 9)
    assert drained(decided(None, group(replicas=1), idle("a", 90), memory=asked("a", accepted=None, ago=11))) == ["a"]


@pytest.mark.parametrize("accepted", [None, True, False])
def test_a_drain_that_a_wrong_clock_dated_ahead_is_not_waited_for_until_then(accepted: bool | None) -> None:
    ahead = asked("a", accepted=accepted, ago=-31_536_000)
    first = decided(None, group(replicas=1), idle("a", 90), memory=ahead)
    assert drained(first) == []
    assert drained(decided(None, group(replicas=1), idle("a", 90), memory=first.memory, now=NOW + 61)) == ["a"]


def test_a_pod_that_a_wrong_clock_found_unneeded_some_day_is_given_up_in_its_time() -> None:
    first = decided(None, group(replicas=1), worker("a", State.PENDING), memory=Memory(unneeded=(("small", (NOW + 31_536_000,)),)))
    assert deleted(first) == ()
    assert deleted(decided(None, group(replicas=1), worker("a", State.PENDING), memory=first.memory, now=NOW + UNPLACED)) == ("a",)


def test_a_node_seen_draining_was_accepted_whatever_became_of_the_answer() -> None:
    decision = decided(None, group(replicas=1), worker("a", State.DRAINING), memory=asked("a", accepted=None))
    assert decision.memory.drains[0].accepted
    assert deleted(decided(None, group(replicas=1), worker("a", State.DEAD), memory=asked("a", accepted=None))) == ("a",)


def test_a_refusal_is_respected_until_the_node_is_idle_anew_or_a_minute_has_gone() -> None:
    refused = asked("a", accepted=False, ago=20)
    assert drained(decided(None, group(replicas=1), idle("a", 90), memory=refused)) == []
    assert sizes(decided(tasks(1), group(replicas=1), idle("a", 90), memory=refused)) == {"small": 1}, "it takes work meanwhile"
    short = Policy(idle_timeout=5)
    assert drained(decided(None, group(replicas=1), idle("a", 10), memory=refused, policy=short)) == ["a"]
    assert drained(decided(None, group(replicas=1), idle("a", 90), memory=asked("a", accepted=False, ago=61))) == ["a"]


def test_an_answer_is_remembered_for_its_node_alone() -> None:
    before = Memory(drains=(*asked("a", accepted=None).drains, *asked("b", accepted=None).drains))
    after = answered(before, "node-b", False, "The node to be idle terminated is no longer idle.", NOW)
    assert [drain.accepted for drain in after.drains] == [None, False]


def test_an_accepted_drain_that_ray_forgot_is_forgotten_here_too() -> None:
    soon, late = asked("a", accepted=True, ago=1), asked("a", accepted=True, ago=16)
    assert decided(None, group(replicas=1), worker("a"), memory=soon).memory.drains
    later = decided(None, group(replicas=1), worker("a"), memory=late)
    assert (later.memory.drains, deleted(later)) == ((), ())


def test_a_pod_whose_node_came_back_under_another_id_is_not_deleted() -> None:
    anew = replace(worker("a"), node="another")
    decision = decided(None, group(replicas=1), anew, memory=asked("a", accepted=True))
    assert (deleted(decision), decision.memory.drains) == ((), ())


def test_an_idle_node_that_drains_for_ever_is_deleted_and_one_with_work_is_not() -> None:
    stuck = worker("a", State.DRAINING)
    assert deleted(decided(None, group(replicas=1), stuck, memory=asked("a", accepted=True, ago=31))) == ("a",)
    with_work = asked("a", accepted=True, ago=9999, cause=Cause.PREEMPTION)
    assert deleted(decided(None, group(replicas=1), stuck, memory=with_work)) == ()


def test_a_node_that_died_undrained_is_given_half_a_minute_to_come_back() -> None:
    first = decided(None, group(replicas=1), worker("a", State.DEAD))
    assert (deleted(first), first.again_at) == ((), NOW + 30)
    later = decided(None, group(replicas=1), worker("a", State.DEAD), memory=first.memory, now=NOW + 30)
    assert (deleted(later), sizes(later)) == (("a",), {"small": 0})


def test_a_dead_node_that_is_needed_is_replaced_in_the_same_write() -> None:
    decision = decided(tasks(1), group(replicas=1, max_replicas=1), worker("a", State.DEAD), memory=asked("a", accepted=True))
    assert (sizes(decision), deleted(decision)) == ({"small": 1}, ("a",))


def test_names_of_pods_that_are_gone_are_dropped_and_others_stay() -> None:
    named = group(replicas=1, workers_to_delete=("gone", "b"))
    [target] = decided(None, named, worker("a"), worker("b")).targets
    assert (target.delete, target.changes) == (("b",), True)
    [settled] = decided(None, replace(named, workers_to_delete=("b",)), worker("a"), worker("b")).targets
    assert not settled.changes


def test_pods_that_are_named_or_terminating_hold_nothing_and_are_not_counted() -> None:
    named = group(replicas=1, workers_to_delete=("b",))
    assert sizes(decided(tasks(1), named, worker("a"), worker("b", free=4))) == {"small": 2}
    assert sizes(decided(tasks(1), group(replicas=1), worker("a"), worker("b", free=4, terminating=True))) == {"small": 2}


def test_a_lowered_maximum_drains_idle_workers_first_and_lets_work_finish() -> None:
    workers = [worker("a", free=1), worker("b", free=3), idle("c", 5)]
    decision = decided(None, group(replicas=3, max_replicas=1), *workers)
    assert [(drain.pod, drain.cause) for drain in decision.drains] == [("c", Cause.IDLE), ("b", Cause.PREEMPTION)]
    assert (sizes(decision), deleted(decision)) == ({"small": 1}, ())
    again = decided(None, group(replicas=1, max_replicas=1), *workers, memory=decision.memory)
    assert (drained(again), sizes(again)) == ([], {"small": 1})


def test_a_lowered_maximum_deletes_pods_that_never_began() -> None:
    decision = decided(None, group(replicas=3, max_replicas=2), worker("a"), worker("b"), worker("c", State.PENDING))
    assert (sizes(decision), deleted(decision), drained(decision)) == ({"small": 2}, ("c",), [])


def test_a_size_lowered_by_hand_is_raised_to_what_is_there() -> None:
    decision = decided(None, group(replicas=1), worker("a"), worker("b"))
    assert sizes(decision) == {"small": 2}
    assert texts(decision) == ["2 replicas are there and none is named to go: small 1 -> 2"]


def test_a_size_raised_by_hand_is_let_come_and_given_up_only_when_no_pod_gets_a_place() -> None:
    wide = group(replicas=3)
    pods = [worker("a"), worker("b", State.PENDING)]
    first = decided(None, wide, *pods)
    assert (sizes(first), first.again_at) == ({"small": 3}, NOW + 600)
    later = decided(None, wide, *pods, memory=first.memory, now=NOW + 600)
    assert (sizes(later), deleted(later)) == ({"small": 1}, ("b",))
    wanted = decided(tasks(1), wide, *pods, memory=first.memory, now=NOW + 600)
    assert (sizes(wanted), deleted(wanted)) == ({"small": 2}, ())


def slice_of(**states: State) -> list[Instance]:
    return [worker(pod, state, of="tpu", replica="r0") for pod, state in states.items()]


def multihost(replicas: int = 1) -> Group:
    return group("tpu", hosts=2, replicas=replicas)


def test_a_replica_of_two_hosts_is_idle_when_both_are() -> None:
    hosts = [idle("a", 90, of="tpu", replica="r0"), idle("b", 61, of="tpu", replica="r0")]
    assert drained(decided(None, multihost(), *hosts)) == ["a", "b"]
    assert drained(decided(None, multihost(), hosts[0], worker("b", of="tpu", replica="r0"))) == []


def test_a_replica_goes_whole_when_ray_has_let_all_hosts_go() -> None:
    known = Memory(drains=tuple(replace(drain, group="tpu") for pod in "ab" for drain in asked(pod, accepted=True).drains))
    half = decided(None, multihost(), *slice_of(a=State.DEAD, b=State.DRAINING), memory=known)
    assert (deleted(half), sizes(half)) == ((), {"tpu": 1})
    whole = decided(None, multihost(), *slice_of(a=State.DEAD, b=State.DEAD), memory=known)
    assert (deleted(whole), sizes(whole)) == (("a", "b"), {"tpu": 0})


def test_when_one_host_is_gone_the_other_takes_no_new_work_and_finishes_its_own() -> None:
    decision = decided(tasks(2), multihost(), *slice_of(a=State.DEAD, b=State.RUNNING), memory=asked("a", accepted=True))
    assert [(drain.pod, drain.cause) for drain in decision.drains] == [("b", Cause.PREEMPTION)]
    assert (deleted(decision), sizes(decision)) == ((), {"tpu": 2})
