"""What holds of every decision, over clusters and demand that nobody would think of."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rayfleet.autoscaling.amounts import resources
from rayfleet.autoscaling.decide import decide
from rayfleet.autoscaling.values import (
    HEAD,
    Cause,
    Decision,
    Demand,
    Drain,
    Gang,
    Group,
    Instance,
    Memory,
    Policy,
    Request,
    Requirement,
    State,
    Strategy,
)
from tests.autoscaling.vocabulary import NOW

NAMES = ("a", "b", "c")
PODS = ("p0", "p1", "p2", "p3", "p4", "p5")
odd_int = st.sampled_from((-(2**31), -1, 0, 1, 2, 3, 5, 2**31 - 1))
amounts = st.dictionaries(
    st.sampled_from(("CPU", "GPU", "node:__internal_implicit_resource_x", "")), st.sampled_from((0.5, 1, 2, 1e15)), max_size=3
)
# What a decoder never lets through is tried all the same: amounts below nothing, and one name twice.
shapes = st.one_of(amounts.map(resources), st.sampled_from(((("CPU", -5),), (("CPU", 10_000), ("CPU", 20_000)))))
terms = st.builds(Requirement, st.sampled_from(("zone", "")), st.lists(st.sampled_from(NAMES), max_size=2).map(tuple), st.booleans())
selectors = st.lists(st.lists(terms, max_size=2).map(tuple), max_size=2).map(tuple)
requests = st.builds(Request, shapes, st.sampled_from((-1, 0, 1, 2, 7, 100_000)), selectors)
few = st.builds(Request, shapes, st.sampled_from((-1, 0, 1, 2, 7)), selectors)
gangs = st.builds(Gang, st.sampled_from(("", "_PG_a", "_PG_b")), st.sampled_from(Strategy), st.lists(few, max_size=4).map(tuple))
demands = st.builds(
    Demand, st.lists(requests, max_size=4).map(tuple), st.lists(gangs, max_size=3).map(tuple), st.lists(few, max_size=2).map(tuple)
)
labels = st.sampled_from(((), (("zone", "a"),), (("zone", "b"), ("", "a"))))
groups = st.builds(
    Group,
    st.sampled_from(NAMES),
    odd_int,
    odd_int,
    odd_int,
    st.sampled_from((-1, 0, 1, 1, 1, 2, 4)),
    shapes,
    labels,
    st.integers(-2, 2),
    st.sampled_from((None, 0.0, 30.0)),
    st.lists(st.sampled_from((*PODS, "gone")), max_size=2).map(tuple),
    st.booleans(),
)
times = st.sampled_from((NOW - 1e9, NOW - 700, NOW - 61, NOW - 5, NOW, NOW + 1e6))
instances = st.builds(
    Instance,
    st.sampled_from(PODS),
    st.sampled_from((*NAMES, HEAD, "removed")),
    st.sampled_from(State),
    st.sampled_from(("", "n0", "n1", "n2")),
    st.sampled_from(("", "r0", "r1")),
    shapes,
    shapes,
    labels,
    st.frozensets(st.sampled_from(("_PG_a", "_PG_b"))),
    st.one_of(st.none(), times),
    times,
    st.booleans(),
)
drains = st.builds(
    Drain,
    st.sampled_from(("n0", "n1")),
    st.sampled_from((*PODS, "gone")),
    st.sampled_from(NAMES),
    st.sampled_from(Cause),
    st.just("idle"),
    times,
    st.sampled_from((None, True, False)),
    times,
)
memories = st.builds(
    Memory,
    drains=st.lists(drains, max_size=3).map(tuple),
    unneeded=st.lists(st.tuples(st.sampled_from(NAMES), st.lists(times, max_size=3).map(tuple)), max_size=2).map(tuple),
    dead=st.lists(st.tuples(st.sampled_from(PODS), times), max_size=2).map(tuple),
)
policies = st.builds(
    Policy, st.sampled_from((None, 0.0, 1.0, 99999.0)), st.sampled_from((0.0, 60.0)), st.sampled_from((None, -1, 0, 3, 100))
)
worlds = st.tuples(demands, st.lists(groups, max_size=4), st.lists(instances, max_size=8), policies, memories)
World = tuple[Demand, list[Group], list[Instance], Policy, Memory]


def of(world: World) -> Decision:
    return decide(*world, NOW)


@settings(max_examples=200, deadline=None)
@given(worlds)
def test_no_size_is_above_the_maximum_or_below_the_minimum(world: World) -> None:
    by_name: dict[str, list[Group]] = {}
    for group in world[1]:
        by_name.setdefault(group.name, []).append(group)
    decision = of(world)
    assert [target.group for target in decision.targets] == sorted(by_name)
    for target in decision.targets:
        if len(by_name[target.group]) == 1 and not by_name[target.group][0].suspended:
            [group] = by_name[target.group]
            most = max(group.max_replicas, 0)
            assert min(max(group.min_replicas, 0), most) <= target.replicas <= most


@settings(max_examples=150, deadline=None)
@given(worlds, st.randoms(use_true_random=False))
def test_the_order_of_lists_does_not_matter(world: World, dice: object) -> None:
    demand, groups, instances, policy, memory = world
    shuffled = [list(each) for each in (demand.requests, demand.gangs, groups, instances, memory.drains)]
    for each in shuffled:
        dice.shuffle(each)  # type: ignore[attr-defined]
    other = replace(demand, requests=tuple(shuffled[0]), gangs=tuple(shuffled[1]))
    unique = {(drain.pod, drain.asked_at): drain for drain in memory.drains}.values()
    of_drains = replace(memory, drains=tuple(unique))
    turned = replace(memory, drains=tuple(reversed(of_drains.drains)))
    assert decide(demand, groups, instances, policy, of_drains, NOW) == decide(other, shuffled[2], shuffled[3], policy, turned, NOW)


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_what_is_deleted_has_no_work_by_ray_s_own_word(world: World) -> None:
    """Its node is dead, or was let go, or its Pod never began."""
    _, groups, instances, _, memory = world
    pods = {instance.pod: instance for instance in instances if sum(1 for each in instances if each.pod == instance.pod) == 1}
    named = {pod for group in groups for pod in group.workers_to_delete}
    accepted = {drain.pod for drain in memory.drains if drain.accepted is not False and drain.cause == Cause.IDLE}
    for target in of(world).targets:
        for pod in set(target.delete) - named:
            if pod in pods and pod not in accepted:
                assert pods[pod].state not in (State.RUNNING, State.IDLE, State.DRAINING)
                assert pods[pod].group != HEAD


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_only_workers_are_drained_and_none_that_works_as_if_it_were_idle(world: World) -> None:
    _, groups, instances, _, _ = world
    workers = {instance.node for instance in instances if instance.group in {group.name for group in groups}}
    idle = {instance.node for instance in instances if instance.state == State.IDLE}
    for drain in of(world).drains:
        assert drain.node
        assert drain.node in workers
        assert drain.cause == Cause.PREEMPTION or drain.node in idle


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_the_same_demand_is_answered_once(world: World) -> None:
    """When the decision is written, and nothing else has changed, the next one changes nothing and asks nobody again."""
    demand, groups, instances, policy, _ = world
    first = of(world)
    targets = {target.group: target for target in first.targets}
    written = [
        replace(group, replicas=targets[group.name].replicas, workers_to_delete=targets[group.name].delete)
        for group in {group.name: group for group in groups}.values()
    ]
    if len(written) < len(groups):
        return
    second = decide(demand, written, instances, policy, first.memory, NOW)
    grown = [target for target in second.targets if target.replicas > target.was]
    assert not grown or policy.upscaling_speed is not None or policy.ceiling is not None
    assert not {drain.node for drain in second.drains} & {drain.node for drain in first.drains}


@settings(max_examples=200, deadline=None)
@given(worlds, st.integers(1, 5))
def test_more_of_the_same_tasks_never_make_a_group_smaller(world: World, more: int) -> None:
    demand, groups, instances, policy, memory = world
    demand = Demand(tuple(replace(each, count=max(each.count, 0)) for each in demand.requests[:1]))
    wider = Demand(tuple(replace(each, count=each.count + more) for each in demand.requests))
    before = {target.group: target.replicas for target in decide(demand, groups, instances, policy, memory, NOW).targets}
    after = {target.group: target.replicas for target in decide(wider, groups, instances, policy, memory, NOW).targets}
    assert all(after[name] >= before[name] for name in before)
