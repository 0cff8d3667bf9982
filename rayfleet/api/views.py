"""Narrow views of children for the caches: only the fields that decisions read, decoded straight from the API's bytes.

Not tracked by the garbage collector, tuples instead of lists, no cycles: many thousands of them are held (see docs/dependencies.md).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import Condition, ObjectMeta
from rayfleet.api.names import Slot


class Terminated(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str | None = None


class Waiting(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    reason: str = ""
    message: str = ""


class ContainerState(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class ContainerView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""


class PodSpecView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    restart_policy: str = ""
    containers: tuple[ContainerView, ...] = ()


class PodStatusView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


class PodView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Pod as far as decisions read it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpecView = PodSpecView()
    status: PodStatusView = PodStatusView()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def running(self) -> bool:
        return self.status.phase == "Running"

    @property
    def ready(self) -> bool:
        """Running, and its condition Ready says True."""
        return self.running and any(found.type == "Ready" and found.status == "True" for found in self.status.conditions or ())

    @property
    def is_head(self) -> bool:
        return self.metadata.label(labels.NODE_TYPE) == labels.HEAD

    @property
    def is_worker(self) -> bool:
        return self.metadata.label(labels.NODE_TYPE) == labels.WORKER

    @property
    def group(self) -> str:
        return self.metadata.label(labels.GROUP)

    @property
    def slot(self) -> Slot | None:
        """Which slot of its group the Pod fills, as its labels say; None when they do not."""
        replica = self.metadata.label(labels.REPLICA_INDEX)
        host = self.metadata.label(labels.HOST_INDEX) or "0"
        return Slot(int(replica), int(host)) if replica.isdecimal() and host.isdecimal() else None

    @property
    def deletion_cost(self) -> int:
        """What the owner said it costs to lose this Pod; 0 when nothing, or no number, was said (Kubernetes: pod-deletion-cost)."""
        text = self.metadata.annotation(labels.DELETION_COST)
        return int(text) if text.removeprefix("-").isdecimal() else 0

    def has_container(self, name: str) -> bool:
        return any(container.name == name for container in self.spec.containers)

    @property
    def ray_status(self) -> ContainerStatus | None:
        """The status of the Ray container: the spec's container 0 (statuses come sorted by name)."""
        name = self.spec.containers[0].name if self.spec.containers else ""
        for status in self.status.container_statuses or ():
            if status.name == name:
                return status
        return None


class JobStatusView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: tuple[Condition, ...] | None = None


class JobView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A batch Job as far as decisions read it."""

    metadata: ObjectMeta = ObjectMeta()
    status: JobStatusView = JobStatusView()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def true_condition(self, *types: str) -> Condition | None:
        """The first of these that is True."""
        return next((found for found in self.status.conditions or () if found.type in types and found.status == "True"), None)

    @property
    def complete(self) -> bool:
        return self.true_condition("Complete") is not None

    @property
    def failure(self) -> str | None:
        """Why it failed, or is about to be called failed; None while it has not."""
        found = self.true_condition("Failed", "FailureTarget")
        return None if found is None else found.message or found.reason or "no reason given"


class ServicePort(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    port: int = 0
    target_port: int | str = 0
    node_port: int = 0


class ServiceSpecView(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: dict[str, str] | None = None
    ports: tuple[ServicePort, ...] | None = None


class ServiceBody(msgspec.Struct, frozen=True, gc=False):
    spec: ServiceSpecView = ServiceSpecView()


class ChildView(msgspec.Struct, frozen=True, gc=False):
    """Any child that is held to its manifest: its metadata, and all that its owner may have written, as JSON.

    JSON, because thousands are held and few are looked into.
    """

    metadata: ObjectMeta = ObjectMeta()
    content: bytes = b"{}"

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def body(self) -> dict[str, Any]:
        """A fresh copy of the object, without its status and without what only the API server writes."""
        found: dict[str, Any] = msgspec.json.decode(self.content)
        return found


class ServiceView(ChildView, frozen=True, gc=False):
    """A Service."""

    @property
    def spec(self) -> ServiceSpecView:
        return msgspec.json.decode(self.content, type=ServiceBody).spec


class EndpointConditions(msgspec.Struct, frozen=True, gc=False):
    ready: bool | None = None


class TargetRef(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    uid: str = ""


class Endpoint(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: EndpointConditions = EndpointConditions()
    target_ref: TargetRef | None = None

    @property
    def ready(self) -> bool:
        """Unknown counts as ready, as Kubernetes asks of who reads it."""
        return self.conditions.ready is not False


class SliceView(msgspec.Struct, frozen=True, gc=False):
    """An EndpointSlice: where a Service leads. Its controller is the Service."""

    metadata: ObjectMeta = ObjectMeta()
    endpoints: tuple[Endpoint, ...] | None = None


class CertificateStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`notAfter` is set once it has been issued, and stays while it is issued anew."""

    conditions: tuple[Condition, ...] | None = None
    not_after: str = ""


class CertificateView(ChildView, frozen=True, gc=False):
    """A Certificate of cert-manager, and what its issuer says."""

    status: CertificateStatus = CertificateStatus()

    @property
    def issued(self) -> bool:
        ready = any(found.type == "Ready" and found.status == "True" for found in self.status.conditions or ())
        return ready or bool(self.status.not_after)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Those that it names."""
        return tuple((self.body().get("spec") or {}).get("ipAddresses") or ())


class CertificateBody(msgspec.Struct, frozen=True, gc=False):
    status: CertificateStatus = CertificateStatus()


class Whole(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()


V = TypeVar("V", bound=ChildView)
SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid")


def decode_child(raw: bytes, cls: type[V] = ChildView) -> V:  # type: ignore[assignment]
    """From the API's bytes. Raises msgspec.MsgspecError."""
    body: dict[str, Any] = msgspec.json.decode(raw)
    body.pop("status", None)
    for name in SERVERS_OWN:
        body.get("metadata", {}).pop(name, None)
    return cls(msgspec.json.decode(raw, type=Whole).metadata, msgspec.json.encode(body))


def decode_certificate(raw: bytes) -> CertificateView:
    """As `decode_child`, with the status."""
    view = decode_child(raw, CertificateView)
    return msgspec.structs.replace(view, status=msgspec.json.decode(raw, type=CertificateBody).status)


def decode_service(raw: bytes) -> ServiceView:
    """As `decode_child`."""
    return decode_child(raw, ServiceView)
