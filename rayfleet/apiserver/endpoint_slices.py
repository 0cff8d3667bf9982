"""EndpointSlices of Services with a selector, as Kubernetes' endpointslice controller writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver import metadata, writing
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.record import DELETED, Change, Obj, Record

SLICES = "endpointslices.discovery.k8s.io"
SERVICE_NAME, MANAGER = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
HEADLESS, TRIGGER = "service.kubernetes.io/headless", "endpoints.kubernetes.io/last-change-trigger-time"
LIMIT = 100
"""endpoints in one slice"""

Pair = tuple[str, str]


class Selectors:
    """Which Services a Pod may belong to, without looking at every Service for every change of a Pod."""

    def __init__(self) -> None:
        self._services: dict[tuple[str, Pair], dict[str, Obj]] = {}

    def follow(self, change: Change) -> None:
        """Of a Service."""
        if change.previous is not None and (selector := _selector(change.previous.decode())):
            self._services.get((change.record.namespace, _key(selector)), {}).pop(change.record.name, None)
        if change.type != DELETED and (selector := _selector(change.record.decode())):
            self._services.setdefault((change.record.namespace, _key(selector)), {})[change.record.name] = selector

    def of(self, pod: Record) -> Iterator[str]:
        """The names of the Services that select a Pod."""
        for pair in pod.labels.items():
            for name, selector in self._services.get((pod.namespace, pair), {}).items():
                if selector.items() <= pod.labels.items():
                    yield name


def sync(api: Api, record: Record) -> None:
    """Writes the slices of one Service where they are not as they should be."""
    service = record.decode()
    if not _selector(service) or service["spec"].get("type") == "ExternalName":
        return
    present = [each for each in api.store.select(SLICES, record.namespace) if _is_ours(each, record.name)]
    wanted = list(_wanted(api, service))
    for index, content in enumerate(wanted):
        if index < len(present):
            _update(api, present[index], service, content)
        else:
            _create(api, service, content, first=not present)
    for surplus in present[max(1, len(wanted)) :]:
        api.store.remove(surplus)


def _wanted(api: Api, service: Obj) -> Iterator[Obj]:
    """Grouped by what the ports are in the Pods; one empty slice when there is no endpoint."""
    groups: dict[str, tuple[list[Obj], list[Obj]]] = {}
    for record in api.store.select("pods", service["metadata"]["namespace"]):
        if _selector(service).items() <= record.labels.items() and (endpoint := _endpoint(service, record.decode())):
            ports = _ports(service, record.decode())
            groups.setdefault(repr(ports), (ports, []))[1].append(endpoint)
    for ports, endpoints in groups.values():
        for start in range(0, len(endpoints), LIMIT):
            yield {"addressType": "IPv4", "endpoints": endpoints[start : start + LIMIT], "ports": ports or None}
    if not groups:
        yield {"addressType": "IPv4", "endpoints": None, "ports": None}


def _endpoint(service: Obj, pod: Obj) -> Obj | None:
    """None for a Pod without an address, or one that has ended."""
    status, meta, spec = pod.get("status") or {}, pod["metadata"], pod["spec"]
    if not status.get("podIP") or status.get("phase") in ("Succeeded", "Failed"):
        return None
    serving = any(each.get("type") == "Ready" and each.get("status") == "True" for each in status.get("conditions") or ())
    terminating = "deletionTimestamp" in meta
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    conditions = {"ready": ready, "serving": serving, "terminating": terminating}
    endpoint: Obj = {"addresses": [status["podIP"]], "conditions": conditions}
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        endpoint["hostname"] = spec["hostname"]
    if spec.get("nodeName"):
        endpoint["nodeName"] = spec["nodeName"]
    endpoint["targetRef"] = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    return endpoint


def _ports(service: Obj, pod: Obj) -> list[Obj]:
    found = []
    for port in service["spec"].get("ports") or ():
        number = _number(port, pod)
        if number is not None:
            entry = {"name": port.get("name", ""), "protocol": port["protocol"], "port": number}
            found.append(entry | ({"appProtocol": port["appProtocol"]} if port.get("appProtocol") else {}))
    return found


def _number(port: Obj, pod: Obj) -> int | None:
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    for container in pod["spec"]["containers"]:
        for each in container.get("ports") or ():
            if each.get("name") == target and each.get("protocol", "TCP") == port["protocol"]:
                return int(each["containerPort"])
    return None


def _create(api: Api, service: Obj, content: Obj, *, first: bool) -> None:
    meta = service["metadata"]
    reference = {"apiVersion": "v1", "kind": "Service", "name": meta["name"], "uid": meta["uid"]}
    slice_meta: Obj = {
        "generateName": f"{meta['name']}-",
        "labels": _labels(service),
        "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
    }
    if first:
        slice_meta["annotations"] = {TRIGGER: meta["creationTimestamp"]}
    writing.create(api, api.registry.native(SLICES), meta["namespace"], {"metadata": slice_meta, **content}, WriteOptions())


def _update(api: Api, record: Record, service: Obj, content: Obj) -> None:
    obj = record.decode()
    labels = _labels(service)
    if obj["metadata"].get("labels") == labels and all(obj.get(key) == value for key, value in content.items()):
        return
    annotations = {key: value for key, value in obj["metadata"].get("annotations", {}).items() if key != TRIGGER}
    obj["metadata"] |= {"labels": labels, "annotations": annotations, "generation": obj["metadata"].get("generation", 0) + 1}
    obj["metadata"] = metadata.tidied(obj["metadata"])
    api.store.put(record.resource, record.namespace, record.name, {**obj, **content})


def _labels(service: Obj) -> Obj:
    own = {SERVICE_NAME: service["metadata"]["name"], MANAGER: "endpointslice-controller.k8s.io"}
    headless = {HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
    return {**service["metadata"].get("labels", {}), **own, **headless}


def _is_ours(record: Record, service: str) -> bool:
    return record.labels.get(SERVICE_NAME) == service and record.labels.get(MANAGER) == "endpointslice-controller.k8s.io"


def _selector(service: Obj) -> Any:
    return service["spec"].get("selector") or {}


def _key(selector: Obj) -> Pair:
    """The longest value is likely the most particular one."""
    key = max(selector, key=lambda name: len(selector[name]))
    return key, selector[key]
