"""What Kubernetes' admission adds to a new Pod: its service account and that one's token, a priority, tolerations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rayfleet.apiserver import limits, quota
from rayfleet.apiserver.pod_defaults import quality
from rayfleet.apiserver.priorities import give_priority
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import forbidden

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

ACCOUNT, AUTHORITY = "default", "kube-root-ca.crt"
"""what every namespace holds: see namespace_content"""
MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_AWAY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300
_TOKEN_SECONDS = 3607
"""the odd number by which kube-apiserver knows its own volumes"""


def admit_pod(api: Api, obj: Obj, old: Obj | None) -> None:
    """Raises 403: no such service account or PriorityClass, a limit or a quota is exceeded."""
    if old is None:
        _give_account(api, obj)
        limits.fill(api, obj)
        obj["status"]["qosClass"] = quality(obj["spec"])
        give_priority(api, obj)
    _tolerate(obj["spec"])
    limits.check(api, obj)
    quota.admit(api, "pods", obj, old)


def _give_account(api: Api, obj: Obj) -> None:
    spec, meta = obj["spec"], obj["metadata"]
    name = spec.setdefault("serviceAccountName", ACCOUNT)
    spec["serviceAccount"] = name
    record = api.store.get("serviceaccounts", meta["namespace"], name)
    if record is None:
        if name == ACCOUNT:
            return  # it is being made
        why = f'error looking up service account {meta["namespace"]}/{name}: serviceaccount "{name}" not found'
        raise forbidden("", "pods", meta["name"], why)
    account = record.decode()
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    mounts = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    if mounts and api.authority:
        _mount_token(api, spec)


def _mount_token(api: Api, spec: Obj) -> None:
    containers = [container for name in ("initContainers", "containers") for container in spec.get(name) or ()]
    bare = [each for each in containers if not any(mount.get("mountPath") == MOUNT for mount in each.get("volumeMounts") or ())]
    if not bare:
        return
    name = api.generated_name("kube-api-access-")
    for container in bare:
        container.setdefault("volumeMounts", []).append({"name": name, "readOnly": True, "mountPath": MOUNT})
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": AUTHORITY, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]
    spec.setdefault("volumes", []).append({"name": name, "projected": {"sources": sources, "defaultMode": 0o644}})


def _tolerate(spec: Obj) -> None:
    """A Pod stays for five minutes on a node that is not ready."""
    tolerations = spec.get("tolerations") or []
    for key in _AWAY:
        if not any(each.get("key", key) == key and each.get("effect", "NoExecute") == "NoExecute" for each in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS})
    spec["tolerations"] = tolerations
