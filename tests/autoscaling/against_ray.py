"""Random clusters with random demand, sized by the planner and by Ray's own scheduler (`ray.autoscaler.v2`, from the wheel).

usage: python -m tests.autoscaling.against_ray [CASES [FIRST_SEED]]      prints every case in which the two differ
"""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.autoscaler.v2.scheduler import ResourceDemandScheduler, SchedulingRequest
from ray.autoscaler.v2.schema import AutoscalerInstance
from ray.autoscaler.v2.utils import ResourceRequestUtil
from ray.core.generated import autoscaler_pb2 as wire
from ray.core.generated.instance_manager_pb2 import Instance as Managed
from ray.core.generated.instance_manager_pb2 import NodeKind

from rayfleet.autoscaling.amounts import UNIT, Resources, resources
from rayfleet.autoscaling.decide import decide
from rayfleet.autoscaling.values import HEAD, Demand, Gang, Group, Instance, Memory, Policy, Request, Requirement, Selector, State, Strategy

ZONES = ("a", "b", "c")
GROUPS = ("cpu", "large", "gpu", "zoned")
AFFINITY, ANTI = ResourceRequestUtil.PlacementConstraintType.AFFINITY, ResourceRequestUtil.PlacementConstraintType.ANTI_AFFINITY


@dataclass(frozen=True)
class Case:
    demand: Demand
    groups: tuple[Group, ...]
    instances: tuple[Instance, ...]


@dataclass(frozen=True)
class Outcome:
    """How many new nodes; how many tasks, placement groups and constraints found no room."""

    nodes: int
    tasks: int
    gangs: int
    floors: int


def case(seed: int) -> Case:
    dice = random.Random(seed)
    groups = tuple(group(dice, name) for name in dice.sample(GROUPS, dice.randint(1, 4)))
    instances = [instance for each in groups for instance in present(dice, each)]
    if dice.random() < 0.7:
        total = resources({"CPU": dice.choice((0.5, 2, 4)), "memory": 8e9})
        instances.append(Instance("head", HEAD, State.RUNNING, "aa", total=total, available=total))
    requests = tuple(request(dice, 20) for _ in range(dice.choice((0, 1, 1, 2, 3, 6))))
    gangs = tuple(gang(dice, number) for number in range(dice.choice((0, 0, 0, 1, 2, 4))))
    floor = tuple(request(dice, 8) for _ in range(dice.choice((0, 0, 0, 1, 2))))
    return Case(Demand(requests, gangs, floor), groups, tuple(instances))


def group(dice: random.Random, name: str) -> Group:
    size = dice.choice((1, 2, 4, 8, 16))
    amounts = {"CPU": size, "memory": size * 2e9}
    if name == "gpu":
        amounts["GPU"] = dice.choice((1, 4, 8))
    if dice.random() < 0.2:
        amounts["disk"] = dice.choice((1, 2))
    labels = (("zone", dice.choice(ZONES)),) if name == "zoned" or dice.random() < 0.2 else ()
    most = dice.choice((1, 3, 10, 40))
    least = dice.choice((0, 0, 0, 1))
    return Group(name, least, most, 0, 1, resources(amounts), labels, dice.choice((0, 0, 0, 5)))


def present(dice: random.Random, of: Group) -> Iterator[Instance]:
    for number in range(dice.choice((0, 0, 1, 2, 5))):
        if number >= of.max_replicas:
            return
        pod = f"{of.name}-{number}"
        if dice.random() < 0.3:
            yield Instance(pod, of.name, State.PENDING)
            continue
        free = tuple((name, amount * dice.choice((0, 1, 2, 4)) // 4) for name, amount in of.resources)
        yield Instance(pod, of.name, State.RUNNING, pod.encode().hex(), total=of.resources, available=free, labels=of.labels)


def request(dice: random.Random, most: int) -> Request:
    amounts = {"CPU": dice.choice((0, 0.25, 0.5, 1, 1, 1, 2, 3, 4, 8))}
    if dice.random() < 0.2:
        amounts["GPU"] = dice.choice((0.5, 1, 2))
    if dice.random() < 0.2:
        amounts["memory"] = dice.choice((1e8, 1e9, 5e9))
    if dice.random() < 0.1:
        amounts["disk"] = 1
    return Request(resources(amounts), dice.randint(1, most), selectors(dice) if dice.random() < 0.2 else ())


def selectors(dice: random.Random) -> tuple[Selector, ...]:
    return tuple(
        (Requirement("zone", tuple(sorted(dice.sample(ZONES, dice.randint(1, 2)))), dice.random() < 0.3),)
        for _ in range(dice.choice((1, 1, 2)))
    )


def gang(dice: random.Random, number: int) -> Gang:
    strategy = dice.choice(list(Strategy))
    shape = request(dice, 1)
    bundles = [shape if dice.random() < 0.7 else Request(request(dice, 1).resources, 1, shape.selectors) for _ in range(dice.randint(1, 6))]
    return Gang(f"_PG_{number:02}", strategy, tuple(bundles), f"{number:02}:{strategy}|PENDING")


def ours(case: Case) -> Outcome:
    decision = decide(case.demand, case.groups, case.instances, Policy(), Memory(), 0.0)
    there = sum(1 for each in case.instances if each.group != HEAD)
    return Outcome(
        nodes=sum(target.replicas for target in decision.targets) - there,
        tasks=sum(each.request.count for each in decision.infeasible if each.request),
        gangs=sum(1 for each in decision.infeasible if each.gang),
        floors=sum(1 for each in decision.infeasible if each.floor),
    )


def rays(case: Case) -> Outcome:
    reply = ResourceDemandScheduler().schedule(
        SchedulingRequest(
            disable_launch_config_check=True,
            node_type_configs=configs(case),
            max_num_nodes=sum(each.max_replicas for each in case.groups) + 1,
            resource_requests=[wire.ResourceRequestByCount(request=made(each), count=each.count) for each in case.demand.requests],
            gang_resource_requests=[gang_made(each) for each in case.demand.gangs],
            cluster_resource_constraints=[constraint(case.demand.floor)] if case.demand.floor else [],
            current_instances=[instance_made(each) for each in sorted(case.instances, key=lambda each: each.pod)],
        )
    )
    return Outcome(
        nodes=sum(each.count for each in reply.to_launch),
        tasks=len(reply.infeasible_resource_requests),
        gangs=len(reply.infeasible_gang_resource_requests),
        floors=len(reply.infeasible_cluster_resource_constraints),
    )


def configs(case: Case) -> dict[str, NodeTypeConfig]:
    """The head's own entry allows none but the one that is there."""
    found = {HEAD: NodeTypeConfig(HEAD, 0, sum(1 for each in case.instances if each.group == HEAD))}
    for each in sorted(case.groups, key=lambda each: each.name):
        found[each.name] = NodeTypeConfig(
            each.name,
            each.min_replicas,
            each.max_replicas,
            priority=each.priority,
            resources=floats(each.resources),
            labels=dict(each.labels),
        )
    return found


def floats(amounts: Resources) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in amounts}


def made(each: Request, constraints: list[Any] | None = None) -> Any:
    operators = {False: 1, True: 2}
    chosen = [[(term.key, operators[term.excluded], list(term.values)) for term in selector] for selector in each.selectors]
    return ResourceRequestUtil.make(floats(each.resources), constraints, chosen)


def gang_made(each: Gang) -> Any:
    kind = {Strategy.STRICT_PACK: AFFINITY, Strategy.STRICT_SPREAD: ANTI}.get(each.strategy)
    constraints = [(kind, each.id, "")] if kind else None
    return wire.GangResourceRequest(requests=[made(bundle, constraints) for bundle in each.bundles], details=each.details)


def constraint(floor: tuple[Request, ...]) -> Any:
    requests = [wire.ResourceRequestByCount(request=made(each), count=each.count) for each in floor]
    return wire.ClusterResourceConstraint(resource_requests=requests)


def instance_made(each: Instance) -> AutoscalerInstance:
    joined = each.state == State.RUNNING
    managed = Managed(
        instance_id=each.pod,
        cloud_instance_id=each.pod,
        node_id=each.node,
        status=Managed.RAY_RUNNING if joined else Managed.ALLOCATED,
        instance_type=each.group,
        node_kind=NodeKind.HEAD if each.group == HEAD else NodeKind.WORKER,
    )
    state = wire.NodeState(
        node_id=bytes.fromhex(each.node),
        instance_id=each.pod,
        total_resources=floats(each.total),
        available_resources=floats(each.available),
        labels=dict(each.labels),
        status=wire.NodeStatus.RUNNING,
    )
    return AutoscalerInstance(each.pod, state if joined else None, managed)


def main() -> int:
    cases, first = (int(sys.argv[1]) if len(sys.argv) > 1 else 2000), (int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    logging.disable(logging.INFO)
    more = less = worse = 0
    for seed in range(first, first + cases):
        drawn = case(seed)
        mine, theirs = ours(drawn), rays(drawn)
        if mine != theirs:
            print(seed, "ours", mine, "Ray's", theirs)
        more += mine.nodes > theirs.nodes
        less += mine.nodes < theirs.nodes
        worse += (mine.floors, mine.gangs, mine.tasks) > (theirs.floors, theirs.gangs, theirs.tasks)
    print(f"{cases} demands: less satisfied in {worse}, more nodes in {more}, fewer in {less}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
