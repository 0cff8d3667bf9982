"""The head's own Service as a user writes it: its shape, and nothing by which it would take what is sent to others. What else it may say is
Kubernetes' business."""

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
    external_ips: tuple[str, ...] = msgspec.field(default=(), name="externalIPs")
    external_name: str = ""
    ports: tuple[Port, ...] = ()


class Service(Read, frozen=True, gc=False, rename="camel"):
    metadata: TemplateMetadata = TemplateMetadata()
    spec: ServiceSpec = ServiceSpec()


def service_faults(subject: Subject) -> Iterator[Fault]:
    yield from written_service_faults(subject.head.spec.head_service, f"{subject.head.path}.headService")


def written_service_faults(raw: msgspec.Raw, path: str) -> Iterator[Fault]:
    """Of a Service that a user writes and the operator makes."""
    if absent(raw):
        return
    faults: list[Fault] = []
    pruned = checked(msgspec.json.decode(raw), model_of(Service), path, faults)
    yield from faults
    if not faults:
        yield from diversions(msgspec.convert(pruned, Service).spec, f"{path}.spec")


def diversions(spec: ServiceSpec, path: str) -> Iterator[Fault]:
    """The operator would lend its right to whoever may not make such a Service (CVE-2020-8554, and Services that stand for other names)."""
    rule = "it must be left out; who may create Services can make one beside this one"
    if spec.external_ips:
        yield Fault(f"{path}.externalIPs", "takes what is sent to those addresses", rule)
    if spec.external_name or spec.type == "ExternalName":
        yield Fault(f"{path}.externalName", "makes its name stand for another host", rule)
