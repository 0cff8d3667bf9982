"""Services: defaults, rules, addresses."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from rayfleet.apiserver import quota
from rayfleet.apiserver.addresses import NODE_PORTS, SERVICE_NETWORK
from rayfleet.apiserver.core_rules import is_address, wrong_address
from rayfleet.apiserver.metadata import LABEL, check_label, check_name
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, StatusError, duplicate, invalid, invalid_value, not_supported, required

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

PROTOCOLS = ("SCTP", "TCP", "UDP")
TARGET = re.compile(r"[-a-z0-9]+")
_UNUSED = {
    "ExternalName": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy", "externalTrafficPolicy"),
    "ClusterIP": ("externalTrafficPolicy",),
}
"""what another type left behind"""
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def default_service(obj: Obj) -> None:
    """What a real API server fills in (pkg/apis/core/v1/defaults.go, single stack)."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port")
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    # Headless and without a selector, its endpoints are somebody else's and of any family.
    both = spec.get("clusterIP") == "None" and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if both else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if both else "SingleStack")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {}).setdefault("timeoutSeconds", 10800)


def begin_service(obj: Obj) -> None:
    obj["status"] = {"loadBalancer": {}}


def check_service(obj: Obj, old: Obj | None) -> list[Cause]:
    spec, causes = obj["spec"], []
    if spec["type"] not in TYPES:
        causes.append(not_supported("spec.type", spec["type"], TYPES))
    ports = spec.get("ports") or []
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        causes.append(required("spec.ports"))
    causes += _check_ports(ports)
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        causes.append(required("spec.externalName"))
    address = spec.get("clusterIP")
    if address and address != "None" and not is_address(address):
        causes.append(wrong_address("spec.clusterIPs[0]", address))
    elif address and address != "None" and not _is_service_address(address):
        text = f"failed to allocate IP {address}: the provided network does not match the current range"
        causes.append(invalid_value("spec.clusterIPs", [address], text))
    if spec["sessionAffinity"] not in ("ClientIP", "None"):
        causes.append(not_supported("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None")))
    for key, value in (spec.get("selector") or {}).items():
        causes += check_label("spec.selector", key, value)
    wrong = [(index, each) for index, each in enumerate(spec.get("externalIPs") or ()) if not is_address(each)]
    causes += [wrong_address(f"spec.externalIPs[{index}]", each) for index, each in wrong]
    if address == "None" and spec["type"] in ("NodePort", "LoadBalancer"):
        causes.append(invalid_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {spec['type']} services"))
    before = old["spec"].get("clusterIP") if old else None
    if address and before and address != before and "ExternalName" not in (spec["type"], old["spec"]["type"] if old else ""):
        causes.append(invalid_value("spec.clusterIPs[0]", [address], "may not change once set"))
    return causes


def admit_service(api: Api, obj: Obj, old: Obj | None) -> None:
    """Gives the address and the node ports, or takes over those of before. Raises 422 when what is asked for is taken."""
    quota.admit(api, "services", obj, old)
    spec = obj["spec"]
    before = old["spec"] if old else {}
    for name in _UNUSED.get(spec["type"], ()):
        spec.pop(name, None)
    if spec["type"] == "ExternalName":
        return
    if not spec.get("clusterIP") and spec.get("clusterIPs"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = before.get("clusterIP") or api.addresses.free()
    elif spec["clusterIP"] not in ("None", before.get("clusterIP")) and api.addresses.holds(spec["clusterIP"]):
        text = f"failed to allocate IP {spec['clusterIP']}: provided IP is already allocated"
        raise _refused(obj, invalid_value("spec.clusterIPs", [spec["clusterIP"]], text))
    spec["clusterIPs"] = [spec["clusterIP"]]
    _give_node_ports(api, obj, before)


def _give_node_ports(api: Api, obj: Obj, before: Obj) -> None:
    spec = obj["spec"]
    if spec["type"] not in ("NodePort", "LoadBalancer"):
        for port in spec.get("ports", ()):
            port.pop("nodePort", None)
        return
    had = {(port.get("name"), port["port"]): port.get("nodePort") for port in before.get("ports", ())}
    mine = {port for port in had.values() if port}
    given: set[int] = set()
    for index, port in enumerate(spec.get("ports", ())):
        if not port.get("nodePort"):
            port["nodePort"] = had.get((port.get("name"), port["port"])) or api.addresses.free_port(given)
        elif port["nodePort"] not in mine and api.addresses.holds_port(port["nodePort"]):
            raise _refused(obj, invalid_value(f"spec.ports[{index}].nodePort", port["nodePort"], "provided port is already allocated"))
        given.add(port["nodePort"])


def _refused(obj: Obj, cause: Cause) -> StatusError:
    return invalid("", "Service", obj["metadata"]["name"], [cause])


def _check_ports(ports: list[Obj]) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    numbers: set[tuple[object, object]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name, number = port.get("name", ""), port.get("port")
        if len(ports) > 1 and not name:
            causes.append(required(f"{path}.name"))
        elif name and not (LABEL.fullmatch(str(name)) and len(name) <= 63):
            causes += check_name(f"{path}.name", name, "label")
        if name and name in names:
            causes.append(duplicate(f"{path}.name", name))
        if not isinstance(number, int) or not 1 <= number <= 65535:
            causes.append(invalid_value(f"{path}.port", number or 0, "must be between 1 and 65535, inclusive"))
        if port["protocol"] not in PROTOCOLS:
            causes.append(not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS))
        causes += _check_target(f"{path}.targetPort", port.get("targetPort"))
        if (port["protocol"], number) in numbers:
            shown = {"Name": "", "Protocol": port["protocol"], "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}
            causes.append(duplicate(path, shown))
        if port.get("nodePort") and port["nodePort"] not in NODE_PORTS:
            text = f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            causes.append(invalid_value(f"{path}.nodePort", port["nodePort"], text))
        names.add(name)
        numbers.add((port["protocol"], number))
    return causes


def _check_target(path: str, target: object) -> list[Cause]:
    if isinstance(target, str):
        wrong = not TARGET.fullmatch(target)
        return [invalid_value(path, target, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")] if wrong else []
    if isinstance(target, int) and not 1 <= target <= 65535:
        return [invalid_value(path, target, "must be between 1 and 65535, inclusive")]
    return []


def _is_service_address(text: str) -> bool:
    try:
        return ipaddress.ip_address(text) in SERVICE_NETWORK
    except ValueError:
        return False
