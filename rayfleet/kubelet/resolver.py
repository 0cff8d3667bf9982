"""The names of the cluster domain. https://github.com/kubernetes/dns/blob/master/docs/specification.md"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.kubelet.endpoints import behind, target_port
from rayfleet.kubelet.objects import Pod, Service
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.runtime.informer import Informer


@dataclass(frozen=True, slots=True)
class Found:
    """`exists` without addresses: the name is known and has no address now. `outside`: not a name of the cluster.

    `ports` are what is asked for by SRV: a number, and the name of who has it; `pointer` is the name of an address.
    """

    exists: bool = True
    addresses: tuple[str, ...] = ()
    alias: str = ""
    outside: bool = False
    ports: tuple[tuple[int, str], ...] = ()
    pointer: str = ""


REVERSE = ".in-addr.arpa"
MISSING, OUTSIDE = Found(exists=False), Found(exists=False, outside=True)


class Resolver:
    def __init__(self, settings: KubeletSettings, pods: Informer[Pod], services: Informer[Service]) -> None:
        self.suffix, self.pods, self.services = "." + settings.domain, pods, services
        self.own = settings.domain

    def find(self, name: str) -> Found:
        """What a name (any case, without the last dot) stands for."""
        name = name.lower()
        if name == self.own:
            return Found()
        if name.endswith(REVERSE):
            return self.pointer(".".join(reversed(name.removesuffix(REVERSE).split("."))))
        if name.endswith(".ip6.arpa"):
            return MISSING
        if not name.endswith(self.suffix):
            return OUTSIDE
        match name.removesuffix(self.suffix).split("."):
            case [service, namespace, "svc"]:
                return self.service(namespace, service)
            case [host, service, namespace, "svc"]:
                return self.host(namespace, service, host)
            case [port, protocol, service, namespace, "svc"] if port.startswith("_") and protocol.startswith("_"):
                found = self.service(namespace, service, (port[1:], protocol[1:]))
                return found if found.ports else MISSING
            case [dashed, _, "pod"]:
                return dashed_address(dashed)
            case ["svc"] | ["pod"]:
                return Found()
            case _:
                return MISSING

    def service(self, namespace: str, name: str, wanted: tuple[str, str] = ("", "")) -> Found:
        """`wanted` is the name and protocol of one of its ports; named ones only can be asked for."""
        service = self.services.get(namespace, name)
        if service is None:
            return MISSING
        if service.spec.get("type") == "ExternalName":
            return Found(alias=service.spec.get("externalName", ""))
        ports = [port for port in service.spec.get("ports") or () if port.get("name") and wanted in (("", ""), name_of(port))]
        address = service.spec.get("clusterIP") or "None"
        own = f"{name}.{namespace}.svc{self.suffix}"
        if address != "None":
            return Found(addresses=(address,), ports=tuple((int(port["port"]), own) for port in ports))
        pods = behind(service, self.pods.values())
        return Found(
            addresses=tuple(pod.status["podIP"] for pod in pods),
            ports=tuple(
                (number, f"{host_of(pod, name)}.{own}") for port in ports for pod in pods if (number := target_port(port, pod)) is not None
            ),
        )

    def host(self, namespace: str, name: str, host: str) -> Found:
        """`hostname.service`: a Pod that says it is so, or `10-88-0-2.service`: one of the addresses behind the Service."""
        service = self.services.get(namespace, name)
        if service is None:
            return MISSING
        pods = behind(service, self.pods.values())
        found = tuple(pod.status["podIP"] for pod in pods if host in (host_of(pod, name), dashed(pod)))
        return Found(addresses=found) if found else MISSING

    def pointer(self, address: str) -> Found:
        """A Service by its ClusterIP, or a Pod by a headless Service that it is behind."""
        for service in self.services.values():
            meta, own = service.metadata, f"{service.metadata.name}.{service.metadata.namespace}.svc{self.suffix}"
            if service.spec.get("clusterIP") == address:
                return Found(pointer=own)
            if service.spec.get("clusterIP") == "None":
                pods = [pod for pod in behind(service, self.pods.values()) if pod.status["podIP"] == address]
                if pods:
                    return Found(pointer=f"{host_of(pods[0], meta.name)}.{own}")
        return MISSING


def name_of(port: Mapping[str, Any]) -> tuple[str, str]:
    return port["name"], (port.get("protocol") or "TCP").lower()


def host_of(pod: Pod, service: str) -> str:
    """What a Pod is called behind a headless Service."""
    own = pod.spec.get("hostname") if pod.spec.get("subdomain") == service else ""
    return own or dashed(pod)


def dashed(pod: Pod) -> str:
    return str(pod.status["podIP"]).replace(".", "-")


def dashed_address(text: str) -> Found:
    try:
        return Found(addresses=(str(ipaddress.IPv4Address(text.replace("-", "."))),))
    except ValueError:
        return MISSING
