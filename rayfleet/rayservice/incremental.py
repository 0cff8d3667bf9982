"""The arithmetic of an incremental upgrade: the shares of traffic and replicas that two clusters are to have next (KubeRay, 4.4).

All that it depends on can be read off objects: the weight off the HTTPRoute, the capacities off what Ray reports. In percent:

```
weight of the second cluster    0 ........ surge ........ 2 surge ..... 100
capacity of the second        surge        2 surge        3 surge       100     told before the weight moves on
capacity of the first          100        100 - surge    100 - 2 surge    0     told when the weight has come that far
```
Back from an upgrade is the same the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = 100


@dataclass(frozen=True, slots=True)
class Pace:
    """`surge`: what both capacities may come to beyond 100; `step`: by how much the weight moves at a time. In percent."""

    surge: int
    step: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two. `capacity` is what it was last told to have. `answers`: has its Service an endpoint that is ready? `serves`: may
    more of the traffic go to it? `hears`: can it be told another capacity? `counts`: is its capacity a part of what both may have?"""

    capacity: int
    answers: bool = True
    serves: bool = True
    hears: bool = True
    counts: bool = True

    @property
    def burden(self) -> int:
        return self.capacity if self.counts else 0


@dataclass(frozen=True, slots=True)
class Stand:
    """How far it has come: the second cluster's `weight`, and both sides. `back`: the upgrade is taken back. `due`: the interval since the
    weight was last changed is over. `held`: nothing may go on, as the Gateway is not there, or somebody pauses it. `lost`: who is
    to go has nothing to give any more, so nothing is waited for."""

    first: Side
    second: Side
    weight: int
    back: bool = False
    due: bool = True
    held: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What is wanted next. `over`: the first cluster (`back`), or the second, is the only one that is needed."""

    weight: int
    first: int
    second: int
    over: bool = False


def next_step(stand: Stand, pace: Pace) -> Step:
    """The same as it is once there is nothing to do but to wait. Traffic moves first: replicas are told when it is seen where it went."""
    if is_over(stand):
        return Step(stand.weight, stand.first.capacity, stand.second.capacity, over=True)
    weight = next_weight(stand, pace)
    if weight != stand.weight:
        return Step(weight, stand.first.capacity, stand.second.capacity)
    return Step(weight, *capacities(stand, pace))


def next_weight(stand: Stand, pace: Pace) -> int:
    """Nothing goes to who has no endpoints while the other one has, whatever else is the case."""
    first, second = stand.first, stand.second
    if not second.answers and first.answers:
        return 0
    if not first.answers and second.answers and second.serves and second.capacity > 0:
        return ALL
    if stand.held or not stand.due:
        return stand.weight
    if stand.back:
        least = max(stand.weight - pace.step, ALL - first.capacity, 0)
        return min(stand.weight, least) if first.answers else stand.weight
    most = min(stand.weight + pace.step, second.capacity, ALL)
    return max(stand.weight, most) if second.serves and second.answers else stand.weight


def capacities(stand: Stand, pace: Pace) -> tuple[int, int]:
    """Of the first and the second. One is raised only when there is room, so that the other one is lowered before; and nobody is told to
    have nothing before it has had no traffic for an interval."""
    first, second = stand.first.capacity, stand.second.capacity
    if stand.held:
        return first, second
    wanted_first, wanted_second = levels(stand.weight, pace.surge, stand.back)
    room = ALL + pace.surge
    if wanted_first < first and (wanted_first > 0 or stand.due):
        first = wanted_first
    if wanted_second < second and (wanted_second > 0 or stand.due):
        second = wanted_second
    if wanted_first > first and wanted_first + stand.second.burden <= room:
        first = wanted_first
    beside = max(first, stand.first.capacity) if stand.first.counts else 0
    if wanted_second > second and beside + wanted_second <= room:
        second = wanted_second
    return first, second


def levels(weight: int, surge: int, back: bool) -> tuple[int, int]:
    """The capacities of the first and the second at which the weight goes on from here."""
    below = ALL if weight == ALL else weight - weight % surge
    above = weight if below == weight else min(below + surge, ALL)
    if below == above and back:
        below = max((level for level in range(0, weight, surge)), default=0)
    elif below == above:
        above = min(weight + surge, ALL)
    return ALL - below, above


def is_over(stand: Stand) -> bool:
    """Who is to go has no traffic, and no replicas or no ear; the other one has everything, or as much as it ever will."""
    if stand.held or not stand.due:
        return False
    if stand.lost:
        return True
    leaving, staying = (stand.second, stand.first) if stand.back else (stand.first, stand.second)
    moved = stand.weight == (0 if stand.back else ALL)
    return moved and staying.capacity >= ALL and (leaving.capacity == 0 or not leaving.hears)
