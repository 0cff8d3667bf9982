"""Services of a RayCluster: the head's, and the headless one that multi-host groups need (KubeRay, 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import ObjectMeta, Resource
from rayfleet.api.names import head_service_name, headless_service_name, serve_service_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources import ports
from rayfleet.resources.ownership import head_labels, identifier, origin, owned_by, owner_reference
from rayfleet.resources.pod_template import FIXED, head_service_of, object_of, ray_container, template_of
from rayfleet.resources.serving import outlives_its_head

Manifest = dict[str, Any]
HEAD_PORTS = (ports.CLIENT, ports.DASHBOARD, ports.GCS, ports.METRICS, ports.SERVE)


def head_service(cluster: RayCluster, config: Configuration, *, headless: bool = False) -> Manifest:
    """The Service by which workers, clients and dashboards find the head, also before it is ready.

    Headless unless the user asks for another type, or (unless it is to be `headless`) requests go on while there is no head: gRPC asks for
    the address behind a name twice a minute at most, and until it knows the new head's, Serve's replicas may hang. Through an address no
    port is reached that the Service does not name: then it has all of Ray's own.
    """
    group = cluster.spec.head_group_spec
    given = object_of(group.head_service)
    metadata: Manifest = given.get("metadata") or {}
    marks = head_marks(cluster)
    annotations = {**(metadata.get("annotations") or {}), **cluster.spec.head_service_annotations}
    spec = {name: value for name, value in (given.get("spec") or {}).items() if name not in ("selector", "ports")}
    spec["selector"] = marks
    spec["ports"] = merged_ports((given.get("spec") or {}).get("ports") or (), head_ports(cluster))
    kind = spec.setdefault("type", group.service_type or "ClusterIP")
    if not given and kind == "ClusterIP" and not config.enable_ray_head_cluster_ip_service:
        spec["publishNotReadyAddresses"] = True
        if headless or not outlives_its_head(cluster):
            spec["clusterIP"] = "None"
        else:
            spec["ports"] = head_ports(cluster, undeclared=True)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": head_service_of(cluster),
            "namespace": cluster.metadata.namespace,
            "labels": {**(metadata.get("labels") or {}), **marks},
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": spec,
    }


def stable_head_service(resource: Resource, meta: ObjectMeta, cluster: RayCluster, config: Configuration) -> Manifest:
    """Leads to the head of the cluster that its owner has at present, under the owner's name, which stays."""
    made = head_service(cluster, config, headless=True)
    own = {labels.IDENTIFIER: identifier(meta.name, labels.HEAD), labels.NODE_TYPE: labels.HEAD, **origin(resource, meta)}
    given = (object_of(cluster.spec.head_group_spec.head_service).get("metadata") or {}).get("labels") or {}
    notes = made["metadata"].get("annotations")
    metadata = {
        "name": head_service_name(meta.name),
        "namespace": meta.namespace,
        "labels": {**given, **own},
        **({"annotations": notes} if notes else {}),
        "ownerReferences": [owned_by(resource, meta)],
    }
    return {**made, "metadata": metadata}


def head_marks(cluster: RayCluster) -> dict[str, str]:
    """Labels and selector of the Service: the head Pod's, as a template or a group that relabels it leaves them."""
    group = cluster.spec.head_group_spec
    given = {**((template_of(group.template).get("metadata") or {}).get("labels") or {}), **group.labels}
    marks = head_labels(cluster.metadata.name)
    return {name: value if name in FIXED else given.get(name, value) for name, value in marks.items()}


def head_ports(cluster: RayCluster, *, undeclared: bool = False) -> list[Manifest]:
    """The head container's declared ports, else Ray's own as the start parameters set them; metrics always. `undeclared`: Ray's own in any
    case, also where their names stand for other numbers."""
    params = cluster.spec.head_group_spec.ray_start_params
    wanted = {**declared_ports(cluster)}
    wanted.setdefault(ports.METRICS, ports.port_of(ports.METRICS, params))
    for name in HEAD_PORTS if undeclared else ():
        number = ports.port_of(name, params)
        wanted.setdefault(f"{number}-port" if wanted.get(name, number) != number else name, number)
    return [{**port, "appProtocol": "tcp"} for port in service_ports(wanted)]


def dashboard_port(cluster: RayCluster) -> int:
    """Where the dashboard is asked: the Service's port of that name, else where the start parameters let it listen."""
    named = {port["name"]: port["port"] for port in head_ports(cluster)}
    return int(named.get(ports.DASHBOARD) or ports.port_of(ports.DASHBOARD, cluster.spec.head_group_spec.ray_start_params))


def declared_ports(cluster: RayCluster) -> dict[str, int]:
    group = cluster.spec.head_group_spec
    declared = dict(ports.container_ports(ray_container(template_of(group.template))))
    return declared or {name: ports.port_of(name, group.ray_start_params) for name in HEAD_PORTS}


def service_ports(wanted: Mapping[str, int]) -> list[Manifest]:
    return [
        {"name": name, "port": number, "targetPort": number, "protocol": "TCP"} for name, number in sorted(one_name_each(wanted).items())
    ]


def one_name_each(wanted: Mapping[str, int]) -> dict[str, int]:
    """Without second names of a number, which the API refuses in a Service. The declared names go before the one that is added."""
    found: dict[int, str] = {}
    for name, number in wanted.items():
        found.setdefault(number, name)
    return {name: number for number, name in found.items()}


def merged_ports(given: Any, own: list[Manifest]) -> list[Manifest]:
    """The user's ports, then those of ours whose name and number are free."""
    names = {port.get("name") for port in given}
    numbers = {port.get("port") for port in given}
    return [*given, *(port for port in own if port["name"] not in names and port["port"] not in numbers)]


def headless_service(cluster: RayCluster) -> Manifest:
    """Gives every worker Pod a name in DNS; made when a group has replicas of several hosts."""
    name = cluster.metadata.name
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": headless_service_name(name),
            "namespace": cluster.metadata.namespace,
            "labels": {labels.HEADLESS_WORKER_SERVICE: name},
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {labels.CLUSTER: name, labels.NODE_TYPE: labels.WORKER},
        },
    }


def serve_ports(cluster: RayCluster) -> list[Manifest]:
    """The head's ports that are called `serve` or `serve-...`; without a declared port, Serve's own."""
    declared = declared_ports(cluster)
    return service_ports({name: number for name, number in declared.items() if f"{name}-".startswith(f"{ports.SERVE}-")})


def serve_service(cluster: RayCluster) -> Manifest:
    """Leads to Ray Serve's proxies; made for a cluster that asks for it by annotation and has `serve_ports`."""
    name = cluster.metadata.name
    marks = {
        labels.ORIGINATED_FROM_NAME: name,
        labels.ORIGINATED_FROM_KIND: "RayCluster",
        labels.SERVE: f"{name}-serve",
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": serve_service_name(name),
            "namespace": cluster.metadata.namespace,
            "labels": marks,
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {
            "type": cluster.spec.head_group_spec.service_type or "ClusterIP",
            "selector": {labels.CLUSTER: name},
            "ports": serve_ports(cluster),
        },
    }
