"""The definition of `cluster.ray.io/v1` RayClusters, of our own writing: what users wrote is kept whole, and judged when it is converted.

The old one froze the Pod's fields as of 2021 and dropped all newer ones; this one keeps every field of `podConfig`.
"""

from __future__ import annotations

from typing import Any

from rayfleet.api.meta import OLD_RAYCLUSTERS

Obj = dict[str, Any]
TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(required: list[str], **properties: Obj) -> Obj:
    return {"type": "object", "required": required, "properties": properties}


POD_TYPE = fields(
    ["name", "podConfig"],
    name=TEXT,
    minWorkers=WHOLE,
    maxWorkers=WHOLE,
    rayResources=ANYTHING,
    setupCommands=TEXTS,
    workerSetupCommands=TEXTS,
    podConfig=ANYTHING,
)
PORT = fields(["name", "port"], name=TEXT, port=WHOLE, targetPort={"x-kubernetes-int-or-string": True})
SPEC = fields(
    ["podTypes", "headPodType"],
    podTypes={"type": "array", "items": POD_TYPE},
    headPodType=TEXT,
    maxWorkers=WHOLE,
    upscalingSpeed=NUMBER,
    idleTimeoutMinutes=NUMBER,
    headServicePorts={"type": "array", "items": PORT},
    headStartRayCommands=TEXTS,
    workerStartRayCommands=TEXTS,
)
STATUS = fields([], phase=TEXT, autoscalerRetries=WHOLE)
COLUMNS = (("status", "string", ".status.phase"), ("restarts", "integer", ".status.autoscalerRetries"))


def old_crd() -> Obj:
    columns = [*COLUMNS, ("age", "date", ".metadata.creationTimestamp")]
    version: Obj = {
        "name": OLD_RAYCLUSTERS.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": fields([], apiVersion=TEXT, kind=TEXT, metadata={"type": "object"}, spec=SPEC, status=STATUS)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": name, "type": kind, "jsonPath": path} for name, kind, path in columns],
    }
    names = {"kind": "RayCluster", "listKind": "RayClusterList", "plural": OLD_RAYCLUSTERS.plural, "singular": "raycluster"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{OLD_RAYCLUSTERS.plural}.{OLD_RAYCLUSTERS.group}"},
        "spec": {"group": OLD_RAYCLUSTERS.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }
