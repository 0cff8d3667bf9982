"""Objects and paths that the cases share."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

NS = "/api/v1/namespaces/${ns}"
PODS, SERVICES, CONFIGMAPS, SECRETS = f"{NS}/pods", f"{NS}/services", f"{NS}/configmaps", f"{NS}/secrets"
EVENTS, QUOTAS, ACCOUNTS = f"{NS}/events", f"{NS}/resourcequotas", f"{NS}/serviceaccounts"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/${ns}/events"
JOBS = "/apis/batch/v1/namespaces/${ns}/jobs"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/rolebindings"
BOATS = "/apis/sea.example/v1/namespaces/${ns}/boats"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def named(name: str, **body: Any) -> Obj:
    return {"metadata": {"name": name}, **body}


def configmap(name: str, data: Obj | None = None, **meta: Any) -> Obj:
    return {"metadata": {"name": name, **meta}, "data": {"k": "v"} if data is None else data}


def pod(name: str, spec: Obj | None = None, container: Obj | None = None, **meta: Any) -> Obj:
    """Without a token of its account: that difference has a case of its own."""
    main = {"name": "main", "image": "busybox:1", **(container or {})}
    return {"metadata": {"name": name, **meta}, "spec": {"automountServiceAccountToken": False, "containers": [main], **(spec or {})}}


def service(name: str, spec: Obj | None = None, **meta: Any) -> Obj:
    return {"metadata": {"name": name, **meta}, "spec": {"selector": {"app": name}, "ports": [{"port": 80}], **(spec or {})}}


def boat(name: str, length: int = 9, **meta: Any) -> Obj:
    return {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": name, **meta}, "spec": {"length": length}}


def owner(kind: str, name: str, uid: str = "${uid}", version: str = "v1", **more: Any) -> Obj:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, **more}
