"""The head's own Service as a user writes it: only its shape; what it may say is Kubernetes' business."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rayfleet.api.decode import checked
from rayfleet.api.fault import Fault
from rayfleet.api.model import model_of
from rayfleet.api.template import Read, TemplateMetadata, absent
from rayfleet.api.validation.subject import Subject


class Port(Read, frozen=True, gc=False, rename="camel"):
    name: str = ""
    port: int = 0
    target_port: str | int = 0


class ServiceSpec(Read, frozen=True, gc=False, rename="camel"):
    type: str = ""
    selector: dict[str, str] = {}
    ports: tuple[Port, ...] = ()


class Service(Read, frozen=True, gc=False, rename="camel"):
    metadata: TemplateMetadata = TemplateMetadata()
    spec: ServiceSpec = ServiceSpec()


def service_faults(subject: Subject) -> Iterator[Fault]:
    raw = subject.head.spec.head_service
    if not absent(raw):
        faults: list[Fault] = []
        checked(msgspec.json.decode(raw), model_of(Service), f"{subject.head.path}.headService", faults)
        yield from faults
