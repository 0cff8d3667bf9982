"""The kinds that are served without a CRD."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver import core_defaults as defaults
from rayfleet.apiserver import core_rules as rules
from rayfleet.apiserver import custom, event, quota, shapes
from rayfleet.apiserver import status_defaults as status
from rayfleet.apiserver.columns import TABLES
from rayfleet.apiserver.job_rules import check_job
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.pod_admission import admit_pod
from rayfleet.apiserver.pod_defaults import begin_pod, default_pod
from rayfleet.apiserver.pod_rules import check_pod
from rayfleet.apiserver.pod_shape import JOB, POD
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.rest_shapes import SHAPES
from rayfleet.apiserver.service import admit_service, begin_service, check_service, default_service
from rayfleet.apiserver.setup_kinds import setup_kinds

POD_FIELDS = ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP")
RBAC = rules.RBAC
ENDPOINTS = {"v1": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}


def kinds() -> list[Kind]:
    plain = [
        _kind("configmaps", "ConfigMap", short=("cm",), shape=shapes.CONFIGMAP.prune, check=rules.check_configmap),
        _kind("endpoints", "Endpoints", short=("ep",), default=defaults.default_endpoints, deprecated=ENDPOINTS),
        _kind(
            "endpointslices",
            "EndpointSlice",
            "discovery.k8s.io",
            counts_generations=True,
            default=defaults.default_slice,
            check=rules.check_slice,
        ),
        _kind("serviceaccounts", "ServiceAccount", short=("sa",), subresources=("token",)),
        _kind("leases", "Lease", "coordination.k8s.io", shape=shapes.LEASE.prune, check=rules.check_lease),
        _kind("roles", "Role", RBAC, names="path", check=rules.check_role),
        _kind("rolebindings", "RoleBinding", RBAC, names="path", default=defaults.default_binding, check=rules.check_binding),
        _kind("clusterroles", "ClusterRole", RBAC, names="path", check=rules.check_role, namespaced=False),
        _kind(
            "clusterrolebindings",
            "ClusterRoleBinding",
            RBAC,
            names="path",
            default=defaults.default_binding,
            check=rules.check_binding,
            namespaced=False,
        ),
        _kind(
            "ingresses",
            "Ingress",
            "networking.k8s.io",
            short=("ing",),
            subresources=("status",),
            counts_generations=True,
            begin=defaults.begin_ingress,
            check=rules.check_ingress,
        ),
        _kind(
            "networkpolicies",
            "NetworkPolicy",
            "networking.k8s.io",
            short=("netpol",),
            counts_generations=True,
            default=defaults.default_policy,
        ),
    ]
    return [
        *plain,
        _claims(),
        _events(),
        _jobs(),
        _namespaces(),
        _nodes(),
        _pods(),
        _quotas(),
        _secrets(),
        _services(),
        custom.definition_kind(),
        *setup_kinds(_kind),
    ]


def _claims() -> Kind:
    return _kind(
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        short=("pvc",),
        shape=shapes.CLAIM.prune,
        subresources=("status",),
        default=defaults.default_claim,
        begin=lambda obj: obj.update(status={"phase": "Pending"}),
        check=rules.check_claim,
    )


def _events() -> Kind:
    return _kind(
        "events",
        "Event",
        short=("ev",),
        shape=shapes.EVENT.prune,
        known_fields=event.FIELDS,
        fields=event.fields,
        default=event.default,
        check=event.check,
        aliases={event.NEW: event.converted},
        check_alias=event.check_new,
    )


def _jobs() -> Kind:
    return _kind(
        "jobs",
        "Job",
        "batch",
        shape=JOB.prune,
        categories=("all",),
        subresources=("status",),
        counts_generations=True,
        default=defaults.default_job,
        check=check_job,
        begin=lambda obj: obj.update(status={}),
    )


def _namespaces() -> Kind:
    return _kind(
        "namespaces",
        "Namespace",
        namespaced=False,
        short=("ns",),
        subresources=("status", "finalize"),
        names="label",
        shape=shapes.NAMESPACE.prune,
        known_fields=frozenset({"status.phase"}),
        fields=lambda obj: {"status.phase": (obj.get("status") or {}).get("phase", "")},
        default=defaults.default_namespace,
        begin=defaults.begin_namespace,
    )


def _nodes() -> Kind:
    return _kind(
        "nodes",
        "Node",
        namespaced=False,
        short=("no",),
        shape=shapes.NODE.prune,
        subresources=("status",),
        known_fields=frozenset({"spec.unschedulable"}),
        fields=lambda obj: {"spec.unschedulable": str(bool((obj.get("spec") or {}).get("unschedulable"))).lower()},
        default=defaults.default_node,
        begin=defaults.begin_node,
        default_status=status.default_node_status,
    )


def _pods() -> Kind:
    return _kind(
        "pods",
        "Pod",
        short=("po",),
        categories=("all",),
        subresources=("status", "attach", "binding", "eviction", "exec", "log", "portforward", "proxy"),
        counts_generations=True,
        shape=POD.prune,
        known_fields=frozenset(POD_FIELDS),
        fields=_pod_fields,
        default=default_pod,
        begin=begin_pod,
        default_status=status.default_pod_status,
        check=check_pod,
        admit=admit_pod,
    )


def _quotas() -> Kind:
    return _kind(
        "resourcequotas",
        "ResourceQuota",
        short=("quota",),
        subresources=("status",),
        shape=shapes.QUOTA.prune,
        begin=quota.begin,
        check=quota.check,
    )


def _secrets() -> Kind:
    return _kind(
        "secrets",
        "Secret",
        shape=shapes.SECRET.prune,
        known_fields=frozenset({"type"}),
        fields=lambda obj: {"type": obj.get("type", "")},
        default=defaults.default_secret,
        check=rules.check_secret,
    )


def _services() -> Kind:
    return _kind(
        "services",
        "Service",
        short=("svc",),
        categories=("all",),
        subresources=("status", "proxy"),
        names="label",
        shape=shapes.SERVICE.prune,
        known_fields=frozenset({"spec.clusterIP", "spec.type"}),
        fields=lambda obj: {"spec.clusterIP": obj["spec"].get("clusterIP", ""), "spec.type": obj["spec"].get("type", "")},
        default=default_service,
        begin=begin_service,
        default_status=status.default_balancer_status,
        check=check_service,
        admit=admit_service,
    )


def _kind(plural: str, name: str, group: str = "", **rest: Any) -> Kind:
    resource = f"{plural}.{group}" if group else plural
    tables = {"": TABLES[resource]} if resource in TABLES else {}
    rest.setdefault("admit", quota.admission(resource))
    if name in SHAPES:
        rest.setdefault("shape", SHAPES[name].prune)
    return Kind(group, "v1", plural, name, singular=name.lower(), tables=tables, **rest)


def _pod_fields(obj: Obj) -> dict[str, str]:
    spec, status = obj["spec"], obj.get("status") or {}
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.phase": status.get("phase", ""),
        "status.podIP": status.get("podIP", ""),
    }
