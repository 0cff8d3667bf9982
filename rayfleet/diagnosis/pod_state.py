"""A Pod as far as a diagnosis reads it: more than the operator's decisions do, and never held in a cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import Condition, ObjectMeta
from rayfleet.api.views import Terminated, Waiting
from rayfleet.planning.conditions import find


class Ended(Terminated, frozen=True, gc=False, rename="camel"):
    finished_at: str = ""


class Running(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    started_at: str = ""


class State(msgspec.Struct, frozen=True, gc=False):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Ended | None = None


class Container(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A container's status."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: State = State()
    last_state: State = State()

    @property
    def ended(self) -> Ended | None:
        """How its life now, or the one before, ended."""
        return self.state.terminated or self.last_state.terminated

    @property
    def failed(self) -> bool:
        ended = self.state.terminated
        return ended is not None and ended.exit_code != 0


class Resources(msgspec.Struct, frozen=True, gc=False):
    limits: dict[str, str | int | float] | None = None


class ContainerSpec(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    image: str = ""
    resources: Resources = Resources()


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[ContainerSpec, ...] = ()
    init_containers: tuple[ContainerSpec, ...] | None = None


class Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[Container, ...] | None = None
    init_container_statuses: tuple[Container, ...] | None = None


class PodState(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def place(self) -> str:
        return f"pod/{self.name}"

    @property
    def is_head(self) -> bool:
        return self.metadata.label(labels.NODE_TYPE) == labels.HEAD

    @property
    def group(self) -> str:
        return self.metadata.label(labels.GROUP)

    @property
    def role(self) -> str:
        """The Pod as the subject of a sentence."""
        made_for_job = self.metadata.label(labels.ORIGINATED_FROM_KIND) == "RayJob"
        if made_for_job and self.metadata.label(labels.NODE_TYPE) in ("", labels.SUBMITTER):
            return "the submitter"
        return "the head" if self.is_head else f"a worker of group {self.group}"

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def ready(self) -> bool:
        ready = find(self.status.conditions or (), "Ready")
        return self.status.phase == "Running" and ready is not None and ready.status == "True"

    @property
    def initial(self) -> tuple[Container, ...]:
        return self.status.init_container_statuses or ()

    @property
    def containers(self) -> tuple[Container, ...]:
        """Those of init containers first, in the order of the spec: the first that is not well is the cause of what follows."""
        order = {each.name: number for number, each in enumerate(self.spec.containers)}
        return (*self.initial, *sorted(self.status.container_statuses or (), key=lambda each: order.get(each.name, 0)))

    def spec_of(self, container: str) -> ContainerSpec:
        for each in (*(self.spec.init_containers or ()), *self.spec.containers):
            if each.name == container:
                return each
        return ContainerSpec(container)

    def limit_of(self, container: str, resource: str) -> str:
        """ "" when there is none."""
        return str((self.spec_of(container).resources.limits or {}).get(resource, ""))

    def restarts(self) -> Iterator[Container]:
        return (each for each in self.containers if each.restart_count)


def pod_state(pod: Mapping[str, Any]) -> PodState:
    """From the API's JSON. Raises msgspec.ValidationError for what is no Pod."""
    return msgspec.convert(pod, PodState)
