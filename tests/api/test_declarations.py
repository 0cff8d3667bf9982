"""The declarations hold every field of the field's API, under the same name, and nothing else but one field of a RayCronJob's status."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from rayfleet.api.crds import crds
from rayfleet.api.meta import Condition
from rayfleet.api.model import Node, model_of
from rayfleet.api.raycluster import RayClusterSpec, RayClusterStatus
from rayfleet.api.raycronjob import RayCronJobSpec, RayCronJobStatus
from rayfleet.api.rayjob import RayJobSpec, RayJobStatus
from rayfleet.api.rayservice import RayServiceSpec, RayServiceStatus
from tests.api import fields

SHARED = (RayClusterSpec, RayClusterStatus, RayJobSpec, Condition)
CASES = [
    (RayClusterSpec, fields.RAYCLUSTER_SPEC, 89, "RayCluster", "spec"),
    (RayClusterStatus, fields.RAYCLUSTER_STATUS, 21, "RayCluster", "status"),
    (RayJobSpec, fields.RAYJOB_SPEC, 31, "RayJob", "spec"),
    (RayJobStatus, fields.RAYJOB_STATUS, 17, "RayJob", "status"),
    (RayServiceSpec, fields.RAYSERVICE_SPEC, 16, "RayService", "spec"),
    (RayServiceStatus, fields.RAYSERVICE_STATUS, 29, "RayService", "status"),
    (RayCronJobSpec, fields.RAYCRONJOB_SPEC, 4, "RayCronJob", "spec"),
    (RayCronJobStatus, [*fields.RAYCRONJOB_STATUS, *fields.OURS], 2, "RayCronJob", "status"),
]


def paths(node: Node, prefix: str = "") -> Iterator[str]:
    """The paths of an object's own fields; those of another kind inside it are counted there."""
    for name, field in node.fields.items():
        yield prefix + name
        inner, mark = field.node, ""
        while inner.item:
            inner, mark = inner.item, mark + ("[]" if inner.form == "list" else "{}")
        if inner.cls not in SHARED:
            yield from paths(inner, f"{prefix}{name}{mark}.")


@pytest.mark.parametrize(("declaration", "expected", "count", "kind", "part"), CASES)
def test_declared_fields_are_those_of_the_api(
    declaration: type[msgspec.Struct], expected: list[str], count: int, kind: str, part: str
) -> None:
    found = list(paths(model_of(declaration)))
    assert sorted(found) == sorted(expected)
    assert len(found) == len(set(found)) == count


@pytest.mark.parametrize(("declaration", "expected", "count", "kind", "part"), CASES)
def test_every_version_of_the_crd_has_every_field(
    declaration: type[msgspec.Struct], expected: list[str], count: int, kind: str, part: str
) -> None:
    crd = next(each for each in crds() if each["spec"]["names"]["kind"] == kind)
    for version in crd["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]["properties"][part]
        for path in expected:
            assert lookup(schema, path), f"{kind} {version['name']} lacks {part}.{path}"


def lookup(schema: dict, path: str) -> dict:
    for step in path.split("."):
        name = step.rstrip("[]{}")
        schema = schema["properties"][name]
        for _ in range(step.count("[")):
            schema = schema["items"]
        for _ in range(step.count("{")):
            schema = schema["additionalProperties"]
    return schema
