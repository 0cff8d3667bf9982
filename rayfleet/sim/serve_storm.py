"""A RayService in a storm: the operator's real controllers of every kind, users who change their minds, a Serve that lies; then quiet.

In the end it serves what is wanted from one cluster, and nobody writes any more. Every other storm is gentle: nothing befalls the clusters
themselves, and no request may be lost in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode, decode_cluster
from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS, RAYSERVICES, SERVICES, Key, Resource
from rayfleet.api.raycluster import RayCluster, RayClusterSpec
from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.resources.cluster_hash import is_made_for
from rayfleet.sim import end_state, faults
from rayfleet.sim.chaos import named
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.kubelet import EXITS, FAILS, PENDING, READY
from rayfleet.sim.leader import Planner
from rayfleet.sim.rest import come_to_rest, stay_silent
from rayfleet.sim.serve_chaos import AUTOSCALED, CONFIGS, ODDS, ServeChaos, revision
from rayfleet.sim.serve_rules import ServeRules
from rayfleet.sim.service_specs import incremental
from rayfleet.sim.shop_front import ShopFront
from rayfleet.sim.store import Obj, encoded
from rayfleet.sim.storm import FATES, RATES, Outcome, Sort, weather
from rayfleet.sim.world import NAMESPACE, World

KINDS = (RAYCLUSTERS, RAYJOBS, RAYSERVICES)
NAME = "shop"
STORM = 120.0
PATIENCE = 1500.0
SILENCE = 600.0
INCREMENTAL = "NewClusterWithIncrementalUpgrade"
STRATEGIES: tuple[Obj | None, ...] = (None, None, None, {"type": "None"}, incremental(100, 50, 5), incremental(50, 50, 5))


def service(**spec: object) -> Obj:
    given = {"serveConfigV2": CONFIGS[0], "rayClusterConfig": revision(None), **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": given}


def random_service(dice: Random, *, gentle: bool) -> Obj:
    strategy, scaled = dice.choice(STRATEGIES), {}
    if (strategy or {}).get("type") == INCREMENTAL or dice.random() < 0.3:
        scaled = {AUTOSCALED: True}
    given: Obj = {"rayClusterDeletionDelaySeconds": dice.choice((5, 20, 60)), **({"upgradeStrategy": strategy} if strategy else {})}
    if not gentle and dice.random() < 0.2:
        given["excludeHeadPodFromServeSvc"] = True
    return service(rayClusterConfig=revision(None, **scaled), **given)


def storm(
    seed: int, leaders: int = 1, *, planners: Mapping[Resource, Planner] | None = None, prepare: Callable[[World], None] | None = None
) -> Outcome:
    """Raises Violation when an invariant breaks, or when the world does not come to rest as it should."""
    world = World(seed, pace=weather(seed), kinds=KINDS, planners=planners, config=Configuration())
    try:
        return rage(world, leaders, prepare)
    finally:
        world.close()


def rage(world: World, leaders: int, prepare: Callable[[World], None] | None = None) -> Outcome:
    Invariants(world)
    front = ShopFront(world)
    rules = ServeRules(world, front)
    dice, gentle = Random(world.seed * 7 + leaders), world.seed % 2 == 0
    chaos = ServeChaos(world, dice, random_service(dice, gentle=gentle), rules, gentle=gentle)
    fates: Counter[str] = Counter({f"strategy {strategy_of(chaos.wanted)}": 1, "gentle": int(gentle)})
    unsettle(world, chaos, dice, fates, gentle=gentle)
    world.elects = leaders == 1
    if prepare is not None:
        prepare(world)
    world.apply(chaos.wanted)
    for _ in range(leaders):
        world.lead()
    world.clock.spawn(front.open())
    world.clock.spawn(rules.customer(NAME))
    world.run(dice.choice((0.0, 30.0)))
    world.clock.spawn(chaos.process())
    world.run(STORM)
    chaos.stop()
    world.faults.stop()
    calm(world, rules, chaos)
    bury(world, rules)
    fates["requests"] += rules.requests
    return Outcome(world.faults.counts + chaos.counts + fates, world.faults.calls, world.actions, world.trace, world.writes)


def strategy_of(wanted: Obj) -> str:
    return str((wanted["spec"].get("upgradeStrategy") or {}).get("type", "NewCluster"))


def unsettle(world: World, chaos: ServeChaos, dice: Random, fates: Counter[str], *, gentle: bool) -> None:
    """Pods, nodes, Serve and the API are as they are in bad weather."""

    def fate(pod: object) -> str:
        drawn = dice.choices((READY, FAILS, EXITS, PENDING), (20, 1, 1, 1))[0] if chaos.active and not gentle else READY
        fates[f"pod {drawn}"] += 1
        return drawn

    world.nodes.fate = fate
    world.nodes.delay = lambda dice: dice.uniform(0.05, 1.0)
    world.nodes.ending = lambda dice: dice.uniform(4.0, 9.0)
    world.rays.boot = lambda dice: dice.uniform(2.0, 6.0)
    world.rays.serve.deploys = dice.choice((1.0, 3.0, 10.0))
    world.faults.rates = dict(RATES)


def calm(world: World, rules: ServeRules, chaos: ServeChaos) -> None:
    """All is well again: the service serves what is wanted from one cluster, and then there is silence."""
    if (found_service(world) or {"metadata": {}})["metadata"].get("deletionTimestamp"):
        world.run(LONGEST_RETRY)
    chaos.mend()
    chaos.spec({"suspend": False})

    def said() -> int:
        return world.writes + len(world.rays.serve.puts)

    come_to_rest(world, rules, lambda: [*unmet(world, rules.front)], said, PATIENCE, SILENCE)


def found_service(world: World) -> Obj | None:
    return world.store.get(RAYSERVICES, Key(NAMESPACE, NAME))


def unmet(world: World, front: ShopFront) -> Iterator[str]:
    """What is not as it should be with a service at rest, as sentences."""
    found = found_service(world)
    if found is None:
        yield "there is no service"
        return
    status = found.get("status") or {}
    conditions = {each["type"]: (each["status"], each["message"]) for each in status.get("conditions") or ()}
    for condition, wanted in (("Ready", "True"), ("UpgradeInProgress", "False")):
        if conditions.get(condition, ("",))[0] != wanted:
            yield f"{condition} is {conditions.get(condition)}"
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        yield f"status.observedGeneration is {status.get('observedGeneration')}"
    clusters = front.clusters(NAME)
    if len(clusters) != 1:
        yield f"{len(clusters)} clusters"
        return
    yield from cluster_unmet(world, found, clusters[0])
    if strategy_of(found) != INCREMENTAL:
        yield from traffic_unmet(world, clusters[0]["metadata"]["name"])
    if (wrong := front.ask(NAME))[1]:
        yield f"a request is lost: {wrong}"


def cluster_unmet(world: World, found: Obj, cluster: Obj) -> Iterator[str]:
    name = cluster["metadata"]["name"]
    yield from (f"{name}: {left}" for left in end_state.unmet(world, name))
    made, spec = decode_cluster(encoded(cluster)), decode(encoded(found["spec"]["rayClusterConfig"]), RayClusterSpec)
    if strategy_of(found) != "None" and not (isinstance(made, RayCluster) and is_made_for(made, spec)):
        yield f"{name} is made for another spec"
    config = read_config(found["spec"]["serveConfigV2"])
    life = world.rays.at(Key(NAMESPACE, name))
    head = world.rays.serve.heads.get(life.pod) if life else None
    told = (head.config or {}).get("applications") if head else None
    if not isinstance(config, ServeConfig) or told != config.document.get("applications"):
        yield f"{name} was told {told}"


def traffic_unmet(world: World, name: str) -> Iterator[str]:
    for service_name in (f"{NAME}-serve-svc", f"{NAME}-head-svc"):
        found = world.store.get(SERVICES, Key(NAMESPACE, service_name))
        led = found["spec"]["selector"].get(labels.CLUSTER) if found else None
        if led != name:
            yield f"{service_name} leads to {led}"


def bury(world: World, rules: ServeRules) -> None:
    """Delete the service: nothing of it is left."""
    found = found_service(world)
    assert found is not None
    rules.opened = False
    world.delete(RAYSERVICES, NAME)
    world.run(120.0)
    if found_service(world) is not None or world.store.children.get(found["metadata"]["uid"]) or world.store.all(RAYCLUSTERS):
        rules.fail("S13", f"left behind: {[key.name for _, key in world.store.children.get(found['metadata']['uid'], ())]}")
    stay_silent(world, rules, lambda: world.writes, SILENCE, "for a service that is gone")


CALLS = (
    *("create rayclusters", "create services", "patch rayservices", "patch status", "patch rayclusters"),
    *("delete rayclusters", "get rayservices", "put ray"),
)
SORT = Sort(
    storm,
    frozenset(
        {
            *(*faults.KINDS, "quota refusal", "gentle", "requests", *named(ODDS), *FATES),
            *(f"strategy {name}" for name in ("NewCluster", "None", INCREMENTAL)),
        }
    ),
    frozenset(faults.combinations(CALLS)),
    frozenset(
        {
            *(f"create {kind}" for kind in ("Pod", "Service", "RayCluster", "Gateway", "HTTPRoute")),
            *(f"delete {kind}" for kind in ("RayCluster", "Service")),
            *(f"patch {kind}" for kind in ("RayService", "RayCluster", "Service", "Pod", "HTTPRoute", "status")),
        }
    ),
)
