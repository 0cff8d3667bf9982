"""Fields with a fixed set of values. The API server checks those that its schema names; a file that never saw one is checked here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from rayfleet.api.decode import NAMES
from rayfleet.api.fault import Fault, shown
from rayfleet.api.model import Field, Node, join, model_of
from rayfleet.api.raycluster import MANAGERS
from rayfleet.api.validation.subject import Subject

SERVICE_TYPES = ("ClusterIP", "NodePort", "LoadBalancer")
ORIGIN_KIND = "ray.io/originated-from-crd"


def choice_faults(subject: Subject) -> Iterator[Fault]:
    yield from field_faults(subject.spec, subject.path)
    head = subject.head
    if head.spec.service_type and head.spec.service_type not in SERVICE_TYPES:
        yield Fault(f"{head.path}.serviceType", f"{shown(head.spec.service_type)} is no type of Service", one_of(SERVICE_TYPES))
    if subject.spec.managed_by is not None and subject.spec.managed_by not in MANAGERS:
        yield Fault(f"{subject.path}.managedBy", f"{shown(subject.spec.managed_by)} is nobody known", one_of(MANAGERS))
    maker = subject.metadata.label(ORIGIN_KIND)
    if subject.spec.upgrade_strategy and subject.spec.upgrade_strategy.type and maker in ("RayJob", "RayService"):
        yield Fault(f"{subject.path}.upgradeStrategy.type", f"the cluster was made by a {maker}, which replaces it itself", "leave it out")


def field_faults(value: msgspec.Struct, path: str) -> Iterator[Fault]:
    for field in checked_fields(type(value)):
        part = getattr(value, field.attribute)
        if part is None or part is field.default:
            continue
        where = join(path, field.name)
        if "enum" in field.node.extra:
            yield from enum_faults(part, field.node.extra["enum"], where)
        elif field.node.item:
            for index, item in enumerate(part):
                yield from part_faults(item, field.node.item, f"{where}[{index}]")
        else:
            yield from part_faults(part, field.node, where)


def part_faults(part: Any, node: Node, path: str) -> Iterator[Fault]:
    return object_faults(part, path) if node.form == "opaque" else field_faults(part, path)


@cache
def checked_fields(cls: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of an object that hold a choice or an object of Kubernetes' API, at any depth: few of many."""
    return tuple(field for field in model_of(cls).fields.values() if is_checked(field.node))


def is_checked(node: Node) -> bool:
    if node.form in ("map", "string", "integer", "number", "boolean", "int-or-string"):
        return "enum" in node.extra
    if node.item:
        return is_checked(node.item)
    return node.cls is None or bool(checked_fields(node.cls))


def enum_faults(part: str, allowed: tuple[str, ...], path: str) -> Iterator[Fault]:
    """An empty text is what an unset field looks like."""
    if part and part not in allowed:
        yield Fault(path, f"{shown(part)} is unknown", one_of(allowed))


def object_faults(raw: msgspec.Raw, path: str) -> Iterator[Fault]:
    """What is passed on to Kubernetes is an object of its API, whatever its fields."""
    first = bytes(memoryview(raw)[:1])
    if first not in (b"", b"{") and not bytes(raw).lstrip().startswith(b"{"):
        yield Fault(path, f"expected object, got {NAMES[type(msgspec.json.decode(raw))]}")


def one_of(allowed: tuple[str, ...]) -> str:
    return f"it must be one of {', '.join(allowed)}"
