"""The files of /etc that a Pod has for itself. Pure.

https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.settings import KubeletSettings

MOST_SERVERS = 3  # that the C library asks


def hosts(pod: Pod, hostname: str, address: str, domain: str) -> str:
    names, subdomain = hostname, pod.spec.get("subdomain")
    if subdomain:
        names = f"{names}.{subdomain}.{pod.metadata.namespace}.svc.{domain} {names}"
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost", f"{address} {names}"]
    lines += [f"{alias['ip']} {' '.join(alias.get('hostnames') or ())}" for alias in pod.spec.get("hostAliases") or ()]
    return "\n".join(lines) + "\n"


def resolv_conf(pod: Pod, settings: KubeletSettings) -> str:
    """The cluster's resolver unless `dnsPolicy` is None (the machine's cannot be reached from here), and what `dnsConfig` adds."""
    own: Mapping[str, Any] = pod.spec.get("dnsConfig") or {}
    servers, search, options = [settings.address], searched(pod.metadata.namespace, settings.domain), {"ndots": "5"}
    if pod.spec.get("dnsPolicy") == "None":
        servers, search, options = [], [], {}
    servers = list(dict.fromkeys([*servers, *(own.get("nameservers") or ())]))[:MOST_SERVERS]
    search = list(dict.fromkeys([*search, *(own.get("searches") or ())]))
    options |= {each["name"]: each.get("value") or "" for each in own.get("options") or ()}
    lines = [f"nameserver {server}" for server in servers]
    lines += [f"search {' '.join(search)}"] if search else []
    lines += ["options " + " ".join(f"{name}:{value}" if value else name for name, value in options.items())] if options else []
    return "\n".join(lines) + "\n"


def searched(namespace: str, domain: str) -> list[str]:
    return [f"{namespace}.svc.{domain}", f"svc.{domain}", domain]
