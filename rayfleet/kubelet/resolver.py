"""The names of the cluster domain. https://github.com/kubernetes/dns/blob/master/docs/specification.md"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from rayfleet.kubelet.endpoints import behind
from rayfleet.kubelet.objects import Pod, Service
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.runtime.informer import Informer


@dataclass(frozen=True, slots=True)
class Found:
    """`exists` without addresses: the name is known and has no address now. `outside`: not a name of the cluster."""

    exists: bool = True
    addresses: tuple[str, ...] = ()
    alias: str = ""
    outside: bool = False


MISSING, OUTSIDE = Found(exists=False), Found(exists=False, outside=True)


class Resolver:
    def __init__(self, settings: KubeletSettings, pods: Informer[Pod], services: Informer[Service]) -> None:
        self.suffix, self.pods, self.services = "." + settings.domain, pods, services
        self.own = settings.domain

    def find(self, name: str) -> Found:
        """What a name (any case, without the last dot) stands for."""
        name = name.lower()
        if name == self.own or name.endswith((".in-addr.arpa", ".ip6.arpa")):
            return Found() if name == self.own else MISSING
        if not name.endswith(self.suffix):
            return OUTSIDE
        match name.removesuffix(self.suffix).split("."):
            case [service, namespace, "svc"]:
                return self.service(namespace, service)
            case [host, service, namespace, "svc"]:
                return self.host(namespace, service, host)
            case [dashed, _, "pod"]:
                return dashed_address(dashed)
            case ["svc"] | ["pod"]:
                return Found()
            case _:
                return MISSING

    def service(self, namespace: str, name: str) -> Found:
        service = self.services.get(namespace, name)
        if service is None:
            return MISSING
        if service.spec.get("type") == "ExternalName":
            return Found(alias=service.spec.get("externalName", ""))
        address = service.spec.get("clusterIP") or "None"
        if address != "None":
            return Found(addresses=(address,))
        return Found(addresses=tuple(pod.status["podIP"] for pod in behind(service, self.pods.values())))

    def host(self, namespace: str, name: str, host: str) -> Found:
        """`hostname.service`: a Pod that says it is so, or `10-88-0-2.service`: one of the addresses behind the Service."""
        service = self.services.get(namespace, name)
        if service is None:
            return MISSING
        found = tuple(
            pod.status["podIP"]
            for pod in behind(service, self.pods.values())
            if (pod.spec.get("hostname") == host and pod.spec.get("subdomain") == name) or pod.status["podIP"].replace(".", "-") == host
        )
        return Found(addresses=found) if found else MISSING


def dashed_address(text: str) -> Found:
    try:
        return Found(addresses=(str(ipaddress.IPv4Address(text.replace("-", "."))),))
    except ValueError:
        return MISSING
