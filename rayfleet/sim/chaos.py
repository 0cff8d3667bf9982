"""What users, nodes and strangers do between two steps of an operator. Each act is named and counted; one that finds no victim is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from rayfleet.api.meta import PODS
from rayfleet.kube.errors import ApiError, Forbidden
from rayfleet.sim import accidents, edits
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.store import Obj, Request
from rayfleet.sim.world import World

Act = Callable[["Chaos"], bool]
LEAST_PAUSE, LONGEST_PAUSE = 0.2, 6.0


class Chaos:
    """Acts on one cluster, whose `wanted` spec it remembers, so that a broken one can be mended."""

    def __init__(self, world: World, dice: Random, cluster: Obj) -> None:
        self.world = world
        self.dice = dice
        self.name = cluster["metadata"]["name"]
        self.wanted: Obj = cluster
        self.counts: Counter[str] = Counter()
        self.active = True
        self.quota = False
        self.broken = False
        world.store.admission.append(self.check_quota)

    def process(self) -> Iterator[float]:
        while self.active:
            yield self.dice.uniform(LEAST_PAUSE, LONGEST_PAUSE)
            if self.active:
                self.act(self.dice.choice(ACTS))

    def act(self, name: str) -> None:
        try:
            if BY_NAME[name](self):
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
        if was or self.world.cluster(self.name) is None:
            self.world.apply(self.wanted)
        return was

    def spec(self, change: Obj) -> bool:
        """An edit that the user means. It waits while the stored spec is broken."""
        if self.broken or self.world.cluster(self.name) is None:
            return False
        self.wanted = {**self.wanted, "spec": {**self.wanted["spec"], **change}}
        self.world.edit(self.name, change)
        return True

    def groups(self) -> list[Obj]:
        return [dict(group) for group in self.wanted["spec"]["workerGroupSpecs"]]

    def victim(self) -> Obj | None:
        pods = self.world.pods(self.name)
        return self.dice.choice(pods) if pods else None

    def check_quota(self, request: Request) -> None:
        if self.quota and request.resource == PODS and request.actor.startswith("operator"):
            self.counts["quota refusal"] += 1
            raise Forbidden(403, "Forbidden", f'pods "{request.name}" is forbidden: exceeded quota: pods')

    def patch_pod(self, pod: Obj, metadata: Obj) -> bool:
        self.world.user("patch", PODS, key_of(pod), body={"metadata": metadata})
        return True


ODDS: dict[Act, int] = {**accidents.ODDS, **edits.ODDS, Chaos.mend: 2}
BY_NAME: dict[str, Act] = {act.__name__.replace("_", "-"): act for act in ODDS}
ACTS = [act.__name__.replace("_", "-") for act, odds in ODDS.items() for _ in range(odds)]
