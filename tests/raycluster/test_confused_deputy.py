"""Nothing in a spec reaches another namespace, or hangs an object of ours below somebody else's."""

from __future__ import annotations

from typing import Any

from rayfleet.api.config import FEATURE_GATES, Configuration
from rayfleet.sim.ideal import render
from tests.raycluster.vocabulary import group, template

CONFIG = Configuration(feature_gates=dict.fromkeys(FEATURE_GATES, True))
ELSEWHERE = {
    "namespace": "elsewhere",
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "somebody-elses", "controller": True}],
    "finalizers": ["example.test/kept"],
}


def hostile() -> dict[str, Any]:
    pod = {**template(), "metadata": {**ELSEWHERE, "labels": {"ray.io/cluster": "victim"}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "demo", "namespace": "default"},
        "spec": {
            "rayVersion": "2.60.0",
            "enableInTreeAutoscaling": True,
            "authOptions": {"mode": "token"},
            "tlsOptions": {"enabled": True},
            "networkPolicy": {"mode": "DenyAll"},
            "headGroupSpec": {
                "enableIngress": True,
                "headService": {"metadata": {"name": "own", **ELSEWHERE}, "spec": {"selector": {"app": "victim"}}},
                "template": pod,
            },
            "workerGroupSpecs": [{**group(), "template": pod}],
        },
    }


def values(value: Any, name: str) -> list[Any]:
    """Whatever stands under a name, at any depth."""
    if isinstance(value, list):
        return [found for item in value for found in values(item, name)]
    if isinstance(value, dict):
        return [part for key, part in value.items() if key == name] + [found for part in value.values() for found in values(part, name)]
    return []


def test_every_object_and_every_reference_stays_in_the_clusters_own_namespace() -> None:
    made = render([hostile()], CONFIG)
    assert {obj["kind"] for obj in made} >= {"Pod", "Service", "Secret", "NetworkPolicy", "Issuer", "Certificate", "RoleBinding", "Ingress"}
    assert {found for obj in made for found in values(obj, "namespace")} == {"default"}


def test_every_object_is_the_clusters_own_and_nobody_elses() -> None:
    for obj in render([hostile()], CONFIG):
        (owner,) = obj["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("RayCluster", "demo")
        assert obj["metadata"]["labels"].get("ray.io/cluster", "demo") == "demo"


def test_the_heads_service_leads_to_the_clusters_own_head() -> None:
    (service,) = (obj for obj in render([hostile()], CONFIG) if obj["kind"] == "Service")
    assert service["spec"]["selector"]["ray.io/cluster"] == "demo"
    assert "app" not in service["spec"]["selector"]
