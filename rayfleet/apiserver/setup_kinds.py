"""The kinds by which a cluster is set up: classes, volumes, limits, budgets, policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rayfleet.apiserver import budgets, limits, priorities
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.metadata import check_name, timestamp
from rayfleet.apiserver.policies import kinds as policies
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.setup_shapes import SHAPES
from rayfleet.apiserver.status_error import Cause, not_supported, required

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

Make = Callable[..., Kind]
_RECLAIMED, _BOUND = ("Delete", "Retain"), ("Immediate", "WaitForFirstConsumer")
_ADMISSION = "admissionregistration.k8s.io"


_WIDE: dict[str, Any] = {"namespaced": False}
_SPECS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("limitranges", "LimitRange", "", {"short": ("limits",), "default": limits.default_range}),
    (
        "runtimeclasses",
        "RuntimeClass",
        "node.k8s.io",
        _WIDE | {"check": lambda obj, old: check_name("handler", obj.get("handler"), "label")},
    ),
    (
        "ingressclasses",
        "IngressClass",
        "networking.k8s.io",
        _WIDE | {"counts_generations": True, "check": lambda obj, old: _check_ingress_class(obj)},
    ),
    (
        "storageclasses",
        "StorageClass",
        "storage.k8s.io",
        _WIDE | {"short": ("sc",), "default": lambda obj: _default_storage(obj), "check": lambda obj, old: _check_storage(obj)},
    ),
    (
        "persistentvolumes",
        "PersistentVolume",
        "",
        _WIDE
        | {"short": ("pv",), "subresources": ("status",), "begin": lambda obj: obj.update(status={"phase": "Pending"})}
        | {
            "default": lambda obj: _default_volume(obj),
            "check": lambda obj, old: _check_volume(obj),
            "admit": lambda *of: _date_volume(*of),
        },
    ),
    (
        "priorityclasses",
        "PriorityClass",
        "scheduling.k8s.io",
        _WIDE
        | {"short": ("pc",), "begin": lambda obj: obj["metadata"].update(generation=1)}
        | {"default": priorities.default_class, "check": priorities.check_class},
    ),
    (
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        "policy",
        {"short": ("pdb",), "subresources": ("status",), "counts_generations": True}
        | {"begin": budgets.begin_budget, "check": budgets.check_budget},
    ),
    (
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        _ADMISSION,
        _WIDE
        | {"subresources": ("status",), "counts_generations": True, "begin": lambda obj: obj.update(status={})}
        | {"default": policies.default_policy, "check": policies.check_policy},
    ),
    (
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        _ADMISSION,
        _WIDE | {"counts_generations": True, "default": policies.default_binding, "check": policies.check_binding},
    ),
]


def setup_kinds(make: Make) -> list[Kind]:
    """`make(plural, name, group, **rest)`"""
    return [make(plural, name, group, shape=SHAPES[name].prune, **rest) for plural, name, group, rest in _SPECS]


def _default_volume(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if isinstance(path := spec.get("hostPath"), dict):
        path.setdefault("type", "")


def _date_volume(api: Api, obj: Obj, old: Obj | None) -> None:
    if old is None:
        obj["status"]["lastPhaseTransitionTime"] = timestamp(api.clock())


def _check_volume(obj: Obj) -> list[Cause]:
    spec, causes = obj["spec"], []
    if not spec.get("accessModes"):
        causes.append(required("spec.accessModes"))
    if not spec.get("capacity"):
        causes.append(required("spec.capacity"))
    if "storage" not in (spec.get("capacity") or {}):
        causes.append(not_supported("spec.capacity", spec.get("capacity"), ("storage",)))
    plain = {"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName"}
    if not set(spec) - plain - {"volumeMode", "volumeAttributesClassName"}:
        causes.append(required("spec", "must specify a volume type"))
    if isinstance(place := spec.get("hostPath"), dict) and not place.get("path"):
        causes.append(required("spec.hostPath.path"))
    return causes


def _default_storage(obj: Obj) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _check_storage(obj: Obj) -> list[Cause]:
    causes = [] if obj.get("provisioner") else [required("provisioner")]
    if obj["reclaimPolicy"] not in _RECLAIMED:
        causes.append(not_supported("reclaimPolicy", obj["reclaimPolicy"], _RECLAIMED))
    if obj["volumeBindingMode"] not in _BOUND:
        causes.append(not_supported("volumeBindingMode", obj["volumeBindingMode"], _BOUND))
    return causes


def _check_ingress_class(obj: Obj) -> list[Cause]:
    return [] if (obj.get("spec") or {}).get("controller") else [required("spec.controller")]
