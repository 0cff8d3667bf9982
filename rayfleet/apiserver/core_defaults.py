"""What the API server fills into the smaller core kinds."""

from __future__ import annotations

from rayfleet.apiserver.pod_defaults import default_pod_spec
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_defaults import default_node_status

RBAC = "rbac.authorization.k8s.io"
NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
JOB_DEFAULTS: Obj = {
    "parallelism": 1,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}


def default_namespace(obj: Obj) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"].get("name") or ""


def begin_namespace(obj: Obj) -> None:
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj["status"] = {"phase": "Active"}


def default_node(obj: Obj) -> None:
    obj.setdefault("spec", {})


def begin_node(obj: Obj) -> None:
    """What a kubelet has not told yet is empty, not absent."""
    status = obj.setdefault("status", {})
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    status.setdefault("nodeInfo", dict.fromkeys(NODE_INFO, ""))
    default_node_status(obj)


def default_endpoints(obj: Obj) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_slice(obj: Obj) -> None:
    obj.setdefault("endpoints", None)
    obj.setdefault("ports", None)
    for port in obj.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("name", "")


def default_binding(obj: Obj) -> None:
    obj.setdefault("roleRef", {}).setdefault("apiGroup", RBAC)
    if not obj.get("subjects"):
        obj.pop("subjects", None)
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", RBAC)


def begin_ingress(obj: Obj) -> None:
    obj["status"] = {"loadBalancer": {}}


def default_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    spec.setdefault("podSelector", {})
    spec.setdefault("policyTypes", ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])


def default_claim(obj: Obj) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def default_secret(obj: Obj) -> None:
    """stringData becomes data."""
    import base64

    obj.setdefault("type", "Opaque")
    for key, text in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[key] = base64.b64encode(str(text).encode()).decode()


def default_job(obj: Obj) -> None:
    """pkg/apis/batch/v1/defaults.go, and the labels by which a Job knows its Pods."""
    spec = obj.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    if spec.get("podFailurePolicy"):
        spec.setdefault("podReplacementPolicy", "Failed")
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
        spec.setdefault("manualSelector", False)
    if not obj["metadata"].get("labels") and (given := template.get("metadata", {}).get("labels")):
        obj["metadata"]["labels"] = dict(given)
