"""The CustomResourceDefinitions of the four kinds, generated from their declarations.

Each stays far below the 262,144 bytes that client-side `kubectl apply` can keep in an annotation: Pod templates are not spelled out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from rayfleet.api.meta import RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Resource
from rayfleet.api.model import model_of
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.api.rayservice import RayService
from rayfleet.api.schema import schema_of

DEPRECATION = "ray.io/v1alpha1 {kind} is deprecated and gets no new fields; use ray.io/v1"


class Column(NamedTuple):
    """A column of `kubectl get`; those of priority 1 show with `-o wide` only."""

    name: str
    type: str
    path: str
    priority: int = 0


class Kind(NamedTuple):
    resource: Resource
    declaration: type[msgspec.Struct]
    columns: tuple[Column, ...]
    old_version: bool = True


AGE = Column("age", "date", ".metadata.creationTimestamp")
KINDS = (
    Kind(
        RAYCLUSTERS,
        RayCluster,
        (
            Column("desired workers", "integer", ".status.desiredWorkerReplicas"),
            Column("available workers", "integer", ".status.availableWorkerReplicas"),
            Column("cpus", "string", ".status.desiredCPU"),
            Column("memory", "string", ".status.desiredMemory"),
            Column("gpus", "string", ".status.desiredGPU"),
            Column("tpus", "string", ".status.desiredTPU", 1),
            Column("status", "string", ".status.state"),
            AGE,
            Column("head pod IP", "string", ".status.head.podIP", 1),
            Column("head service IP", "string", ".status.head.serviceIP", 1),
        ),
    ),
    Kind(
        RAYJOBS,
        RayJob,
        (
            Column("job status", "string", ".status.jobStatus"),
            Column("deployment status", "string", ".status.jobDeploymentStatus"),
            Column("ray cluster name", "string", ".status.rayClusterName"),
            Column("start time", "string", ".status.startTime"),
            Column("end time", "string", ".status.endTime"),
            AGE,
        ),
    ),
    Kind(
        RAYSERVICES,
        RayService,
        (
            Column("service status", "string", ".status.serviceStatus"),
            Column("num serve endpoints", "string", ".status.numServeEndpoints"),
        ),
    ),
    Kind(
        RAYCRONJOBS,
        RayCronJob,
        (
            Column("schedule", "string", ".spec.schedule"),
            Column("timezone", "string", ".spec.timeZone"),
            Column("last schedule", "date", ".status.lastScheduleTime"),
            AGE,
            Column("suspend", "boolean", ".spec.suspend"),
        ),
        old_version=False,
    ),
)


def crds() -> tuple[dict[str, Any], ...]:
    """The four CRDs as JSON objects, sorted as KINDS; each call returns fresh ones."""
    return tuple(crd(kind) for kind in KINDS)


def crd(kind: Kind) -> dict[str, Any]:
    resource = kind.resource
    singular = resource.kind.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": {
                "categories": ["all"],
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": singular,
            },
            "scope": "Namespaced",
            "conversion": {"strategy": "None"},
            "versions": versions(kind),
        },
    }


def versions(kind: Kind) -> list[dict[str, Any]]:
    """`v1` is stored. `v1alpha1` shares its schema, or old manifests would break and updates of the CRD would lose fields."""
    current = version(kind, "v1") | {"storage": True}
    if not kind.old_version:
        return [current]
    warning = DEPRECATION.format(kind=kind.resource.kind)
    return [current, version(kind, "v1alpha1") | {"storage": False, "deprecated": True, "deprecationWarning": warning}]


def version(kind: Kind, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "schema": {"openAPIV3Schema": schema_of(model_of(kind.declaration))},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column_of(column) for column in kind.columns],
    }


def column_of(column: Column) -> dict[str, Any]:
    priority = {"priority": column.priority} if column.priority else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path} | priority
