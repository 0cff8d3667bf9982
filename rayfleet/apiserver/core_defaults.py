"""What the API server fills into the smaller core kinds."""

from __future__ import annotations

from rayfleet.apiserver.pod_defaults import default_pod_spec
from rayfleet.apiserver.record import Obj

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
