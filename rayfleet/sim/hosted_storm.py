"""Clusters that the operator sizes, in a storm: work and placement groups that come and go, a GCS that refuses, loses, garbles and lies,
people who edit sizes, limits and the order of groups, one operator or two that die between any two writes. `hosted_chaos` has the acts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS
from rayfleet.kube.errors import ApiError, Forbidden
from rayfleet.sim import faults, manifests
from rayfleet.sim.hosted_chaos import ACTS, DRAWN, as_wanted, room_again
from rayfleet.sim.sized_line import CALLS, ILLS, LIES
from rayfleet.sim.sized_ray import SPREAD, SizedRays, group_of
from rayfleet.sim.sizes import Sizes, groups, replica_of
from rayfleet.sim.store import TERMINAL, Obj, Request
from rayfleet.sim.storm import RATES, Outcome, Sort, weather
from rayfleet.sim.world import OPERATOR, World

STORM, PATIENCE, SILENCE = 240.0, 1800.0, 1200.0
IDLE = 20
HOSTED = Configuration(autoscaling="hosted")
MOODS = {**dict.fromkeys(CALLS, 0.02), **dict.fromkeys(LIES, 0.02)}
NAMES = ("one", "two")


def elastic(name: str, *sizes: Obj, idle: int = IDLE, **options: Any) -> Obj:
    """A cluster that grows with its work; nothing runs on its head."""
    made = manifests.cluster(name, *sizes, enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": idle, **options})
    made["spec"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    return made


def of_cpus(name: str, cpus: int, hosts: int = 1, **limits: Any) -> Obj:
    made = manifests.group(name, 0, most=6, hosts=hosts)
    made["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": str(cpus), "memory": "1Gi"}}
    return {**made, **limits}


class Storm:
    """One world with two clusters, and what befalls them."""

    def __init__(self, seed: int, leaders: int = 1) -> None:
        self.dice = Random(seed * 5 + 3)
        self.world = World(seed, pace=weather(seed), config=HOSTED)
        self.names = NAMES
        self.rays = self.world.heads = SizedRays(self.world, Random(seed * 13 + 1))
        self.sizes = Sizes(self.world, self.rays)
        self.world.elects = leaders == 1
        self.world.store.admission.append(self.check_quota)
        self.counts: Counter[str] = Counter()
        self.raging, self.quota = True, False
        for name in NAMES:
            self.world.apply(self.wanted(name))

    def wanted(self, name: str) -> Obj:
        mode = {"upscalingMode": "Conservative"} if name == "two" else {}
        large = of_cpus("large", 4, minReplicas=1 if name == "two" else 0)
        return elastic(name, of_cpus("small", 1), large, of_cpus("pair", 2, hosts=2, maxReplicas=2), **mode)

    @property
    def name(self) -> str:
        return self.dice.choice(NAMES)

    def process(self) -> Iterator[float]:
        while self.raging:
            yield self.dice.uniform(0.2, 8.0)
            if self.raging:
                act = self.dice.choice(DRAWN)
                try:
                    self.counts[act] += ACTS[act](self)
                except ApiError:
                    continue

    def workers(self, name: str) -> list[Obj]:
        return [pod for pod in self.world.pods(name) if group_of(pod) != labels.HEAD_GROUP and pod["status"]["phase"] not in TERMINAL]

    def check_quota(self, request: Request) -> None:
        if self.quota and request.resource == PODS and request.actor.startswith(OPERATOR):
            self.counts["quota refusal"] += 1
            raise Forbidden(403, "Forbidden", f'pods "{request.name}" is forbidden: exceeded quota: pods')

    def edit_groups(self, change: Callable[[list[Obj]], list[Obj]]) -> bool:
        name = self.name
        cluster = self.world.cluster(name)
        if cluster is None or not groups(cluster):
            return False
        self.world.edit(name, {"workerGroupSpecs": change([dict(group) for group in groups(cluster)])})
        return True


def storm(seed: int, leaders: int = 1) -> Outcome:
    """Raises Violation when an invariant breaks, or when the world does not come to rest as it should."""
    made = Storm(seed, leaders)
    world = made.world
    try:
        world.faults.rates, made.rays.moods = dict(RATES), dict(MOODS)
        for _ in range(leaders):
            world.lead()
        world.clock.spawn(made.process())
        world.run(STORM)
        made.raging = False
        world.faults.stop()
        made.rays.moods, made.rays.ills = {}, {}
        for leader in world.leaders:
            leader.clock.error = 0.0
        world.run(30.0)
        room_again(made)
        as_wanted(made)
        calm(made)
    finally:
        world.close()
    seen = made.counts + world.faults.counts + Counter({"drain refused": made.rays.refusals})
    return Outcome(seen, world.faults.calls, world.actions, world.trace, world.writes)


def calm(made: Storm) -> None:
    """Work that stays gets its nodes and no more; then there is silence; then the work ends, and so do the nodes."""
    for name in NAMES:
        made.rays.withdraw(name)
        made.rays.submit(name, 5)
        made.rays.submit_gang(name, 2, SPREAD)
    settle(made, "with work", lambda name: at_work(made, name))
    for name in NAMES:
        made.rays.withdraw(name)
    settle(made, "without work", lambda name: at_rest(made, name))


def settle(made: Storm, when: str, unmet: Callable[[str], str]) -> None:
    world = made.world
    until = world.clock.now + PATIENCE
    while (left := [text for name in NAMES if (text := unmet(name))]) and world.clock.now < until:
        world.run(10.0)
    if left:
        made.sizes.fail("L1", f"{when}, not at rest after {PATIENCE:.0f} s: {'; '.join(left)}")
    for leader in world.leaders[1:]:
        world.retire(leader)  # silence is asked of one alone (see `rest`)
    world.run(700.0)
    writes = world.writes
    world.run(SILENCE)
    if world.writes != writes:
        made.sizes.fail("W1", f"{when}: {world.writes - writes} writes at rest")
    if left := [text for name in NAMES if (text := unmet(name))]:
        made.sizes.fail("L1", f"{when}, it did not stay so: {'; '.join(left)}")


def counted(made: Storm, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """Pods that the spec wants, and workers that run, by group."""
    sizes = {group["groupName"]: group["replicas"] * group["numOfHosts"] for group in groups(made.world.cluster(name) or {})}
    ready = Counter(group_of(pod) for pod in made.workers(name) if pod["status"]["phase"] == "Running")
    return sizes, {group: ready[group] for group in sizes}


def at_work(made: Storm, name: str) -> str:
    """Five tasks of one CPU run, and two bundles on two nodes, on replicas that could not be fewer by one of the smallest."""
    cluster = made.world.cluster(name)
    uid = cluster["metadata"]["uid"] if cluster else ""
    sizes, ready = counted(made, name)
    if sizes != ready or made.rays.waiting.get(uid):
        return f"{name} has {ready} of {sizes}, and {len(made.rays.waiting.get(uid, []))} tasks wait"
    busy = {node.pod for node in made.rays.nodes(uid) if node.tasks and not node.dead}
    replicas = {
        replica_of(pod): pod["metadata"]["uid"] in busy
        for pod in sorted(made.workers(name), key=lambda pod: pod["metadata"]["uid"] in busy)
    }
    idle = [replica for replica, works in replicas.items() if not works]
    return f"{name} keeps {', '.join(idle)}" if len(idle) > (1 if name == "two" else 0) else ""


def at_rest(made: Storm, name: str) -> str:
    sizes, ready = counted(made, name)
    wanted = {"small": 0, "large": 1 if name == "two" else 0, "pair": 0}
    return "" if sizes == ready == wanted else f"{name} has {ready} of {sizes}, {wanted} wanted"


SORT = Sort(
    storm,
    frozenset({*ACTS, *faults.KINDS, *(f"gcs {mood}" for mood in (*MOODS, *ILLS)), "drain refused", "quota refusal", "a head went on"}),
    frozenset(faults.combinations(("resize rayclusters", "create pods", "delete pods", "patch status"))),
    frozenset({"resize RayCluster", "create Pod", "delete Pod", "patch status"}),
)
