"""RayServices as a user writes them, as small as they can be."""

from __future__ import annotations

from typing import Any

UID = "99999999-2222-3333-4444-555555555555"
NOW = 1_800_000_000.0
CONFIG = """
applications:
- name: fruit
  route_prefix: /fruit
  import_path: shop.fruit:app
- name: sums
  route_prefix: /sums
  import_path: shop.sums:app
"""


def template(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.60.0", **container}]}}


def group(name: str = "small", replicas: int = 1, **fields: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "minReplicas": 0, "maxReplicas": 10, "template": template(), **fields}


def cluster_spec(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    env = fields.pop("env", None)
    head = template(**({"env": [{"name": "REV", "value": env}]} if env else {}))
    return {"rayVersion": "2.60.0", "headGroupSpec": {"template": head}, "workerGroupSpecs": list(groups or (group(),)), **fields}


def incremental(surge: int = 50, step: int = 25, interval: int = 10) -> dict[str, Any]:
    """An upgradeStrategy."""
    options = {"maxSurgePercent": surge, "stepSizePercent": step, "intervalSeconds": interval, "gatewayClassName": "pretend"}
    return {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}


def document(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {
            "name": "shop",
            "namespace": "default",
            "uid": UID,
            "resourceVersion": "1",
            "generation": 1,
            "annotations": annotations or {},
        },
        "spec": {"serveConfigV2": CONFIG, "rayClusterConfig": cluster_spec(), **spec},
    }
