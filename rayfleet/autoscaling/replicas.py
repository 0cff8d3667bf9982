"""The replicas of each group as they are: which hold work or could, which are on their way in or out, which are done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rayfleet.autoscaling.drains import Departures
from rayfleet.autoscaling.values import Group, Instance, State

WORKING = (State.RUNNING, State.IDLE)
MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Replica:
    """The Pods of one replica, by name."""

    instances: tuple[Instance, ...]

    @property
    def name(self) -> str:
        return self.instances[0].pod

    @property
    def created_at(self) -> float:
        return max(each.created_at for each in self.instances)

    @property
    def idle_since(self) -> float | None:
        """None while a host works. The last to become idle counts."""
        times = [each.idle_since for each in self.instances if each.state == State.IDLE and each.idle_since is not None]
        return max(times) if len(times) == len(self.instances) else None


@dataclass(frozen=True, slots=True)
class Holding:
    """A group and what it has. `joined`: all hosts work or could. `coming`: some have not joined. `ending`: takes no new work. `done`: no
    work is left on it, its Pods are to be deleted. `leaving`: deleted already, or named for it.

    `base`: the replicas that the spec is to have before anything is added or ended; `missing` of them have no Pod yet.
    """

    group: Group
    joined: tuple[Replica, ...] = ()
    coming: tuple[Replica, ...] = ()
    ending: tuple[Replica, ...] = ()
    done: tuple[Replica, ...] = ()
    leaving: tuple[Replica, ...] = ()

    @property
    def held(self) -> int:
        return len(self.joined) + len(self.coming) + len(self.ending)

    @property
    def base(self) -> int:
        """A size that somebody lowered by hand is raised to what is there: only nodes that are named may go."""
        return min(max(self.group.replicas - len(self.done), self.held, self.group.min_replicas), self.group.max_replicas)

    @property
    def missing(self) -> int:
        return max(0, self.base - self.held)


def sane(groups: Iterable[Group]) -> dict[str, Group]:
    """By name, the first of several; numbers that make no sense are moved to the next that do, and the maximum wins."""
    found: dict[str, Group] = {}
    for group in sorted(groups, key=lambda each: (each.name, repr(each))):
        most = min(max(group.max_replicas, 0), MOST)
        least = min(max(group.min_replicas, 0), most)
        found.setdefault(group.name, replace(group, max_replicas=most, min_replicas=least, hosts=max(group.hosts, 1)))
    return found


def holdings(groups: Mapping[str, Group], instances: Iterable[Instance], departures: Departures) -> dict[str, Holding]:
    """Of groups that the spec has. Pods of others are the controller's to remove."""
    several: dict[str, dict[tuple[str, str], list[Instance]]] = {}
    for each in once(instances):
        if each.group in groups:
            key = (each.replica, "") if each.replica and groups[each.group].hosts > 1 else ("", each.pod)
            several.setdefault(each.group, {}).setdefault(key, []).append(each)
    return {
        name: holding(group, [Replica(tuple(hosts)) for hosts in several.get(name, {}).values()], departures)
        for name, group in groups.items()
    }


ORDER = (State.RUNNING, State.IDLE, State.DRAINING, State.LAUNCHING, State.PENDING, State.DEAD)


def once(instances: Iterable[Instance]) -> list[Instance]:
    """By name; of several with one name that which could hold the most work."""
    by_name: dict[str, list[Instance]] = {}
    for each in instances:
        by_name.setdefault(each.pod, []).append(each)
    return [min(several, key=likely) if len(several) > 1 else several[0] for _, several in sorted(by_name.items())]


def likely(each: Instance) -> tuple[int, str]:
    return ORDER.index(each.state), repr(replace(each, gangs=frozenset())) + repr(sorted(each.gangs))


def holding(group: Group, replicas: list[Replica], departures: Departures) -> Holding:
    places: dict[str, list[Replica]] = {"joined": [], "coming": [], "ending": [], "done": [], "leaving": []}
    for each in sorted(replicas, key=lambda each: each.name):
        places[place(group, each, departures)].append(each)
    return Holding(group, **{name: tuple(found) for name, found in places.items()})


def place(group: Group, each: Replica, departures: Departures) -> str:
    if any(host.terminating or host.pod in group.workers_to_delete for host in each.instances):
        return "leaving"
    over = [departures.over(host) for host in each.instances]
    if any(over) and all(gone or host.state not in (*WORKING, State.DRAINING) for gone, host in zip(over, each.instances, strict=True)):
        return "done"
    if any(over) or any(departures.leaves(host) for host in each.instances):
        return "ending"
    if len(each.instances) >= group.hosts and all(host.state in WORKING for host in each.instances):
        return "joined"
    return "coming"
