"""What was read of a cluster and of what hangs below it, at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rayfleet.api.meta import Condition, ObjectMeta
from rayfleet.diagnosis.pod_state import PodState
from rayfleet.planning.clock import parse_rfc3339


class Told(msgspec.Struct, frozen=True):
    """An Event. `about` is (kind, name), `time` when it was last seen (RFC 3339)."""

    about: tuple[str, str]
    type: str
    reason: str
    note: str
    time: str = ""
    count: int = 1


class Log(msgspec.Struct, frozen=True):
    """The last lines of one container; `previous`: of its life before the restart. `refused` says why there are none."""

    pod: str
    container: str
    previous: bool = False
    lines: tuple[str, ...] = ()
    refused: str = ""


class ClusterStatus(msgspec.Struct, frozen=True, rename="camel"):
    state: str = ""
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    desired_worker_replicas: int = 0
    ready_worker_replicas: int = 0
    observed_generation: int = 0
    last_update_time: str | None = None


class GroupSpec(msgspec.Struct, frozen=True, rename="camel"):
    group_name: str = ""


class ClusterSpec(msgspec.Struct, frozen=True, rename="camel"):
    suspend: bool | None = None
    managed_by: str | None = None
    ray_version: str | None = None


class Cluster(msgspec.Struct, frozen=True):
    """A RayCluster, also one that the operator refuses: its spec may hold anything."""

    metadata: ObjectMeta
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()


class Awaited(msgspec.Struct, frozen=True):
    """The RayJob that a head submits by itself (SidecarMode), for whose word it waits. `state` is its jobDeploymentStatus, `named` the UID
    of the cluster that it names ("": none)."""

    name: str
    state: str = ""
    named: str = ""


class Situation(msgspec.Struct, frozen=True):
    """`now` is in seconds since 1970. `services` are names, `policies` NetworkPolicies as the API gives them; None: not readable.
    `passed_over` are names of Pods that are not well and of whose group enough others were looked into. `awaited` is None where the head
    waits for no job."""

    cluster: Cluster
    now: float
    pods: tuple[PodState, ...] = ()
    events: tuple[Told, ...] = ()
    logs: tuple[Log, ...] = ()
    services: frozenset[str] | None = None
    policies: tuple[Mapping[str, Any], ...] | None = None
    unread: tuple[str, ...] = ()
    passed_over: frozenset[str] = frozenset()
    awaited: Awaited | None = None

    @property
    def head(self) -> PodState | None:
        heads = [pod for pod in self.pods if pod.is_head and not pod.terminating]
        return heads[0] if heads else None

    def about(self, kind: str, name: str, *reasons: str) -> list[Told]:
        """Events of one object, the newest first; with reasons only these."""
        found = [each for each in self.events if each.about == (kind, name) and (not reasons or each.reason in reasons)]
        return sorted(found, key=lambda each: each.time, reverse=True)

    def log(self, pod: str, container: str, *, previous: bool = False) -> Log:
        for each in self.logs:
            if (each.pod, each.container, each.previous) == (pod, container, previous):
                return each
        return Log(pod, container, previous)

    def age(self, time: str | None) -> float:
        """Seconds since a time; 0 for none."""
        return self.now - parse_rfc3339(time) if time else 0.0


def cluster_of(found: Mapping[str, Any]) -> Cluster:
    """From the API's JSON, leaving out whatever has not the form that it should have."""
    metadata = msgspec.convert(found["metadata"], ObjectMeta)
    return Cluster(metadata, lenient(found.get("spec"), ClusterSpec), lenient(found.get("status"), ClusterStatus))


def lenient(value: Any, form: Any) -> Any:
    try:
        return msgspec.convert(value or {}, form)
    except msgspec.ValidationError:
        return form()


def newest(events: Sequence[Told]) -> Told | None:
    return events[0] if events else None
