"""The kinds that are served without a CRD."""

from __future__ import annotations

from rayfleet.apiserver import custom, event, quota, shapes
from rayfleet.apiserver.columns import TABLES
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.pod_defaults import begin_pod, default_pod, default_pod_spec
from rayfleet.apiserver.pod_rules import check_pod
from rayfleet.apiserver.pod_shape import JOB, POD
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.service import admit_service, begin_service, check_service, default_service

POD_FIELDS = frozenset(
    {"spec.nodeName", "status.phase", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.podIP"}
)


JOB_DEFAULTS: Obj = {
    "parallelism": 1,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}


def kinds() -> list[Kind]:
    return [*_core(), *_others(), custom.definition_kind()]


def _core() -> list[Kind]:
    return [
        _kind("configmaps", "ConfigMap", short=("cm",), shape=shapes.CONFIGMAP.prune),
        _kind("endpoints", "Endpoints", short=("ep",)),
        _kind(
            "events",
            "Event",
            short=("ev",),
            shape=shapes.EVENT.prune,
            known_fields=event.FIELDS,
            fields=event.fields,
            check=event.check,
            aliases={event.NEW: event.converted},
        ),
        _kind(
            "namespaces",
            "Namespace",
            namespaced=False,
            short=("ns",),
            subresources=("status", "finalize"),
            names="label",
            shape=shapes.NAMESPACE.prune,
            known_fields=frozenset({"status.phase"}),
            fields=lambda obj: {"status.phase": (obj.get("status") or {}).get("phase", "")},
            default=_default_namespace,
            begin=_begin_namespace,
        ),
        _kind(
            "nodes",
            "Node",
            namespaced=False,
            short=("no",),
            shape=shapes.NODE.prune,
            subresources=("status",),
            known_fields=frozenset({"spec.unschedulable"}),
            fields=lambda obj: {"spec.unschedulable": str(bool((obj.get("spec") or {}).get("unschedulable"))).lower()},
            default=_default_node,
        ),
        _kind(
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            short=("pvc",),
            shape=shapes.CLAIM.prune,
            subresources=("status",),
            default=_default_claim,
            begin=lambda obj: obj.update(status={"phase": "Pending"}),
        ),
        _pods(),
        _kind(
            "resourcequotas", "ResourceQuota", short=("quota",), subresources=("status",), shape=shapes.QUOTA.prune, admit=quota.admit_quota
        ),
        _kind(
            "secrets",
            "Secret",
            shape=shapes.SECRET.prune,
            known_fields=frozenset({"type"}),
            fields=lambda obj: {"type": obj.get("type", "")},
            default=_default_secret,
        ),
        _kind("serviceaccounts", "ServiceAccount", short=("sa",)),
        _kind(
            "services",
            "Service",
            short=("svc",),
            categories=("all",),
            subresources=("status",),
            names="service",
            shape=shapes.SERVICE.prune,
            known_fields=frozenset({"spec.clusterIP", "spec.type"}),
            fields=lambda obj: {"spec.clusterIP": obj["spec"].get("clusterIP", ""), "spec.type": obj["spec"].get("type", "")},
            default=default_service,
            begin=begin_service,
            check=check_service,
            admit=admit_service,
        ),
    ]


def _pods() -> Kind:
    return _kind(
        "pods",
        "Pod",
        short=("po",),
        categories=("all",),
        subresources=("status", "binding", "log", "eviction"),
        counts_generations=True,
        shape=POD.prune,
        known_fields=POD_FIELDS,
        fields=_pod_fields,
        default=default_pod,
        begin=begin_pod,
        check=check_pod,
        admit=quota.admit_pod,
    )


def _others() -> list[Kind]:
    rbac = "rbac.authorization.k8s.io"
    return [
        _kind("leases", "Lease", "coordination.k8s.io", shape=shapes.LEASE.prune),
        _kind("endpointslices", "EndpointSlice", "discovery.k8s.io"),
        _kind("roles", "Role", rbac, names="path"),
        _kind("rolebindings", "RoleBinding", rbac, names="path"),
        _kind("clusterroles", "ClusterRole", rbac, names="path", namespaced=False),
        _kind("clusterrolebindings", "ClusterRoleBinding", rbac, names="path", namespaced=False),
        _kind("ingresses", "Ingress", "networking.k8s.io", short=("ing",), subresources=("status",), counts_generations=True),
        _kind("networkpolicies", "NetworkPolicy", "networking.k8s.io", short=("netpol",), counts_generations=True),
        _kind(
            "jobs",
            "Job",
            "batch",
            shape=JOB.prune,
            categories=("all",),
            subresources=("status",),
            counts_generations=True,
            default=_default_job,
            begin=lambda obj: obj.update(status={}),
        ),
    ]


def _kind(plural: str, name: str, group: str = "", **rest: object) -> Kind:
    resource = f"{plural}.{group}" if group else plural
    tables = {"": TABLES[resource]} if resource in TABLES else {}
    return Kind(group, "v1", plural, name, singular=name.lower(), tables=tables, **rest)  # type: ignore[arg-type]


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


def _default_namespace(obj: Obj) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"].get("name") or ""


def _begin_namespace(obj: Obj) -> None:
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj["status"] = {"phase": "Active"}


def _default_node(obj: Obj) -> None:
    obj.setdefault("spec", {})


def _default_claim(obj: Obj) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _default_secret(obj: Obj) -> None:
    """stringData becomes data."""
    import base64

    obj.setdefault("type", "Opaque")
    for key, text in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[key] = base64.b64encode(str(text).encode()).decode()


def _default_job(obj: Obj) -> None:
    """pkg/apis/batch/v1/defaults.go, and the labels by which a Job knows its Pods."""
    spec = obj.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    for name, value in JOB_DEFAULTS.items():
        spec.setdefault(name, value)
    template = spec.setdefault("template", {})
    default_pod_spec(template.setdefault("spec", {}))
    template["spec"].pop("enableServiceLinks", None)
    uid = obj["metadata"].get("uid")
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": obj["metadata"].get("name")}
    labels |= {"controller-uid": uid, "job-name": obj["metadata"].get("name")}
    if not spec.get("manualSelector") and uid:
        spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
        template.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
