"""What every namespace holds from the start: the account of its Pods, and the authority that signed this server's certificate."""

from __future__ import annotations

from rayfleet.apiserver import writing
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.pod_admission import ACCOUNT, AUTHORITY
from rayfleet.apiserver.record import Obj

_ABOUT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or "
    "kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


def furnish(api: Api, namespace: str) -> None:
    """Makes what is missing (Kubernetes' serviceaccount and root-ca-certificate-publisher controllers)."""
    _make(api, "serviceaccounts", namespace, {"metadata": {"name": ACCOUNT}})
    if api.authority:
        meta: Obj = {"name": AUTHORITY, "annotations": {"kubernetes.io/description": _ABOUT}}
        _make(api, "configmaps", namespace, {"metadata": meta, "data": {"ca.crt": api.authority}})


def _make(api: Api, resource: str, namespace: str, obj: Obj) -> None:
    if api.store.get(resource, namespace, obj["metadata"]["name"]) is None:
        writing.create(api, api.registry.native(resource), namespace, obj, WriteOptions())
