"""Pod templates as far as this program reads them. The template itself stays raw; this is for looking, never for writing back."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from rayfleet.api.decode import checked
from rayfleet.api.fault import Fault
from rayfleet.api.model import model_of


class Read(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of what is read of a template: unknown fields are ignored, missing ones have defaults."""


R = TypeVar("R", bound=Read)


class EnvVar(Read, frozen=True, gc=False, rename="camel"):
    name: str = ""
    value: str | None = None
    value_from: dict[str, Any] = {}


class VolumeMount(Read, frozen=True, gc=False, rename="camel"):
    name: str = ""
    mount_path: str = ""


class ContainerPort(Read, frozen=True, gc=False, rename="camel"):
    name: str = ""
    container_port: int = 0


class Resources(Read, frozen=True, gc=False, rename="camel"):
    limits: dict[str, Any] = {}
    requests: dict[str, Any] = {}


class Container(Read, frozen=True, gc=False, rename="camel"):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: Resources = Resources()
    volume_mounts: tuple[VolumeMount, ...] = ()
    liveness_probe: dict[str, Any] | None = None
    readiness_probe: dict[str, Any] | None = None

    def variable(self, name: str) -> EnvVar | None:
        """The environment variable of that name, whatever its source."""
        return next((each for each in self.env if each.name == name), None)


class Volume(Read, frozen=True, gc=False, rename="camel"):
    name: str = ""


class PodSpec(Read, frozen=True, gc=False, rename="camel"):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: str = ""


class TemplateMetadata(Read, frozen=True, gc=False, rename="camel"):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplate(Read, frozen=True, gc=False, rename="camel"):
    metadata: TemplateMetadata = TemplateMetadata()
    spec: PodSpec = PodSpec()

    @property
    def ray(self) -> Container:
        """Container 0 is the Ray container, always; an empty one where there is none."""
        return self.spec.containers[0] if self.spec.containers else Container()


class Reading(NamedTuple):
    """A template as far as it could be read, and what is wrong with it."""

    template: PodTemplate
    faults: tuple[Fault, ...]


def absent(raw: msgspec.Raw) -> bool:
    """Is a raw field not set? A null counts as not set."""
    return bytes(raw) in (b"", b"null")


def read_template(raw: msgspec.Raw, path: str) -> Reading:
    """Never raises. With faults the template is an empty one."""
    if absent(raw):
        return Reading(PodTemplate(), (Fault(path, "is missing", "a Pod template with at least one container must stand here"),))
    try:
        if b"null" not in bytes(raw):
            return Reading(msgspec.json.decode(raw, type=PodTemplate), ())
    except msgspec.ValidationError:
        pass
    value = msgspec.json.decode(raw)
    faults: list[Fault] = []
    pruned = checked(value, model_of(PodTemplate), path, faults)
    if faults:
        return Reading(PodTemplate(), tuple(faults))
    return Reading(msgspec.json.decode(msgspec.json.encode(pruned), type=PodTemplate), ())


def read_list(raws: tuple[msgspec.Raw, ...], cls: type[R], path: str) -> tuple[tuple[R, ...], tuple[Fault, ...]]:
    """Elements of a raw list (environment variables, mounts): those that could be read, and what is wrong with the others."""
    read: list[R] = []
    faults: list[Fault] = []
    for index, raw in enumerate(raws):
        wrong: list[Fault] = []
        pruned = checked(msgspec.json.decode(raw), model_of(cls), f"{path}[{index}]", wrong)
        faults += wrong
        if not wrong:
            read.append(msgspec.json.decode(msgspec.json.encode(pruned), type=cls))
    return tuple(read), tuple(faults)
