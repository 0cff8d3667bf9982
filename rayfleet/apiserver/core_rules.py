"""What the smaller built-in kinds must satisfy (k8s.io/kubernetes pkg/apis/*/validation)."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from typing import Any

from rayfleet.apiserver.metadata import check_name
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, duplicate_of, invalid_value, malformed, not_allowed, not_supported, required

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex "
    "used for validation is '[-._a-zA-Z0-9]+')"
)
VALUES_LIMIT = 1 << 20
"""bytes, of a ConfigMap or a Secret"""
_FROZEN = "field is immutable when `immutable` is set"
_NEEDED = {
    "kubernetes.io/basic-auth": ("username", "password"),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
RBAC = "rbac.authorization.k8s.io"


def check_configmap(obj: Obj, old: Obj | None) -> list[Cause]:
    _require_base64("ConfigMap", obj.get("binaryData"))
    causes = _check_keys("data", obj.get("data")) + _check_keys("binaryData", obj.get("binaryData"))
    causes += [duplicate_of(f"data[{key}]", key, "binaryData") for key in obj.get("data") or () if key in (obj.get("binaryData") or {})]
    causes += _check_size("[]", obj.get("data"), obj.get("binaryData"))
    return causes + _check_frozen(obj, old, ("data", "binaryData"))


def _check_size(field: str, texts: Obj | None, binaries: Obj | None) -> list[Cause]:
    size = sum(len(text.encode()) for text in (texts or {}).values())
    size += sum(len(text) * 3 // 4 - text[-2:].count("=") for text in (binaries or {}).values())
    return [Cause(field, "FieldValueTooLong", f"Too long: may not be more than {VALUES_LIMIT} bytes")] if size > VALUES_LIMIT else []


def check_secret(obj: Obj, old: Obj | None) -> list[Cause]:
    _require_base64("Secret", obj.get("data"))
    causes = _check_keys("data", obj.get("data")) + _check_size("data", None, obj.get("data"))
    needed = _NEEDED.get(obj.get("type", ""), ())
    missing = [key for key in needed if key not in (obj.get("data") or {})]
    if missing and (obj["type"] != "kubernetes.io/basic-auth" or len(missing) == len(needed)):
        causes += [required(f"data[{key}]") for key in missing]
    if old is not None and obj.get("type") != old.get("type"):
        causes.append(invalid_value("type", obj.get("type"), "field is immutable"))
    return causes + _check_frozen(obj, old, ("data",))


def check_lease(obj: Obj, old: Obj | None) -> list[Cause]:
    spec, causes = obj.get("spec") or {}, []
    for name in ("acquireTime", "renewTime"):
        if spec.get(name) and not re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", str(spec[name])):
            text = str(spec[name])
            parse = f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{text}" as "2006"'
            raise malformed("Lease", "v1", parse)
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        causes.append(invalid_value("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"))
    if (spec.get("leaseTransitions") or 0) < 0:
        causes.append(invalid_value("spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0"))
    return causes


def check_claim(obj: Obj, old: Obj | None) -> list[Cause]:
    spec, causes = obj.get("spec") or {}, []
    if not spec.get("accessModes"):
        causes.append(required("spec.accessModes", "at least 1 access mode is required"))
    causes += [not_supported("spec.accessModes", mode, _MODES) for mode in spec.get("accessModes") or () if mode not in _MODES]
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        causes.append(required("spec.resources[storage]"))
    return causes


_ADDRESSES = ("FQDN", "IPv4", "IPv6")


def check_slice(obj: Obj, old: Obj | None) -> list[Cause]:
    if not obj.get("addressType"):
        return [required("addressType")]
    if obj["addressType"] not in _ADDRESSES:
        return [not_supported("addressType", obj["addressType"], _ADDRESSES)]
    causes = []
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        for number, address in enumerate(endpoint.get("addresses") or ()):
            if obj["addressType"] != "FQDN" and not is_address(address):
                causes.append(wrong_address(f"endpoints[{index}].addresses[{number}]", address))
    return causes


def check_ingress(obj: Obj, old: Obj | None) -> list[Cause]:
    spec = obj.get("spec") or {}
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        return [invalid_value("spec", None, "either `defaultBackend` or `rules` must be specified")]
    if (backend := spec.get("defaultBackend")) is not None and not backend.get("service") and not backend.get("resource"):
        return [invalid_value("spec.defaultBackend", "", "resource or service backend is required")]
    hosts = [(index, rule.get("host")) for index, rule in enumerate(spec.get("rules") or ()) if rule.get("host")]
    return [cause for index, host in hosts for cause in check_name(f"spec.rules[{index}].host", host.removeprefix("*."), "subdomain")]


def check_role(obj: Obj, old: Obj | None) -> list[Cause]:
    causes = []
    for index, rule in enumerate(obj.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            causes.append(required(f"{path}.verbs"))
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def check_binding(obj: Obj, old: Obj | None) -> list[Cause]:
    role, causes = obj.get("roleRef") or {}, []
    if role.get("apiGroup") != RBAC:
        causes.append(not_supported("roleRef.apiGroup", role.get("apiGroup"), (RBAC,)))
    kinds = ("Role", "ClusterRole") if obj["kind"] == "RoleBinding" else ("ClusterRole",)
    if role.get("kind") not in kinds:
        causes.append(not_supported("roleRef.kind", role.get("kind") or "", kinds))
    if not role.get("name"):
        causes.append(required("roleRef.name"))
    for index, subject in enumerate(obj.get("subjects") or ()):
        if subject.get("kind") not in ("ServiceAccount", "User", "Group"):
            causes.append(not_supported(f"subjects[{index}].kind", subject.get("kind"), ("ServiceAccount", "User", "Group")))
        if not subject.get("name"):
            causes.append(required(f"subjects[{index}].name"))
    if old is not None and role != old.get("roleRef"):
        shown = {"APIGroup": role.get("apiGroup"), "Kind": role.get("kind"), "Name": role.get("name")}
        causes.append(invalid_value("roleRef", shown, "field is immutable"))
    return causes


def is_address(text: Any) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def wrong_address(path: str, text: Any) -> Cause:
    return invalid_value(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _check_keys(path: str, data: Obj | None) -> list[Cause]:
    return [invalid_value(f"{path}[{key}]", key, _KEY_RULE) for key in data or () if not _KEY.fullmatch(key)]


def _check_frozen(obj: Obj, old: Obj | None, fields: tuple[str, ...]) -> list[Cause]:
    if old is None or not old.get("immutable"):
        return []
    causes = [] if obj.get("immutable") else [not_allowed("immutable", _FROZEN)]
    return causes + [not_allowed(name, _FROZEN) for name in fields if (obj.get(name) or {}) != (old.get(name) or {})]


def _require_base64(kind: str, data: Obj | None) -> None:
    for text in (data or {}).values():
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            place = next((index for index, letter in enumerate(text) if not re.match(r"[A-Za-z0-9+/=\n\r]", letter)), len(text))
            raise malformed(kind, "v1", f"illegal base64 data at input byte {place}") from None
