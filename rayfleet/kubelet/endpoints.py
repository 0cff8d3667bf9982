"""Which Pods stand behind a Service, and at which port. Pure.

https://kubernetes.io/docs/concepts/services-networking/service/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rayfleet.kubelet.objects import Pod, Service

Address = tuple[str, int]
EVERYWHERE = "0.0.0.0"  # each address of the node


class Front(NamedTuple):
    """Where callers come to."""

    protocol: str  # TCP or UDP
    host: str
    port: int


def is_ready(pod: Pod) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in pod.status.get("conditions") or ())


def behind(service: Service, pods: Iterable[Pod]) -> list[Pod]:
    """The Pods that the selector names, have an address and are ready (or the Service publishes those that are not), by name."""
    selector: Mapping[str, str] = service.spec.get("selector") or {}
    if not selector:
        return []
    unready_too = bool(service.spec.get("publishNotReadyAddresses"))
    found = [
        pod
        for pod in pods
        if pod.metadata.namespace == service.metadata.namespace
        and all(pod.metadata.label(key) == value for key, value in selector.items())
        and pod.status.get("podIP")
        and not pod.finished
        and (unready_too or (is_ready(pod) and not pod.metadata.deletion_timestamp))
    ]
    return sorted(found, key=lambda pod: pod.metadata.name)


def target_port(port: Mapping[str, Any], pod: Pod) -> int | None:
    """The Pod's port behind a Service's; None when the name that it has is none of the Pod's."""
    wanted = port.get("targetPort") or port["port"]
    if isinstance(wanted, int):
        return wanted
    for container in (*pod.containers, *pod.init_containers):
        for own in container.get("ports") or ():
            if own.get("name") == wanted:
                return int(own["containerPort"])
    return int(wanted) if str(wanted).isdigit() else None


def forwards(services: Iterable[Service], pods: Iterable[Pod], api: Address) -> dict[Front, tuple[Address, ...]]:
    """Where what comes to a ClusterIP, a node port or a host port goes; without a Pod behind it a port is not there, so that it refuses."""
    everyone = list(pods)
    found: dict[Front, tuple[Address, ...]] = {}
    for service in services:
        if service.spec.get("type") == "ExternalName":
            continue
        for port in service.spec.get("ports") or ():
            targets = (api,) if service.metadata.key == ("default", "kubernetes") else tuple(targets_of(service, port, everyone))
            if targets:
                found |= dict.fromkeys(fronts(service, port), targets)
    for pod in everyone:
        found |= host_ports(pod)
    return found


def fronts(service: Service, port: Mapping[str, Any]) -> Iterator[Front]:
    protocol, address = port.get("protocol") or "TCP", service.spec.get("clusterIP") or "None"
    if address != "None":
        yield Front(protocol, address, int(port["port"]))
        if port.get("nodePort"):
            yield Front(protocol, EVERYWHERE, int(port["nodePort"]))


def targets_of(service: Service, port: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[Address]:
    for pod in behind(service, pods):
        number = target_port(port, pod)
        if number is not None:
            yield pod.status["podIP"], number


def host_ports(pod: Pod) -> dict[Front, tuple[Address, ...]]:
    """The ports of the node that a living Pod has for itself."""
    if not pod.status.get("podIP") or pod.finished:
        return {}
    return {
        Front(port.get("protocol") or "TCP", port.get("hostIP") or EVERYWHERE, int(port["hostPort"])): (
            (pod.status["podIP"], int(port["containerPort"])),
        )
        for container in (*pod.containers, *pod.init_containers)
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }
