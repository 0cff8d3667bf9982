"""One RayService under random faults: a Serve that is slow, failing, forgetful or hostile, people who edit and delete, an operator that
dies between any two writes, and a second one that sees old things.

usage: python -m rayfleet.sim.service_storm [STORMS] [FIRST SEED]
Exit code 1 when an invariant broke, or when a kind of fault or of write never occurred.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from rayfleet.api import labels
from rayfleet.api.decode import decode_cluster
from rayfleet.api.meta import RAYCLUSTERS, SERVICES
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.resources.cluster_hash import is_made_for
from rayfleet.sim.seeds import run_seeds
from rayfleet.sim.serve_chaos import CONFIGS, MOODS, STATES
from rayfleet.sim.service_shop import Shop
from rayfleet.sim.service_specs import CONFIG, cluster_spec, group, incremental
from rayfleet.sim.store import encoded

STEPS = 30
PATIENCE = 900


def some(shop: Shop) -> str | None:
    return shop.dice.choice(shop.names) if shop.names else None


def edit(**spec: Any) -> Callable[[Shop], bool]:
    def fault(shop: Shop) -> bool:
        change(shop, **{name: shop.dice.choice(values) for name, values in spec.items()})
        return True

    return fault


def change(shop: Shop, **spec: Any) -> None:
    """As its writer knows that steps need the autoscaler."""
    assert shop.service is not None
    wanted = {**shop.service["spec"], **spec}
    if (wanted.get("upgradeStrategy") or {}).get("type") == STEPS_UP["type"]:
        spec["rayClusterConfig"] = {**wanted["rayClusterConfig"], "enableInTreeAutoscaling": True}
    shop.edit(**spec)


def lose_route(shop: Shop) -> bool:
    found = bool(shop.routes)
    shop.routes.clear()
    shop.shares = {}
    return found


def turn_weights(shop: Shop) -> bool:
    """By hand."""
    backends = [each for route in shop.routes.values() for each in route["spec"]["rules"][0]["backendRefs"]]
    if len(backends) < 2:
        return False
    backends[0]["weight"], backends[1]["weight"] = backends[1]["weight"], backends[0]["weight"]
    for route in shop.routes.values():
        route["metadata"]["generation"] += 1
    shop.shares = shop.weights
    return True


def afflicted(ills: str, what: str) -> Callable[[Shop], bool]:
    """Serve's `moods`, or where it is `stuck`, of one cluster."""

    def fault(shop: Shop) -> bool:
        name = some(shop)
        if name:
            getattr(shop.serve, ills)[name] = what
            shop.lost.add(name)
        return bool(name)

    return fault


def well_again(shop: Shop) -> bool:
    was = bool(shop.serve.moods or shop.serve.stuck)
    shop.serve.moods.clear()
    shop.serve.stuck.clear()
    return was


def lose_head(shop: Shop) -> bool:
    name = some(shop)
    gone = [pod for pod, each in shop.pods.items() if each["metadata"]["labels"][labels.CLUSTER] == name]
    for pod in gone:
        del shop.pods[pod]
    if name:
        shop.lost.add(name)
    return bool(gone)


def lose_cluster(shop: Shop) -> bool:
    name = some(shop)
    if name:
        shop.remove(RAYCLUSTERS, name)
    return bool(name)


def lose_service(shop: Shop) -> bool:
    if not shop.services:
        return False
    shop.remove(SERVICES, shop.dice.choice(sorted(shop.services)))
    return True


def turn_service(shop: Shop) -> bool:
    found = shop.services.get("shop-serve-svc")
    if found is not None:
        found["spec"]["selector"] = {labels.CLUSTER: "zzz"}
        shop.led = ""
    return found is not None


def erase_status(shop: Shop) -> bool:
    assert shop.service is not None
    return shop.service.pop("status", None) is not None


def die(shop: Shop) -> bool:
    shop.crash()
    return True


def die_later(shop: Shop) -> bool:
    shop.crash_at = shop.dice.randrange(6)
    return True


STEPS_UP = incremental(50, 25, 5)
REVISIONS = tuple(cluster_spec(env=rev) for rev in (None, "2", "3"))
SIZES = (*(cluster_spec(group(replicas=number)) for number in (1, 2, 3)), cluster_spec(group(), group("extra")))
FAULTS: Mapping[str, Callable[[Shop], bool]] = {
    "cluster edited": edit(rayClusterConfig=REVISIONS),
    "cluster edited again": edit(rayClusterConfig=REVISIONS),
    "counts edited": edit(rayClusterConfig=SIZES),
    "config edited": edit(serveConfigV2=CONFIGS),
    "both edited": edit(rayClusterConfig=REVISIONS, serveConfigV2=CONFIGS),
    "spec spoilt": edit(serveConfigV2=("applications: [{name: a}]",)),
    "suspended": edit(suspend=(True,)),
    "resumed": edit(suspend=(False,)),
    "resumed again": edit(suspend=(False,)),
    "strategy None": edit(upgradeStrategy=({"type": "None"}, None)),
    "strategy step by step": edit(upgradeStrategy=(STEPS_UP, incremental(100, 20, 5))),
    "strategy step by step again": edit(upgradeStrategy=(STEPS_UP,)),
    "route lost": lose_route,
    "weights turned": turn_weights,
    **{f"Serve {mood}": afflicted("moods", mood) for mood in MOODS},
    **{f"stuck {state}": afflicted("stuck", state) for state in STATES},
    "well again": well_again,
    "well once more": well_again,
    "head lost": lose_head,
    "cluster lost": lose_cluster,
    "Service lost": lose_service,
    "Service turned": turn_service,
    "status erased": erase_status,
    "operator dies": die,
    "operator dies at a write": die_later,
    "an old view": lambda shop: shop.look_back(),
    "another old view": lambda shop: shop.look_back(),
}
WRITES = (
    "AddFinalizer RayService",
    "Create RayCluster",
    "Create Service",
    "Patch RayCluster",
    "Patch Service",
    "Patch Pod",
    "Delete RayCluster",
)
WRITES += ("Create Gateway", "Create HTTPRoute", "Patch HTTPRoute", "Delete HTTPRoute", "Delete Gateway")
WRITES += ("Delete Service", "Fence RayService", "Fence RayService refused")


def storm(seed: int) -> Counter[str]:
    """Raises Broken. What occurred, counted."""
    shop = Shop(Random(seed))
    shop.live(5)
    for _ in range(STEPS):
        fault = shop.dice.choice(tuple(FAULTS))
        if FAULTS[fault](shop):
            shop.seen[fault] += 1
        shop.live(shop.dice.choice((1, 1, 3, 20)))
    calm(shop)
    return shop.seen


def calm(shop: Shop) -> None:
    """All is well again: the service serves what is wanted from one cluster, and nobody writes any more."""
    well_again(shop)
    shop.crash_at = None
    stepwise = shop.dice.random() < 0.5
    strategy = {"upgradeStrategy": STEPS_UP if stepwise else None}
    change(shop, suspend=False, serveConfigV2=CONFIG, rayClusterConfig=REVISIONS[1], **strategy)
    shop.live(PATIENCE)
    shop.hold(shop.condition("Ready")[0] == "True", f"not ready: {shop.message()}")
    led = next(iter(shop.weights), "") if stepwise else shop.led_to
    shop.hold(len(shop.names) == 1 and led == shop.names[0], f"{shop.names}, and {led} takes the traffic")
    shop.hold(stepwise == bool(shop.routes) == bool(shop.gateways), f"routes: {list(shop.routes)}")
    (name,) = shop.names
    cluster = decode_cluster(encoded(shop.clusters[name]))
    service = shop.observed().service
    assert isinstance(cluster, RayCluster) and isinstance(service, RayService)
    shop.hold(is_made_for(cluster, service.spec.ray_cluster_config), "the cluster is another one")
    before, puts = shop.serial, len(shop.serve.puts)
    shop.live(300)
    shop.hold((shop.serial, len(shop.serve.puts)) == (before, puts), "there is no silence")


def main(words: list[str]) -> int:
    return run_seeds(words, storm, (*FAULTS, *WRITES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
