"""A storm: a random cluster, random faults for a while, then quiet. In the end everything is as wanted, and nobody writes any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.raycluster.plan import plan
from rayfleet.sim import chaos, faults, manifests
from rayfleet.sim.chaos import Chaos
from rayfleet.sim.end_state import unmet
from rayfleet.sim.invariants import Invariants, deadline
from rayfleet.sim.kubelet import EXITS, FAILS, PENDING, READY
from rayfleet.sim.leader import Pace, Planner
from rayfleet.sim.rest import come_to_rest, stay_silent
from rayfleet.sim.world import World

STORM = 60.0
PATIENCE = 1200.0
FEATURES = ("gcsFaultToleranceOptions", "authOptions", "networkPolicy")
SILENCE = 7200.0
HASTE = 310.0  # seconds in which a write that was refused up to now is tried again
RATES = {
    "crash-before": 0.01,
    "crash-after": 0.01,
    "lost-response": 0.02,
    "conflict": 0.03,
    "server-error": 0.03,
    "timeout": 0.02,
    "too-many-requests": 0.02,
}


@dataclass
class Outcome:
    faults: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    trace: str = ""
    writes: int = 0


@dataclass(frozen=True)
class Sort:
    """The storms of one kind of objects, and what must occur in many of them: faults and acts, faults by call, the operator's actions."""

    storm: Callable[[int, int], Outcome]
    faults: frozenset[str]
    calls: frozenset[str]
    actions: frozenset[str]


def weather(seed: int) -> Pace:
    """How slow the caches and the network are: mostly quick, sometimes seconds behind."""
    dice = Random(seed)
    lag, latency = dice.choice((0.01, 0.1, 0.5, 2.0)), dice.choice((0.005, 0.02, 0.1))
    return Pace(lag=lambda dice: dice.expovariate(1 / lag), latency=lambda dice: dice.expovariate(1 / latency))


def storm(seed: int, leaders: int = 1, *, planner: Planner = plan, prepare: Callable[[World], None] | None = None) -> Outcome:
    """Raises Violation when an invariant breaks, or when the world does not come to rest as wanted."""
    world = World(seed, pace=weather(seed), planners={RAYCLUSTERS: planner}, config=Configuration(feature_gates=manifests.GATES))
    try:
        return rage(world, leaders, prepare)
    finally:
        world.close()


def rage(world: World, leaders: int, prepare: Callable[[World], None] | None) -> Outcome:
    seed = world.seed
    rules = Invariants(world)
    dice = Random(seed * 7 + leaders)
    cluster = manifests.with_features(manifests.random_cluster("demo", dice), Random(seed * 11))
    troubles = Chaos(world, dice, cluster)
    if prepare is not None:
        prepare(world)
    fates = Counter(f"with {name}" for name in FEATURES if name in cluster["spec"])

    def fate(pod: object) -> str:
        drawn = dice.choices((READY, FAILS, EXITS, PENDING), (12, 1, 1, 1))[0] if troubles.active else READY
        fates[f"pod {drawn}"] += 1
        return drawn

    world.nodes.fate = fate
    world.nodes.delay = lambda dice: dice.uniform(0.05, 1.0)
    world.nodes.ending = lambda dice: dice.uniform(0.1, 8.0)
    world.faults.rates = dict(RATES)
    world.elects = leaders == 1
    world.apply(cluster)
    for _ in range(leaders):
        world.lead()
    world.clock.spawn(troubles.process())
    world.run(STORM)
    troubles.stop()
    world.faults.stop()
    if (world.cluster("demo") or {"metadata": {}})["metadata"].get("deletionTimestamp"):
        end_clean_up(world, rules)
    troubles.mend()
    calm(world, rules)
    bury(world, rules)
    if rules.overlaps:
        world.faults.counts["heads overlapped"] += 1
    return Outcome(world.faults.counts + troubles.counts + fates, world.faults.calls, world.actions, world.trace, rules.writes)


def rush(seed: int, *, planner: Planner = plan) -> None:
    """Two slow operators in each other's way: time and again a worker is lost while more are wanted. Raises Violation as `storm` does."""
    pace = Pace(lag=lambda dice: dice.uniform(0.0, 0.5), latency=lambda dice: dice.uniform(0.0, 0.5))
    world = World(seed, pace=pace, planners={RAYCLUSTERS: planner})
    try:
        rules = Invariants(world)
        world.lead()
        world.lead()
        for replicas in (1, 2, 4, 2, 4, 1, 3):
            world.apply(manifests.cluster("demo", manifests.group("small", replicas)))
            for pod in world.pods("demo")[-1:]:
                world.nodes.fail(pod, "Evicted")
            world.run(12.0)
        calm(world, rules)
    finally:
        world.close()


def calm(world: World, rules: Invariants, name: str = "demo") -> None:
    """Wait for the desired state, then listen to the silence."""
    come_to_rest(world, rules, lambda: unmet(world, name), lambda: rules.writes, PATIENCE, SILENCE)


def end_clean_up(world: World, rules: Invariants, name: str = "demo") -> None:
    """A deleted cluster goes within the time that its clean-up may take, whatever becomes of that."""
    cluster = world.cluster(name)
    if cluster is None:
        return
    world.run(max(deadline(cluster) - world.clock.now, 0.0) + HASTE)
    if (left := world.cluster(name)) and left["metadata"]["uid"] == cluster["metadata"]["uid"]:
        rules.fail("S12", f"{name} is still there, {HASTE:.0f} s after its deadline")


def bury(world: World, rules: Invariants, name: str = "demo") -> None:
    """Delete the cluster: nothing that carries its UID is left, and nobody makes anything for it any more."""
    cluster = world.cluster(name)
    assert cluster is not None
    world.delete(RAYCLUSTERS, name)
    end_clean_up(world, rules, name)
    world.run(60.0)
    if left := world.store.children.get(cluster["metadata"]["uid"]):
        rules.fail("S13", f"left behind: {', '.join(key.name for _, key in left)}")
    stay_silent(world, rules, lambda: rules.writes, SILENCE, "for a cluster that is gone")


FATES = tuple(f"pod {fate}" for fate in (READY, FAILS, EXITS, PENDING))
MADE = ("Pod", "Service", "NetworkPolicy", "PersistentVolumeClaim", "Secret", "Job")
SORT = Sort(
    storm,
    frozenset({*faults.KINDS, *chaos.ACTS, "quota refusal", *FATES, *(f"with {feature}" for feature in FEATURES)}),
    frozenset(faults.combinations()),
    frozenset({*(f"create {kind}" for kind in MADE), "delete Pod", "delete Service", "patch Service", "patch RayCluster", "patch status"}),
)
