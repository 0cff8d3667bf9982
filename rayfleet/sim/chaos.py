"""What users, nodes and strangers do between two steps of an operator. Each act is named and counted; one that finds no victim is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from random import Random
from typing import ClassVar

from rayfleet.api.meta import PODS, RAYCLUSTERS, Key, Resource
from rayfleet.kube.errors import ApiError, Forbidden
from rayfleet.sim import accidents, edits
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.store import Obj, Request
from rayfleet.sim.world import NAMESPACE, World

Act = Callable[["Chaos"], bool]
LEAST_PAUSE, LONGEST_PAUSE = 0.2, 6.0


class Chaos:
    """Acts on one object, a RayCluster where nothing else is said, whose `wanted` spec it remembers, so that a broken one can be mended.

    `scarce`: of what a quota lets none in.
    """

    resource: ClassVar[Resource] = RAYCLUSTERS
    scarce: ClassVar[Collection[Resource]] = (PODS,)

    def __init__(self, world: World, dice: Random, wanted: Obj, odds: Mapping[Act, int] | None = None) -> None:
        self.world = world
        self.dice = dice
        self.title = str(wanted["metadata"]["name"])
        self.wanted: Obj = wanted
        self.acts = named(odds or ODDS)
        self.drawn = [name for name, act in self.acts.items() for _ in range((odds or ODDS)[act])]
        self.counts: Counter[str] = Counter()
        self.active = True
        self.quota = False
        self.broken = False
        world.store.admission.append(self.check_quota)

    def process(self) -> Iterator[float]:
        while self.active:
            yield self.dice.uniform(LEAST_PAUSE, LONGEST_PAUSE)
            if self.active:
                self.act(self.dice.choice(self.drawn))

    def act(self, name: str) -> None:
        try:
            if self.acts[name](self):
                self.counts[name] += 1
        except ApiError:
            return

    def stop(self) -> None:
        """Whatever keeps the cluster from its wanted state is taken away; the rest is the operator's to mend."""
        self.active = False
        self.quota = False
        self.world.nodes.down.clear()
        self.world.nodes.schedule_pending()
        for leader in self.world.leaders:
            leader.clock.error = 0.0
        self.world.run(LONGEST_PAUSE)  # by when nobody's finalizer holds it any more

    def mend(self) -> bool:
        was, self.broken = self.broken, False
        if was or self.found is None:
            self.world.apply(self.wanted)
        return was

    @property
    def found(self) -> Obj | None:
        """The object as it is."""
        return self.world.store.get(self.resource, Key(NAMESPACE, self.title))

    @property
    def name(self) -> str:
        """Of the cluster that accidents befall."""
        return self.title

    def spec(self, change: Obj) -> bool:
        """An edit that the user means. It waits while the stored spec is broken."""
        if self.broken or self.found is None:
            return False
        kept = {**self.wanted["spec"], **change}
        self.wanted = {**self.wanted, "spec": {name: value for name, value in kept.items() if value is not None}}
        self.world.edit(self.title, change, self.resource)
        return True

    def groups(self) -> list[Obj]:
        return [dict(group) for group in self.wanted["spec"]["workerGroupSpecs"]]

    def victim(self) -> Obj | None:
        pods = self.world.pods(self.name)
        return self.dice.choice(pods) if pods else None

    def check_quota(self, request: Request) -> None:
        if self.quota and request.resource in self.scarce and request.actor.startswith("operator"):
            self.counts["quota refusal"] += 1
            raise Forbidden(
                403, "Forbidden", f'{request.resource.plural} "{request.name}" is forbidden: exceeded quota: {request.resource.plural}'
            )

    def patch_pod(self, pod: Obj, metadata: Obj) -> bool:
        self.world.user("patch", PODS, key_of(pod), body={"metadata": metadata})
        return True


def named(acts: Iterable[Act]) -> dict[str, Act]:
    return {act.__name__.replace("_", "-"): act for act in acts}


ODDS: dict[Act, int] = {**accidents.ODDS, **edits.ODDS, Chaos.mend: 2}
ACTS = tuple(named(ODDS))
