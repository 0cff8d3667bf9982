"""Pod templates: present, readable, with at least one container, and with quantities that are some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api import quantity
from rayfleet.api.fault import Fault, shown
from rayfleet.api.model import join
from rayfleet.api.template import Container, PodTemplate
from rayfleet.api.validation.subject import Subject


def template_faults(subject: Subject) -> Iterator[Fault]:
    for group in subject.groups:
        yield from group.reading.faults
        if not group.reading.faults:
            yield from content_faults(group.template, f"{group.path}.template.spec")


def content_faults(template: PodTemplate, path: str) -> Iterator[Fault]:
    if not template.spec.containers:
        yield Fault(f"{path}.containers", "is empty", "the first container is the Ray container, at least that one must be there")
    seen: set[str] = set()
    for index, container in enumerate(template.spec.containers):
        where = f"{path}.containers[{index}]"
        if not container.name:
            yield Fault(f"{where}.name", "is empty", "each container needs a name of its own")
        elif container.name in seen:
            yield Fault(f"{where}.name", f"{shown(container.name)} is the name of another container too", "each needs a name of its own")
        seen.add(container.name)
        yield from quantity_faults(container, where)


def quantity_faults(container: Container, path: str) -> Iterator[Fault]:
    for name, amounts in (("limits", container.resources.limits), ("requests", container.resources.requests)):
        yield from amount_faults(amounts, f"{path}.resources.{name}")


def amount_faults(amounts: Mapping[str, Any], path: str) -> Iterator[Fault]:
    for name, amount in amounts.items():
        if not is_quantity(amount):
            yield Fault(join(path, name), f"{shown(amount)} is no quantity", "write for example 2, 500m or 4Gi")


def is_quantity(amount: Any) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return False
    return quantity.FORM.fullmatch(str(amount).strip()) is not None
