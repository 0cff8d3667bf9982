"""Fields with a fixed set of values. The API server checks those that its schema names; a file that never saw one is checked here."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rayfleet.api.decode import NAMES
from rayfleet.api.fault import Fault, shown
from rayfleet.api.model import Node, join, model_of
from rayfleet.api.raycluster import MANAGERS, RayClusterSpec
from rayfleet.api.validation.subject import Subject

SERVICE_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
ORIGIN_KIND = "ray.io/originated-from-crd"


def choice_faults(subject: Subject) -> Iterator[Fault]:
    yield from field_faults(subject.spec, model_of(RayClusterSpec), subject.path)
    head = subject.head
    if head.spec.service_type and head.spec.service_type not in SERVICE_TYPES:
        yield Fault(f"{head.path}.serviceType", f"{shown(head.spec.service_type)} is no type of Service", one_of(SERVICE_TYPES))
    if subject.spec.managed_by is not None and subject.spec.managed_by not in MANAGERS:
        yield Fault(f"{subject.path}.managedBy", f"{shown(subject.spec.managed_by)} is nobody known", one_of(MANAGERS))
    maker = subject.metadata.label(ORIGIN_KIND)
    if subject.spec.upgrade_strategy and subject.spec.upgrade_strategy.type and maker in ("RayJob", "RayService"):
        yield Fault(f"{subject.path}.upgradeStrategy.type", f"the cluster was made by a {maker}, which replaces it itself", "leave it out")


def field_faults(value: object, node: Node, path: str) -> Iterator[Fault]:
    """Only what is set is walked into; in most specs that is little."""
    for field in node.fields.values():
        part = getattr(value, field.attribute)
        where = join(path, field.name)
        if part is None or part == field.default:
            continue
        allowed = field.node.extra.get("enum")
        if allowed and part not in allowed and part != "":
            yield Fault(where, f"{shown(part)} is unknown", one_of(allowed))
        elif field.node.form == "object":
            yield from field_faults(part, field.node, where)
        elif field.node.form == "opaque":
            yield from object_faults(part, where)
        elif field.node.form == "list" and field.node.item and field.node.item.form == "opaque":
            for index, item in enumerate(part):
                yield from object_faults(item, f"{where}[{index}]")
        elif field.node.form == "list" and field.node.item and field.node.item.fields:
            for index, item in enumerate(part):
                yield from field_faults(item, field.node.item, f"{where}[{index}]")


def object_faults(raw: msgspec.Raw, path: str) -> Iterator[Fault]:
    """What is passed on to Kubernetes is an object of its API, whatever its fields."""
    if not bytes(raw).lstrip().startswith(b"{"):
        yield Fault(path, f"expected object, got {NAMES[type(msgspec.json.decode(raw))]}")


def one_of(allowed: tuple[str, ...]) -> str:
    return f"it must be one of {', '.join(allowed)}"
