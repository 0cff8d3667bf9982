"""Faults that users of Ray's autoscaler reported, each by its number, where they are the planner's. ray#60860 is in tests/ray."""

from __future__ import annotations

from dataclasses import replace

from rayfleet.autoscaling.values import Demand, Memory, State, Strategy, answered
from tests.autoscaling.vocabulary import NOW, decided, gang, group, idle, sizes, tasks, worker


def test_ray_60655_a_write_that_was_lost_is_decided_again() -> None:
    first = decided(tasks(2), group())
    again = decided(tasks(2), group(), memory=first.memory, now=NOW + 5)
    assert sizes(first) == sizes(again) == {"small": 2}
    assert again.targets[0].changes


def test_ray_65694_at_the_maximum_nothing_is_launched_or_said() -> None:
    full = decided(tasks(5), group(replicas=2, max_replicas=2), worker("a"), worker("b"))
    assert (sizes(full), full.sentences, full.targets[0].changes) == ({"small": 2}, (), False)
    assert full.infeasible


def test_ray_52264_an_idle_worker_is_drained_and_then_deleted() -> None:
    asked = decided(None, group(replicas=1), idle("a", 61))
    memory = answered(asked.memory, "node-a", True, "", NOW + 1)
    gone = decided(None, group(replicas=1), worker("a", State.DEAD), memory=memory, now=NOW + 2)
    assert (sizes(gone), gone.targets[0].delete) == ({"small": 0}, ("a",))
    done = decided(None, group(replicas=0, workers_to_delete=("a",)), memory=gone.memory, now=NOW + 5)
    assert (done.targets[0].delete, done.memory.drains, done.memory.dead) == ((), (), ())


def test_ray_50868_a_pod_without_a_node_is_deleted_without_a_drain() -> None:
    surplus = decided(None, group(replicas=2, max_replicas=1), worker("a"), worker("b", State.PENDING))
    assert (surplus.drains, surplus.targets[0].delete) == ((), ("b",))


def test_kuberay_2223_and_2759_eight_thousand_tasks_are_answered_in_one_decision() -> None:
    assert sizes(decided(tasks(8000, cpu=1), group(replicas=1, max_replicas=3000), worker("a"))) == {"small": 2001}


def test_kuberay_532_a_size_set_back_by_somebody_else_ends_no_worker() -> None:
    decision = decided(None, group(replicas=0), worker("a"), worker("b"))
    assert (sizes(decision), decision.targets[0].delete, decision.drains) == ({"small": 2}, (), ())


def test_kuberay_1192_the_size_goes_down_by_exactly_those_that_are_named() -> None:
    pods = [worker(f"w{number:02}") for number in range(63)]
    gone = decided(None, group(replicas=64, max_replicas=100), *pods, worker("w63", State.DEAD), memory=drained("w63"))
    assert (sizes(gone), gone.targets[0].delete) == ({"small": 63}, ("w63",))


def drained(pod: str) -> Memory:
    asked = decided(None, group(replicas=1), idle(pod, 61))
    return answered(asked.memory, f"node-{pod}", True, "", NOW)


def test_kuberay_942_a_name_whose_pod_is_gone_blocks_nothing() -> None:
    decision = decided(tasks(1), group(replicas=1, workers_to_delete=("failed",)), worker("a"))
    assert (sizes(decision), decision.targets[0].delete) == ({"small": 2}, ())


def test_kuberay_560_a_size_above_the_maximum_is_brought_back() -> None:
    assert sizes(decided(tasks(50), group(replicas=20, max_replicas=5))) == {"small": 5}


def test_kuberay_2385_demand_above_the_maximum_waits() -> None:
    wanted = gang(Strategy.PACK, *(tasks(1, GPU=1) for _ in range(20)))
    [told] = decided(wanted, group(resources=tasks(1, GPU=1).resources)).infeasible
    assert (told.gang, told.waits) == (wanted, True)


def test_ray_47578_idle_workers_are_not_ended_below_the_minimum_minute_after_minute() -> None:
    settled = decided(None, group(replicas=2, min_replicas=2), idle("a", 600), idle("b", 600))
    assert (settled.drains, settled.targets[0].changes, settled.again_at) == ((), False, None)


def test_ray_35560_a_worker_that_became_busy_after_it_seemed_idle_is_kept() -> None:
    asked = decided(None, group(replicas=1), idle("a", 61))
    refused = answered(asked.memory, "node-a", False, "The node to be idle terminated is no longer idle.", NOW + 1)
    kept = decided(None, group(replicas=1), worker("a"), memory=refused, now=NOW + 2)
    assert (sizes(kept), kept.targets[0].delete, kept.drains) == ({"small": 1}, (), ())


def test_groups_that_change_places_change_nothing() -> None:
    """Ray's providers write by index; the planner speaks of names alone."""
    a, b = group("a", replicas=1), group("b", cpu=8, replicas=2)
    pods = [worker("x", of="a"), worker("y", of="b", cpu=8), worker("z", of="b", cpu=8)]
    demand = Demand((tasks(3),))
    assert decided(demand, a, b, *pods) == decided(demand, b, a, *pods)


def test_a_group_removed_while_its_workers_drain_is_let_be() -> None:
    memory = drained("a")
    decision = decided(None, group("other"), replace(worker("a", State.DRAINING), group="small"), memory=memory)
    assert sizes(decision) == {"other": 0}
