"""What is wanted, and how far the groups grow for it."""

from __future__ import annotations

import pytest

from rayfleet.autoscaling.amounts import resources
from rayfleet.autoscaling.values import Demand, Gang, Policy, Request, Requirement, State, Strategy
from tests.autoscaling.vocabulary import NOW, amounts, decided, gang, group, head, idle, sizes, tasks, texts, worker


def test_tasks_that_no_node_has_room_for_add_workers() -> None:
    first = decided(tasks(2), group(replicas=1), worker("a"))
    assert sizes(first) == {"small": 3}
    later = decided(tasks(2), group(replicas=1), worker("a"), memory=first.memory, now=NOW + 10)
    assert texts(later) == ["2 x {CPU: 4} pending for 10 s: small 1 -> 3"]


def test_what_is_on_its_way_counts_as_if_it_were_there() -> None:
    assert sizes(decided(tasks(3), group(replicas=3), worker("a", State.PENDING), worker("b", State.LAUNCHING))) == {"small": 3}


def test_a_free_place_takes_a_task_before_a_new_worker_does() -> None:
    assert sizes(decided(tasks(3, cpu=2), group(replicas=1), worker("a", free=2))) == {"small": 2}


def test_the_head_takes_what_it_can() -> None:
    assert sizes(decided(tasks(1), group(), head(cpu=4, free=4))) == {"small": 0}


@pytest.mark.parametrize(
    "strategy, nodes",
    [(Strategy.PACK, 1), (Strategy.SPREAD, 1), (Strategy.STRICT_PACK, 1), (Strategy.STRICT_SPREAD, 3)],
)
def test_a_placement_group_gets_what_its_strategy_needs(strategy: Strategy, nodes: int) -> None:
    decision = decided(gang(strategy, tasks(3, cpu=1)), group())
    assert sizes(decision) == {"small": nodes}
    assert texts(decision) == [f"placement group {strategy} with {shown(strategy)} pending for 0 s: small 0 -> {nodes}"]


def shown(strategy: Strategy) -> str:
    return "1 x {CPU: 3}" if strategy == Strategy.STRICT_PACK else "3 x {CPU: 1}"


def test_bundles_packed_strictly_need_one_node_large_enough() -> None:
    wanted = gang(Strategy.STRICT_PACK, tasks(2, cpu=3), tasks(1, cpu=1))
    assert sizes(decided(wanted, group(), group("large", cpu=8))) == {"small": 0, "large": 1}
    assert sizes(decided(wanted, group())) == {"small": 0}


def test_a_placement_group_that_fits_in_part_only_is_not_launched_in_part() -> None:
    decision = decided(gang(Strategy.STRICT_SPREAD, tasks(3, cpu=1)), group(max_replicas=2))
    assert sizes(decision) == {"small": 0}
    [told] = decision.infeasible
    assert told.waits
    assert told.remedy == "3 x {CPU: 1} would fit with maxReplicas of small 2 -> 3"


def test_a_node_that_holds_a_bundle_of_the_group_takes_no_second_one() -> None:
    wanted = Gang("_PG_a", Strategy.STRICT_SPREAD, (tasks(1, cpu=1),))
    holder = worker("a", free=3, gangs=frozenset({"_PG_a"}))
    assert sizes(decided(wanted, group(replicas=1), holder)) == {"small": 2}
    assert sizes(decided(wanted, group(replicas=1), worker("a", free=3))) == {"small": 1}


ZONE_A, NOT_A = (Requirement("zone", ("a",)),), (Requirement("zone", ("a",), excluded=True),)


@pytest.mark.parametrize(
    "selectors, grown",
    [((ZONE_A,), "there"), ((NOT_A,), "elsewhere"), (((Requirement("zone", ("b", "c")),), ZONE_A), "there"), (((*ZONE_A, *NOT_A),), "")],
)
def test_labels_lead_to_the_groups_that_carry_them(selectors: tuple[tuple[Requirement, ...], ...], grown: str) -> None:
    decision = decided(tasks(1, selectors=selectors), group("there", labels=(("zone", "a"),)), group("elsewhere"))
    assert [name for name, size in sizes(decision).items() if size] == ([grown] if grown else [])


def test_request_resources_counts_what_nodes_could_hold_whatever_runs_on_them() -> None:
    demand = Demand(floor=(tasks(3),))
    assert sizes(decided(demand, group(replicas=2), worker("a"), worker("b"))) == {"small": 3}
    assert texts(decided(demand, group(replicas=2), worker("a"), worker("b"))) == [
        "request_resources asks for 1 x {CPU: 4} more: small 2 -> 3"
    ]


def test_the_same_room_serves_request_resources_and_tasks() -> None:
    assert sizes(decided(Demand((tasks(2),), floor=(tasks(2),)), group())) == {"small": 2}


def test_hosts_of_a_replica_come_together() -> None:
    slice_of = group("tpu", hosts=4, max_replicas=2, resources=resources({"TPU": 4}))
    assert sizes(decided(Request(resources({"TPU": 4}), 5), slice_of)) == {"tpu": 2}
    assert sizes(decided(Request(resources({"TPU": 4}), 4), slice_of)) == {"tpu": 1}
    hosts = [worker(f"h{index}", of="tpu", replica="r0", total=resources({"TPU": 4}), available=()) for index in range(4)]
    assert sizes(decided(Request(resources({"TPU": 4}), 1), slice_of, *hosts)) == {"tpu": 2}


def test_the_group_of_the_higher_priority_grows_where_all_else_is_equal() -> None:
    assert sizes(decided(tasks(1), group("a"), group("b", priority=1))) == {"a": 0, "b": 1}


def test_no_node_with_gpus_is_bought_for_tasks_that_want_none() -> None:
    with_gpu = group("a", resources=amounts(4, GPU=1))
    assert sizes(decided(tasks(1), with_gpu, group("b"))) == {"a": 0, "b": 1}
    assert sizes(decided(tasks(1, GPU=1), with_gpu, group("b"))) == {"a": 1, "b": 0}


def test_a_raised_minimum_is_kept_and_told() -> None:
    decision = decided(None, group(min_replicas=2, replicas=1), worker("a"))
    assert sizes(decision) == {"small": 2}
    assert texts(decision) == ["minReplicas is 2: small 1 -> 2"]


def test_conservative_lets_as_many_come_as_have_joined() -> None:
    slow = Policy(upscaling_speed=1.0)
    assert sizes(decided(tasks(9), group(), policy=slow)) == {"small": 1}
    decision = decided(tasks(9), group(replicas=3), worker("a"), worker("b"), worker("c"), policy=slow)
    assert sizes(decision) == {"small": 6}
    assert texts(decision) == ["7 x {CPU: 4} pending for 0 s; 4 more when those on their way have joined (upscalingMode): small 3 -> 6"]
    waits = decided(
        tasks(9), group(replicas=6), *(worker(pod) for pod in "abc"), *(worker(pod, State.PENDING) for pod in "def"), policy=slow
    )
    assert sizes(waits) == {"small": 6}


def test_a_ceiling_holds_over_all_groups() -> None:
    decision = decided(tasks(9), group(replicas=1), group("other"), worker("a"), policy=Policy(ceiling=3))
    assert sum(sizes(decision).values()) == 3
    assert decision.infeasible[0].remedy == "7 x {CPU: 4} would fit with a higher limit of workers for 7 more of other"


@pytest.mark.parametrize(
    "wanted, remedy, waits",
    [
        (tasks(2, cpu=9), "{CPU: 9} needs a group whose nodes have as much: small lacks CPU (4 of 9)", False),
        (tasks(1, cpu=1, TPU=1), "{CPU: 1, TPU: 1} needs a group whose nodes have as much: small lacks TPU (0 of 1)", False),
        (
            tasks(1, selectors=(ZONE_A,)),
            "{CPU: 4} needs a group whose nodes have as much and zone in (a): small lacks the label zone in (a)",
            False,
        ),
        (tasks(14), "4 x {CPU: 4} would fit with maxReplicas of small 10 -> 14", True),
    ],
)
def test_what_would_satisfy_infeasible_demand_is_told(wanted: Request, remedy: str, waits: bool) -> None:
    [told] = decided(wanted, group()).infeasible
    assert (told.remedy, told.waits) == (remedy, waits)


def test_a_suspended_group_is_left_as_it_is() -> None:
    decision = decided(tasks(2), group(replicas=3, suspended=True, workers_to_delete=("x",)))
    assert not decision.targets[0].changes
    assert decision.infeasible


def test_a_node_that_is_drained_holds_nothing_and_is_replaced() -> None:
    assert sizes(decided(tasks(1), group(replicas=1), worker("a", State.DRAINING, free=4))) == {"small": 2}


def test_an_idle_node_that_waits_for_its_end_serves_demand_instead() -> None:
    decision = decided(tasks(1), group(replicas=1), idle("a", 600))
    assert (sizes(decision), decision.drains) == ({"small": 1}, ())


def test_bundles_that_all_differ_are_rounded_up_and_all_get_room() -> None:
    bundles = [tasks(1, cpu=1 + number / 10_000) for number in range(3000)]
    for demand in (gang(Strategy.PACK, *bundles), Demand(floor=tuple(bundles))):
        decision = decided(demand, group(max_replicas=10_000))
        assert (decision.infeasible, sizes(decision)) == ((), {"small": 1000})


def test_tasks_that_all_differ_are_rounded_up_and_all_get_room() -> None:
    demand = Demand(tuple(tasks(1, cpu=1 + number / 10_000) for number in range(3000)))
    decision = decided(demand, group(max_replicas=10_000))
    assert not decision.infeasible
    assert sizes(decision) == {"small": 1000}
    later = decided(demand, group(max_replicas=10_000), memory=decision.memory, now=NOW + 7)
    assert "pending for 7 s" in texts(later)[0]
