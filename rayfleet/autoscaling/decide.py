"""From what Ray asks for and what is there to the size of each group. Pure: the same arguments give the same answer, in any order of lists.

What is on its way counts as if it were there, so that the same demand is answered once: Pods that have not joined, and replicas that the
spec has and that have no Pod yet. Nothing else need be remembered of a launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rayfleet.autoscaling.drains import Departures, departures
from rayfleet.autoscaling.growth import Growth, grow
from rayfleet.autoscaling.reasons import Since, of_growth, waiting_since
from rayfleet.autoscaling.reduction import Needs, Reduction, reduce
from rayfleet.autoscaling.remedies import infeasible
from rayfleet.autoscaling.replicas import Holding, holdings, once, sane
from rayfleet.autoscaling.shapes import few
from rayfleet.autoscaling.values import HEAD, Decision, Demand, Group, Instance, Launch, Memory, Policy, Sentence, Target


def decide(demand: Demand, groups: Sequence[Group], instances: Iterable[Instance], policy: Policy, memory: Memory, now: float) -> Decision:
    """What to write, whom to drain, and why. Raises nothing, whatever the amounts, counts, names and times are."""
    demand, known = few(demand), once(instances)
    out = departures(memory, known, now)
    held = holdings(sane(groups), known, out)
    growth = grow(demand, held, [each for each in known if each.group == HEAD], policy.ceiling)
    reduction = reduce(held, Needs(*growth.used), policy, memory, out)
    launched = {name: begun(each, growth.opened.get(name, 0), policy.upscaling_speed) for name, each in held.items()}
    since = waiting_since(demand, memory, now)
    targets = [target(each, launched[each.group.name], reduction, known) for each in held.values()]
    return Decision(
        targets=tuple(targets),
        drains=tuple(reduction.drains),
        infeasible=tuple(infeasible(growth, held)),
        sentences=tuple(sentences(held, growth, launched, targets, since, now)) + tuple(reduction.sentences),
        memory=remembered(held, launched, reduction, out, memory, since),
        again_at=min((time for time in (*reduction.deadlines, *out.deadlines) if time > now), default=None),
    )


def begun(each: Holding, wanted: int, speed: float | None) -> int:
    """How many of the replicas that are wanted may begin now, beside those that are on their way."""
    if speed is None:
        return wanted
    most = max(1, math.ceil(speed * max(len(each.joined), 1)))
    return max(0, min(wanted, most - len(each.coming) - each.missing))


def target(each: Holding, launched: int, reduction: Reduction, instances: Iterable[Instance]) -> Target:
    """Names of Pods that are gone are dropped. A suspended group is left as it is."""
    group, name = each.group, each.group.name
    if group.suspended:
        return Target(name, group.replicas, group.replicas, group.workers_to_delete, group.workers_to_delete)
    there = {instance.pod for instance in instances}
    done = [host.pod for replica in each.done for host in replica.instances]
    cancelled = reduction.delete.get(name, [])
    kept = [pod for pod in group.workers_to_delete if pod in there]
    given_up = sum(1 for replica in each.coming if replica.name in cancelled) + reduction.fewer.get(name, 0)
    surplus = max(0, each.held - group.max_replicas)
    size = each.base + launched - max(0, given_up - surplus)
    return Target(name, size, group.replicas, tuple(sorted({*kept, *done, *cancelled})), group.workers_to_delete)


def sentences(
    held: Mapping[str, Holding], growth: Growth, launched: Mapping[str, int], targets: Sequence[Target], since: Since, now: float
) -> list[Sentence]:
    """Of each group whose entry changes, why."""
    said = []
    for each, wanted in zip(held.values(), targets, strict=True):
        name, change = wanted.group, f"{wanted.group} {wanted.was} -> {wanted.replicas}"
        ended = [host.pod for replica in each.done for host in replica.instances]
        if ended:
            said.append(Sentence("WorkerEnded", f"{', '.join(ended)} drained or dead: {change}"))
        if wanted.replicas > wanted.was:
            reasons = of_growth(each, growth, launched[name], since, now)
            said.append(Sentence("ScaledUp", f"{'; '.join(reasons)}: {change}"))
        elif wanted.was > each.group.max_replicas:
            said.append(Sentence("ScaledDown", f"maxReplicas is {each.group.max_replicas}: {change}"))
    return said


def remembered(
    held: Mapping[str, Holding], launched: Mapping[str, int], reduction: Reduction, out: Departures, memory: Memory, since: Since
) -> Memory:
    begun_at = {launch.group: launch.since for launch in memory.launches}
    launches = [
        Launch(name, count, min(begun_at.get(name, out.now), out.now))
        for name, each in held.items()
        if (count := launched[name] + len(each.coming) + each.missing) > 0
    ]
    drains = {**out.drains, **{drain.pod: drain for drain in reduction.drains}}
    return Memory(
        launches=tuple(launches),
        drains=tuple(drains[pod] for pod in sorted(drains)),
        pending=frozenset(since.items()),
        unneeded=tuple(sorted(reduction.unneeded.items())),
        dead=tuple(sorted(out.dead.items())),
    )
