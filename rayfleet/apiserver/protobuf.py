"""Kubernetes' protobuf encoding, for the few bodies that `kubectl create` and `kubectl auth` send in no other way.

The numbers are those of k8s.io/api's generated.proto files. Answers are JSON, which the same clients accept.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

# Notation of a type: s string, b bytes, B boolean, i integer, [T repeated, {T a map from strings, else the name of a message.
Message = dict[int, tuple[str, str]]
MESSAGES: dict[str, Message] = {
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", "raw")},
    "TypeMeta": {1: ("apiVersion", "s"), 2: ("kind", "s")},
    "ObjectMeta": {
        1: ("name", "s"),
        2: ("generateName", "s"),
        3: ("namespace", "s"),
        5: ("uid", "s"),
        6: ("resourceVersion", "s"),
        11: ("labels", "{s"),
        12: ("annotations", "{s"),
        14: ("finalizers", "[s"),
    },
    "Namespace": {1: ("metadata", "ObjectMeta")},
    "ConfigMap": {1: ("metadata", "ObjectMeta"), 2: ("data", "{s"), 3: ("binaryData", "{b"), 4: ("immutable", "B")},
    "Secret": {1: ("metadata", "ObjectMeta"), 2: ("data", "{b"), 3: ("type", "s"), 4: ("stringData", "{s"), 5: ("immutable", "B")},
    "ServiceAccount": {1: ("metadata", "ObjectMeta")},
    "ResourceQuota": {1: ("metadata", "ObjectMeta"), 2: ("spec", "ResourceQuotaSpec")},
    "ResourceQuotaSpec": {1: ("hard", "{Quantity"), 2: ("scopes", "[s")},
    "Quantity": {1: ("string", "s")},
    "SelfSubjectReview": {1: ("metadata", "ObjectMeta")},
    "SelfSubjectAccessReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "AccessReviewSpec")},
    "AccessReviewSpec": {1: ("resourceAttributes", "ResourceAttributes"), 2: ("nonResourceAttributes", "NonResourceAttributes")},
    "ResourceAttributes": {
        1: ("namespace", "s"),
        2: ("verb", "s"),
        3: ("group", "s"),
        4: ("version", "s"),
        5: ("resource", "s"),
        6: ("subresource", "s"),
        7: ("name", "s"),
    },
    "NonResourceAttributes": {1: ("path", "s"), 2: ("verb", "s")},
    "Role": {1: ("metadata", "ObjectMeta"), 2: ("rules", "[PolicyRule")},
    "ClusterRole": {1: ("metadata", "ObjectMeta"), 2: ("rules", "[PolicyRule")},
    "PolicyRule": {
        1: ("verbs", "[s"),
        2: ("apiGroups", "[s"),
        3: ("resources", "[s"),
        4: ("resourceNames", "[s"),
        5: ("nonResourceURLs", "[s"),
    },
    "RoleBinding": {1: ("metadata", "ObjectMeta"), 2: ("subjects", "[Subject"), 3: ("roleRef", "RoleRef")},
    "ClusterRoleBinding": {1: ("metadata", "ObjectMeta"), 2: ("subjects", "[Subject"), 3: ("roleRef", "RoleRef")},
    "Subject": {1: ("kind", "s"), 2: ("apiGroup", "s"), 3: ("name", "s"), 4: ("namespace", "s")},
    "RoleRef": {1: ("apiGroup", "s"), 2: ("kind", "s"), 3: ("name", "s")},
    "PriorityClass": {
        1: ("metadata", "ObjectMeta"),
        2: ("value", "i"),
        3: ("globalDefault", "B"),
        4: ("description", "s"),
        5: ("preemptionPolicy", "s"),
    },
    "PodDisruptionBudget": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodDisruptionBudgetSpec")},
    "PodDisruptionBudgetSpec": {1: ("minAvailable", "IntOrString"), 2: ("selector", "LabelSelector"), 3: ("maxUnavailable", "IntOrString")},
    "LabelSelector": {1: ("matchLabels", "{s")},
    "IntOrString": {1: ("type", "i"), 2: ("intVal", "i"), 3: ("strVal", "s")},
    "TokenRequest": {1: ("metadata", "ObjectMeta"), 2: ("spec", "TokenRequestSpec")},
    "TokenRequestSpec": {1: ("audiences", "[s"), 3: ("boundObjectRef", "BoundObjectReference"), 4: ("expirationSeconds", "i")},
    "BoundObjectReference": {1: ("kind", "s"), 2: ("apiVersion", "s"), 3: ("name", "s"), 4: ("uid", "s")},
}


def decoded(body: bytes) -> Obj:
    """The object in a body. Raises 400 for broken bytes, 415 for a kind that this decoder does not know."""
    try:
        if not body.startswith(MAGIC):
            raise ValueError("the magic number is missing")
        envelope = _message("Unknown", body[len(MAGIC) :])
        meta = envelope.get("typeMeta", {})
        if meta.get("kind") not in MESSAGES:
            raise StatusError(415, "UnsupportedMediaType", f"{meta.get('kind')} is not taken as {MEDIA_TYPE}; send application/json")
        return {**meta, **_message(meta["kind"], envelope.get("raw", b""))}
    except (ValueError, IndexError) as error:
        raise bad_request(f"error decoding the body: {error}") from None


def _message(name: str, data: bytes) -> Obj:
    fields, result = MESSAGES[name], Obj()
    for number, value in _fields(data):
        if number not in fields:
            continue
        member, type_ = fields[number]
        if type_[0] == "[":
            result.setdefault(member, []).append(_value(type_[1:], value))
        elif type_[0] == "{":
            entry = dict(_fields(value))
            result.setdefault(member, {})[entry[1].decode()] = _value(type_[1:], entry.get(2, b""))
        else:
            decoded_value = _value(type_, value)
            # Go writes the zero of every plain field.
            if decoded_value != "" and decoded_value != {}:
                result[member] = decoded_value
    return result


def _value(type_: str, value: Any) -> Any:
    if type_ == "s":
        return value.decode()
    if type_ == "b":
        return base64.b64encode(value).decode()
    if type_ == "B":
        return bool(value)
    if type_ == "i":
        return value - (1 << 64) if value >> 63 else value
    if type_ == "raw":
        return value
    found = _message(type_, value)
    if type_ == "IntOrString":
        return found.get("strVal", "") if found.get("type") else found.get("intVal", 0)
    return found.get("string", "") if type_ == "Quantity" else found


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, integer or bytes) in the order of the wire. Raises ValueError, IndexError."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value
        elif wire == 2:
            size, position = _varint(data, position)
            if position + size > len(data):
                raise ValueError("a field is cut off")
            yield number, data[position : position + size]
            position += size
        elif wire in (1, 5):
            position += 8 if wire == 1 else 4
        else:
            raise ValueError(f"unknown wire type {wire}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
