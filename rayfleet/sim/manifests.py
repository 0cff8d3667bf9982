"""Small RayClusters to play with."""

from __future__ import annotations

from random import Random
from typing import Any

from rayfleet.api import labels
from rayfleet.sim.store import Obj


def template(image: str = "rayproject/ray:2.60.0", restart: str = "") -> Obj:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    policy = {"restartPolicy": restart} if restart else {}
    return {"spec": {**policy, "containers": [{"name": "ray", "image": image, "resources": resources}]}}


def group(name: str, replicas: int = 1, *, most: int = 4, hosts: int = 1, restart: str = "") -> Obj:
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": most,
        "numOfHosts": hosts,
        "rayStartParams": {},
        "template": template(restart=restart),
    }


def cluster(name: str, *groups: Obj, **spec: Any) -> Obj:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template()},
            "workerGroupSpecs": list(groups),
            **spec,
        },
    }


def random_cluster(name: str, dice: Random) -> Obj:
    groups = [
        group(
            f"group{number}",
            dice.randint(0, 3),
            hosts=dice.choice((1, 1, 1, 2)),
            restart=dice.choice(("", "Never")),
        )
        for number in range(dice.randint(1, 2))
    ]
    return cluster(name, *groups)


STORES: tuple[Obj, ...] = (
    {"redisAddress": "redis:6379"},
    {"backend": "rocksdb"},
    {"backend": "rocksdb", "storage": {"deletionPolicy": "Retain"}},
)
GATES = {"GCSFaultToleranceEmbeddedStorage": True, "RayClusterNetworkPolicy": True}


def with_features(made: Obj, dice: Random) -> Obj:
    """Three of five clusters stay plain; the others keep their state somewhere, demand tokens, or close their network. See `GATES`."""
    if dice.random() < 0.6:
        return made
    spec, metadata = dict(made["spec"]), dict(made["metadata"])
    if dice.random() < 0.7:
        spec["gcsFaultToleranceOptions"] = dice.choice(STORES)
        metadata["annotations"] = {labels.DELETION_TIMEOUT: str(dice.choice((20, 60)))}
    if dice.random() < 0.4:
        spec["authOptions"] = {"mode": "token"}
    if dice.random() < 0.4:
        spec["networkPolicy"] = {"mode": dice.choice(("DenyAll", "DenyAllIngress"))}
    return {**made, "metadata": metadata, "spec": spec}


FAULTY_GROUPS: tuple[list[Obj], ...] = (
    [group("small"), group("small")],
    [{**group("small"), "minReplicas": 5, "maxReplicas": 2}],
    [{**group("small"), "replicas": "three"}],
    [group("")],
)
