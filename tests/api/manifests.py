"""Objects for tests, as users write them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "search"}},
    "spec": {
        "containers": [
            {
                "name": "ray",
                "image": "rayproject/ray:2.60.0",
                "resources": {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": 1}},
                "env": [{"name": "PLACE", "value": "here"}],
            }
        ]
    },
}
RECORDED = Path(__file__).parents[2].parent / "shared" / "recorded"


def cluster(**spec: Any) -> dict[str, Any]:
    """A good RayCluster with one worker group; keywords replace fields of its spec."""
    whole = {
        "rayVersion": "2.60.0",
        "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": TEMPLATE},
        "workerGroupSpecs": [worker_group()],
        **spec,
    }
    return deepcopy({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "demo", "namespace": "lab"}, "spec": whole})


def worker_group(**fields: Any) -> dict[str, Any]:
    return {"groupName": "small", "replicas": 1, "minReplicas": 0, "maxReplicas": 2, "rayStartParams": {}, "template": TEMPLATE, **fields}


def head_group(container: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """The head's group; `container` adds to its Ray container, `pod` to its Pod's spec."""
    template = deepcopy(TEMPLATE)
    template["spec"]["containers"][0] |= container or {}
    template["spec"] |= pod or {}
    return {"rayStartParams": {}, "template": template, **fields}


def encoded(document: Any) -> bytes:
    return msgspec.json.encode(document)


def recorded_objects(*kinds: str) -> list[Any]:
    """(case, object) of every input of ours beside the checkout, or of some kinds; one skipped parameter where there are none."""
    found = [
        pytest.param(path.parent.name, document, id=f"{path.parent.name}-{index}")
        for path in sorted(RECORDED.glob("*/input.yaml"))
        for index, document in enumerate(yaml.safe_load_all(path.read_text()))
        if document and str(document.get("apiVersion", "")).startswith("ray.io/") and (not kinds or document["kind"] in kinds)
    ]
    return found or [pytest.param("", {}, marks=pytest.mark.skip(reason="no recordings beside the checkout"))]
