"""Every combination of what protects and keeps a cluster comes to rest, and lets all of it go again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from rayfleet.api.config import FEATURE_GATES, Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, Key
from rayfleet.planning.actions import TO_BE_DRAWN, Create, Delete, Fence
from rayfleet.sim.ideal import typed, uid_of
from rayfleet.sim.ideal_ray import AbsentRay
from rayfleet.sim.ideal_world import IdealWorld, Step, Still
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.store import Obj, Request, Store

CONFIG = Configuration(feature_gates=dict.fromkeys(FEATURE_GATES, True))
KEY = Key("default", "demo")
STORES: dict[str, Any] = {
    "no store": {},
    "redis": {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}},
    "rocksdb": {"gcsFaultToleranceOptions": {"backend": "rocksdb"}},
}
AUTHS: dict[str, Any] = {
    "open": {},
    "token": {"authOptions": {"mode": "token"}},
    "own secret": {"authOptions": {"mode": "token", "secretName": "mine"}},
    "kubernetes": {"authOptions": {"mode": "token", "enableK8sTokenAuth": True}},
}
TLS: dict[str, Any] = {"plain": {}, "tls": {"tlsOptions": {"enabled": True}}}
WALLS: dict[str, Any] = {"no policy": {}, "policy": {"networkPolicy": {"mode": "DenyAll"}}}
SCALING: dict[str, Any] = {"fixed": {}, "autoscaled": {"enableInTreeAutoscaling": True}}
COMBINATIONS = list(product(STORES, AUTHS, TLS, WALLS, SCALING))


def whole(*names: str) -> Obj:
    parts = [table[name] for table, name in zip((STORES, AUTHS, TLS, WALLS, SCALING), names, strict=True)]
    return cluster("demo", group("small", 2), **{key: value for part in parts for key, value in part.items()})


def lived(store: Store, gone: frozenset[str] = frozenset()) -> Iterator[Step]:
    return IdealWorld(store, Still(0.0), CONFIG, AbsentRay(), gone).lived()


@pytest.mark.parametrize("names", COMBINATIONS, ids=" ".join)
def test_it_comes_to_rest_is_suspended_and_resumed(names: tuple[str, ...]) -> None:
    store = Store(Still(0.0), uid=lambda key: uid_of(*key))
    store.do(Request("user", "create", RAYCLUSTERS, *KEY, body=whole(*names)))
    made = [action for action in lived(store) if isinstance(action, Create)]
    assert len(store.all(PODS)) == 3
    assert {action.namespace for action in made} == {"default"}
    drawn = [action for action in made if action.resource.kind == "Secret"]
    assert [action.manifest["data"] for action in drawn] == [{"auth_token": TO_BE_DRAWN}] * (names[1] == "token")
    store.do(Request("user", "patch", RAYCLUSTERS, *KEY, body={"spec": {"suspend": True}}))
    assert {type(action) for action in lived(store)} <= {Delete, Fence}
    assert store.all(PODS) == []
    gone = frozenset(action.name for action in made if action.resource == PODS)
    store.do(Request("user", "patch", RAYCLUSTERS, *KEY, body={"spec": {"suspend": False}}))
    again = [action for action in lived(store, gone) if isinstance(action, Create)]
    assert {action.resource for action in again} == {PODS}
    assert not {action.name for action in again} & gone - {"demo-head"}  # the one that a volume is fenced by
    assert typed(store.get(RAYCLUSTERS, KEY) or {}).status.state == "ready"
