"""What ends: nodes that were idle for long enough, replicas above a maximum, Pods that nothing needs and that never got a place.

A node is drained first; its Pod is deleted by a later decision, when Ray has let it go. The head is in no group and never ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rayfleet.autoscaling.drains import Departures
from rayfleet.autoscaling.replicas import WORKING, Holding, Replica
from rayfleet.autoscaling.values import Cause, Drain, Group, Instance, Memory, Policy, Sentence, State

UNPLACED = 600.0  # seconds that a Pod without a place, which nothing needs, is waited for: image pulls and new machines take minutes
WATCHED = 10_000  # of the replicas of a group that nothing needs, as many at a time


@dataclass(slots=True)
class Reduction:
    """`drains`: to ask now. `delete`: Pods of replicas that never began. `fewer`: how many replicas that have no Pod are given up.

    `unneeded`: as in Memory. `deadlines`: when time alone could end more.
    """

    now: float
    drains: list[Drain] = field(default_factory=list)
    delete: dict[str, list[str]] = field(default_factory=dict)
    fewer: dict[str, int] = field(default_factory=dict)
    unneeded: dict[str, tuple[float, ...]] = field(default_factory=dict)
    deadlines: list[float] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)

    def drain(self, replica: Replica, group: Group, cause: Cause, why: str, departures: Departures) -> None:
        hosts = [host for host in replica.instances if host.state in WORKING and departures.may_ask(host)]
        self.drains += [Drain(host.node, host.pod, group.name, cause, why, self.now) for host in hosts]
        if hosts:
            self.sentences.append(Sentence("DrainingWorker", f"{', '.join(host.pod for host in hosts)} of {group.name}: {why}"))

    def asked(self, replicas: Iterable[Replica]) -> int:
        """How many of them have a host that is drained by this decision."""
        pods = {drain.pod for drain in self.drains}
        return sum(1 for replica in replicas if any(host.pod in pods for host in replica.instances))

    def cancel(self, replica: Replica, group: Group, why: str) -> None:
        self.delete.setdefault(group.name, []).extend(host.pod for host in replica.instances)
        self.sentences.append(Sentence("WorkerNotNeeded", f"{replica.name} of {group.name}: {why}"))


@dataclass(frozen=True, slots=True)
class Needs:
    """The Pods that demand went to, and how many nodes of each group that have no Pod yet."""

    pods: set[str]
    missing: Mapping[str, int]

    def has(self, replica: Replica) -> bool:
        return any(host.pod in self.pods for host in replica.instances)


def reduce(holdings: Mapping[str, Holding], needs: Needs, policy: Policy, memory: Memory, out: Departures) -> Reduction:
    found, known = Reduction(out.now), dict(memory.unneeded)
    for each in holdings.values():
        if not each.group.suspended:
            finish(found, each, out)
            surplus(found, each, out)
            idle(found, each, needs, policy, out)
            unplaced(found, each, needs, known.get(each.group.name, ()))
    if policy.ceiling is not None:
        above(found, holdings, policy.ceiling, out)
    return found


def finish(found: Reduction, each: Holding, out: Departures) -> None:
    """A replica that has lost one host is of no use: the others take no new work and end when theirs is done."""
    for replica in each.ending:
        if len(replica.instances) > 1:
            found.drain(replica, each.group, Cause.PREEMPTION, "another host of the replica has ended", out)


def surplus(found: Reduction, each: Holding, out: Departures) -> None:
    most = each.group.max_replicas
    if each.held > most:
        several = [(each.group, replica) for replica in (*each.coming, *each.joined)]
        shed(found, several, len(several) - most, f"maxReplicas is {most}", out)


def above(found: Reduction, holdings: Mapping[str, Holding], ceiling: int, out: Departures) -> None:
    """Each group keeps its minimum."""
    several: list[tuple[Group, Replica]] = []
    pods = -max(ceiling, 0)
    for each in holdings.values():
        taken = {drain.pod for drain in found.drains} | set(found.delete.get(each.group.name, ()))
        kept = [replica for replica in (*each.coming, *each.joined) if not any(host.pod in taken for host in replica.instances)]
        spare = max(0, len(kept) - each.group.min_replicas)
        several += [(each.group, replica) for replica in sorted(kept, key=least_useful)[:spare]]
        pods += len(kept) * each.group.hosts
    if pods > 0 and several:
        hosts = max(group.hosts for group, _ in several)
        shed(found, several, -(-pods // hosts), f"the cluster may have {ceiling} workers", out)


def shed(found: Reduction, several: list[tuple[Group, Replica]], count: int, why: str, out: Departures) -> None:
    """Those without a place first, then the idle, the longest idle first, then the least in use. Work that runs is let finish."""
    able = [pair for pair in several if startable(pair[1]) or all(out.may_ask(host) for host in pair[1].instances)]
    for group, replica in sorted(able, key=lambda pair: least_useful(pair[1]))[: max(0, count)]:
        if startable(replica):
            found.cancel(replica, group, why)
        else:
            cause = Cause.PREEMPTION if replica.idle_since is None else Cause.IDLE
            found.drain(replica, group, cause, why, out)


def startable(replica: Replica) -> bool:
    """Has no container begun? Such a Pod can have no work."""
    return all(host.state == State.PENDING for host in replica.instances)


def least_useful(replica: Replica) -> tuple[object, ...]:
    since = replica.idle_since
    return (not startable(replica), since is None, since or 0.0, max(in_use(host) for host in replica.instances), replica.name)


def in_use(each: Instance) -> float:
    """The mean share of its resources that a node uses."""
    free = dict(each.available)
    shares = [1 - min(max(free.get(name, 0), 0), amount) / amount for name, amount in each.total if amount > 0]
    return sum(shares) / len(shares) if shares else 0.0


def idle(found: Reduction, each: Holding, needs: Needs, policy: Policy, out: Departures) -> None:
    """The longest idle first, as long as so many as the minimum stay that have joined."""
    group = each.group
    timeout = policy.idle_timeout if group.idle_timeout is None else group.idle_timeout
    spare = len(each.joined) - found.asked(each.joined) - group.min_replicas
    asked = {drain.pod for drain in found.drains}
    able = [(since, replica) for replica in each.joined if (since := replica.idle_since) is not None and not needs.has(replica)]
    for since, replica in sorted(able, key=lambda pair: (pair[0], pair[1].name)):
        if spare <= 0:
            break
        if any(host.pod in asked or not out.may_ask(host) for host in replica.instances):
            continue
        spare -= 1
        if found.now - since >= timeout:
            found.drain(replica, group, Cause.IDLE, f"idle for {found.now - since:.0f} s of {timeout:g} s", out)
        else:
            found.deadlines.append(since + timeout)


def unplaced(found: Reduction, each: Holding, needs: Needs, known: tuple[float, ...]) -> None:
    """Counted, as they are alike: since when at least one, two, ... are needed by nothing. Those that have no Pod go first."""
    group = each.group
    missing = each.missing - -(-needs.missing.get(group.name, 0) // group.hosts)
    gone_already = set(found.delete.get(group.name, ()))
    cancelled = [replica for replica in each.coming if replica.name in gone_already]
    pending = [replica for replica in each.coming if startable(replica) and not needs.has(replica) and replica not in cancelled]
    leaving = found.asked(each.joined) + len(cancelled)
    spare = len(each.joined) + len(each.coming) + each.missing - leaving - group.min_replicas
    count = max(0, min(missing + len(pending), spare, WATCHED))
    since = (*(min(time, found.now) for time in known[:count]), *(found.now for _ in range(count - len(known))))
    over = sum(1 for time in since if found.now - time >= UNPLACED)
    gone = min(over, missing)
    if gone:
        found.fewer[group.name] = gone
        found.sentences.append(Sentence("WorkerNotNeeded", f"{gone} of {group.name} without a Pod: not needed for {UNPLACED:.0f} s"))
    for replica in sorted(pending, key=lambda replica: (-replica.created_at, replica.name))[: over - gone]:
        found.cancel(replica, group, f"without a place and not needed for {UNPLACED:.0f} s")
    if since[over:]:
        found.unneeded[group.name] = since[over:]
        found.deadlines.append(since[over] + UNPLACED)
