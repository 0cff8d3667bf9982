"""Which Pods stand behind a Service, and at which port. Pure.

https://kubernetes.io/docs/concepts/services-networking/service/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rayfleet.kubelet.objects import Pod, Service

Address = tuple[str, int]


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


def forwards(services: Iterable[Service], pods: Iterable[Pod], api: Address) -> dict[Address, tuple[Address, ...]]:
    """(ClusterIP, port) -> where its connections go; without a Pod behind it a port is not there, so that it refuses connections."""
    everyone = list(pods)
    found: dict[Address, tuple[Address, ...]] = {}
    for service in services:
        address = service.spec.get("clusterIP") or "None"
        if address == "None" or service.spec.get("type") == "ExternalName":
            continue
        for port in service.spec.get("ports") or ():
            if (port.get("protocol") or "TCP") != "TCP":
                continue
            targets = tuple(
                (pod.status["podIP"], number) for pod in behind(service, everyone) if (number := target_port(port, pod)) is not None
            )
            if service.metadata.key == ("default", "kubernetes"):
                targets = (api,)
            if targets:
                found[address, int(port["port"])] = targets
    return found
