"""Clusters that the operator sizes, under random faults: work that comes and goes, heads and nodes that are lost, a GCS that refuses, loses
and garbles, people who edit sizes, limits and the order of groups, and an operator that dies between any two writes.

usage: python -m rayfleet.sim.hosted_storm [STORMS] [FIRST SEED]
Exit code 1 when an invariant broke, or when a kind of fault or of write never occurred.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS, RAYSERVICES
from rayfleet.kube.errors import ApiError
from rayfleet.sim import manifests
from rayfleet.sim.kubelet import is_ready, key_of
from rayfleet.sim.seeds import run_seeds
from rayfleet.sim.sized_ray import SizedRays, group_of
from rayfleet.sim.sizes import Sizes, groups
from rayfleet.sim.store import TERMINAL, Obj
from rayfleet.sim.storm import RATES, weather
from rayfleet.sim.world import World

STORM, PATIENCE, SILENCE = 240.0, 1800.0, 3600.0
IDLE = 20
HOSTED = Configuration(autoscaling="hosted")
MOODS = {"refused": 0.03, "lost": 0.03, "garbage": 0.01}
NAMES = ("one", "two")


def elastic(name: str, *sizes: Obj, idle: int = IDLE, **options: Any) -> Obj:
    """A cluster that grows with its work; nothing runs on its head."""
    made = manifests.cluster(name, *sizes, enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": idle, **options})
    made["spec"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    return made


def of_cpus(name: str, cpus: int, **limits: Any) -> Obj:
    made = manifests.group(name, 0, most=6)
    made["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": str(cpus), "memory": "1Gi"}}
    return {**made, **limits}


class Storm:
    """One world with two clusters, and what befalls them."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed * 5 + 3)
        self.world = World(seed, pace=weather(seed), config=HOSTED)
        self.world.kinds -= {RAYJOBS, RAYSERVICES}
        self.rays = self.world.heads = SizedRays(self.world, Random(seed * 13 + 1))
        self.sizes = Sizes(self.world, self.rays)
        self.world.elects = True
        self.counts: Counter[str] = Counter()
        self.raging = True
        for name in NAMES:
            self.world.apply(self.wanted(name))

    def wanted(self, name: str) -> Obj:
        mode = {"upscalingMode": "Conservative"} if name == "two" else {}
        return elastic(name, of_cpus("small", 1), of_cpus("large", 4, minReplicas=1 if name == "two" else 0), **mode)

    @property
    def name(self) -> str:
        return self.dice.choice(NAMES)

    def process(self) -> Iterator[float]:
        while self.raging:
            yield self.dice.uniform(0.2, 8.0)
            if self.raging:
                act = self.dice.choice(sorted(ACTS))
                try:
                    self.counts[act] += ACTS[act](self)
                except ApiError:
                    continue

    def workers(self, name: str) -> list[Obj]:
        return [pod for pod in self.world.pods(name) if group_of(pod) != labels.HEAD_GROUP and pod["status"]["phase"] not in TERMINAL]

    def edit_groups(self, change: Callable[[list[Obj]], list[Obj]]) -> bool:
        name = self.name
        cluster = self.world.cluster(name)
        if cluster is None:
            return False
        self.world.edit(name, {"workerGroupSpecs": change([dict(group) for group in groups(cluster)])})
        return True


def work_comes(storm: Storm) -> bool:
    storm.rays.submit(storm.name, storm.dice.randint(1, 8), storm.dice.choice((1.0, 1.0, 3.0)), storm.dice.uniform(5.0, 60.0))
    return True


def work_is_withdrawn(storm: Storm) -> bool:
    storm.rays.withdraw(storm.name)
    return True


def size_by_hand(storm: Storm) -> bool:
    return storm.edit_groups(lambda found: [{**found[0], "replicas": storm.dice.randint(0, 5)}, *found[1:]])


def limits_by_hand(storm: Storm) -> bool:
    least = storm.dice.choice((0, 0, 1))
    return storm.edit_groups(lambda found: [{**found[0], "minReplicas": least, "maxReplicas": storm.dice.randint(2, 7)}, *found[1:]])


def groups_change_places(storm: Storm) -> bool:
    return storm.edit_groups(lambda found: found[::-1])


def a_group_is_removed(storm: Storm) -> bool:
    return storm.edit_groups(lambda found: [each for each in found if each["groupName"] != "large"])


def names_of_nobody(storm: Storm) -> bool:
    gone = {"workersToDelete": ["nobody-of-that-name"]}
    return storm.edit_groups(lambda found: [{**found[0], "scaleStrategy": gone}, *found[1:]])


def as_wanted(storm: Storm) -> bool:
    for name in NAMES:
        sizes = {group["groupName"]: group.get("replicas", 0) for group in groups(storm.world.cluster(name) or {})}
        made = storm.wanted(name)
        for group in groups(made):
            group["replicas"] = min(sizes.get(group["groupName"], 0), group["maxReplicas"])
        storm.world.apply(made)
    return True


def a_cluster_is_made_anew(storm: Storm) -> bool:
    name = storm.name
    storm.world.delete(RAYCLUSTERS, name)
    storm.world.apply(storm.wanted(name))
    return True


def a_worker_fails(storm: Storm) -> bool:
    victims = [pod for pod in storm.workers(storm.name) if is_ready(pod)]
    if victims:
        storm.world.nodes.fail(storm.dice.choice(victims), "Evicted")
    return bool(victims)


def a_worker_is_deleted(storm: Storm) -> bool:
    victims = storm.workers(storm.name)
    if victims:
        storm.world.user("delete", PODS, key_of(storm.dice.choice(victims)))
    return bool(victims)


def the_head_is_lost(storm: Storm) -> bool:
    heads = [pod for pod in storm.world.pods(storm.name) if group_of(pod) == labels.HEAD_GROUP]
    if heads:
        storm.world.nodes.fail(heads[0])
    return bool(heads)


def room_is_short(storm: Storm) -> bool:
    storm.world.nodes.fate = lambda pod: storm.dice.choice(("pending", "ready"))
    storm.world.clock.call_later(20.0, lambda: room_again(storm))
    return True


def room_again(storm: Storm) -> None:
    storm.world.nodes.fate = lambda pod: "ready"
    storm.world.nodes.schedule_pending()


LIST = (
    work_comes,
    work_is_withdrawn,
    size_by_hand,
    limits_by_hand,
    groups_change_places,
    a_group_is_removed,
    names_of_nobody,
    as_wanted,
    a_cluster_is_made_anew,
    a_worker_fails,
    a_worker_is_deleted,
    the_head_is_lost,
    room_is_short,
)
ACTS: Mapping[str, Callable[[Storm], bool]] = {act.__name__.replace("_", " "): act for act in LIST} | {"work comes again": work_comes}
WRITES = ("resize RayCluster", "create Pod", "delete Pod", "patch status")
SEEN = ("crash-before: resize rayclusters", "crash-after: resize rayclusters", "lost-response: resize rayclusters", "drain refused")


def storm(seed: int) -> Counter[str]:
    """Raises Violation. What occurred, counted."""
    made = Storm(seed)
    world = made.world
    try:
        world.faults.rates, made.rays.moods = dict(RATES), dict(MOODS)
        world.lead()
        world.clock.spawn(made.process())
        world.run(STORM)
        made.raging = False
        world.faults.stop()
        made.rays.moods = {}
        world.run(30.0)
        room_again(made)
        as_wanted(made)
        calm(made)
    finally:
        world.close()
    return made.counts + world.faults.counts + world.faults.calls + world.actions + Counter({"drain refused": made.rays.refusals})


def calm(made: Storm) -> None:
    """Work that stays gets its nodes and no more; then there is silence; then the work ends, and so do the nodes."""
    world = made.world
    for name in NAMES:
        made.rays.withdraw(name)
        made.rays.submit(name, 5)
    settle(made, "with work", lambda name: at_work(made, name))
    for name in NAMES:
        made.rays.withdraw(name)
    settle(made, "without work", lambda name: at_rest(made, name))
    assert made.world is world


def settle(made: Storm, when: str, unmet: Callable[[str], str]) -> None:
    world = made.world
    until = world.clock.now + PATIENCE
    while (left := [text for name in NAMES if (text := unmet(name))]) and world.clock.now < until:
        world.run(10.0)
    if left:
        made.sizes.fail("L1", f"{when}, not at rest after {PATIENCE:.0f} s: {'; '.join(left)}")
    world.run(700.0)
    writes = world.writes
    world.run(SILENCE)
    if world.writes != writes:
        made.sizes.fail("W1", f"{when}: {world.writes - writes} writes at rest")
    if left := [text for name in NAMES if (text := unmet(name))]:
        made.sizes.fail("L1", f"{when}, it did not stay so: {'; '.join(left)}")


def counted(made: Storm, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """Sizes in the spec, and workers that are ready, by group."""
    sizes = {group["groupName"]: group["replicas"] for group in groups(made.world.cluster(name) or {})}
    ready = Counter(group_of(pod) for pod in made.workers(name) if pod["status"]["phase"] == "Running")
    return sizes, {group: ready[group] for group in sizes}


def at_work(made: Storm, name: str) -> str:
    """Five tasks of one CPU run, on nodes that could not be fewer by one of the smallest."""
    cluster = made.world.cluster(name)
    uid = cluster["metadata"]["uid"] if cluster else ""
    sizes, ready = counted(made, name)
    if sizes != ready or made.rays.waiting.get(uid):
        return f"{name} has {ready} of {sizes}, and {len(made.rays.waiting.get(uid, []))} tasks wait"
    idle = [node.name for node in made.rays.nodes(uid) if node.cpus and not node.tasks and not node.dead]
    least = 1 if name == "two" else 0
    return f"{name} keeps {', '.join(idle)}" if len(idle) > least else ""


def at_rest(made: Storm, name: str) -> str:
    sizes, ready = counted(made, name)
    wanted = {"small": 0, "large": 1 if name == "two" else 0}
    return "" if sizes == ready == wanted else f"{name} has {ready} of {sizes}, {wanted} wanted"


def main(words: list[str]) -> int:
    return run_seeds(words, storm, (*ACTS, *WRITES, *SEEN, *(f"gcs {mood}" for mood in MOODS)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
