"""Words for the planner's tests."""

from __future__ import annotations

from typing import Any

from rayfleet.autoscaling.amounts import Resources, resources
from rayfleet.autoscaling.decide import decide
from rayfleet.autoscaling.values import (
    HEAD,
    Decision,
    Demand,
    Gang,
    Group,
    Instance,
    Memory,
    Policy,
    Request,
    Selector,
    State,
    Strategy,
)

NOW = 1_000_000.0
NOTHING, USUAL = Memory(), Policy()


def amounts(cpu: float, **others: float) -> Resources:
    return resources({"CPU": cpu, **others})


def group(name: str = "small", cpu: float = 4, **fields: Any) -> Group:
    given = {"max_replicas": 10, "resources": amounts(cpu), **fields}
    return Group(name, **given)


def tasks(count: int, cpu: float = 4, selectors: tuple[Selector, ...] = (), **others: float) -> Request:
    return Request(amounts(cpu, **others), count, selectors)


def gang(strategy: Strategy, *bundles: Request, name: str = "_PG_a") -> Gang:
    return Gang(name, strategy, bundles, f"a:{strategy}|PENDING")


def worker(pod: str, state: State = State.RUNNING, of: str = "small", cpu: float = 4, free: float = 0, **fields: Any) -> Instance:
    """A worker that joined with nothing free, unless the state says otherwise."""
    if state in (State.PENDING, State.LAUNCHING):
        return Instance(pod, of, state, created_at=NOW - 5, **fields)
    if state == State.IDLE:
        free = cpu
        fields.setdefault("idle_since", NOW)
    given = {"node": f"node-{pod}", "total": amounts(cpu), "available": amounts(free), **fields}
    return Instance(pod, of, state, **given)


def idle(pod: str, seconds: float, **fields: Any) -> Instance:
    return worker(pod, State.IDLE, idle_since=NOW - seconds, **fields)


def head(cpu: float = 0, free: float = 0) -> Instance:
    return worker("head", State.RUNNING, HEAD, cpu, free)


def decided(
    demand: Demand | Request | Gang | None = None,
    *known: Group | Instance,
    memory: Memory = NOTHING,
    now: float = NOW,
    policy: Policy = USUAL,
) -> Decision:
    """Groups and instances in any order; where no head is named one without resources is there."""
    wanted = demand if isinstance(demand, Demand) else asked(demand)
    groups = [each for each in known if isinstance(each, Group)]
    instances = [each for each in known if isinstance(each, Instance)]
    if not any(each.group == HEAD for each in instances):
        instances.append(head())
    return decide(wanted, groups, instances, policy, memory, now)


def asked(demand: Request | Gang | None) -> Demand:
    if isinstance(demand, Gang):
        return Demand(gangs=(demand,))
    return Demand((demand,) if demand else ())


def sizes(decision: Decision) -> dict[str, int]:
    return {target.group: target.replicas for target in decision.targets}


def texts(decision: Decision) -> list[str]:
    return [sentence.text for sentence in decision.sentences]
