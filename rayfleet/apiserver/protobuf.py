"""Kubernetes' protobuf encoding, in which clients in Go send what is not of a custom kind. Answers are JSON, which they accept."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

Fields = dict[int, tuple[str, bool, str]]
"""number -> name in JSON (empty: a struct that stands inline), whether it is left out when it is empty, type"""
_META = frozenset({"DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions"})
_SPECIAL: dict[str, Fields] = {
    "Unknown": {1: ("typeMeta", True, "TypeMeta"), 2: ("raw", False, "raw")},
    "TypeMeta": {1: ("apiVersion", True, "s"), 2: ("kind", True, "s")},
    "Time": {1: ("seconds", False, "i"), 2: ("nanos", False, "i")},
    "MicroTime": {1: ("seconds", False, "i"), 2: ("nanos", False, "i")},
    "Quantity": {1: ("string", False, "s")},
    "IntOrString": {1: ("type", False, "i"), 2: ("intVal", False, "i"), 3: ("strVal", False, "s")},
    "FieldsV1": {1: ("raw", False, "raw")},
}


@cache
def _messages() -> dict[str, Fields]:
    """Notation: see testbed/messages.py, which writes the file."""
    found = dict(_SPECIAL)
    for line in files("rayfleet.apiserver").joinpath("messages.txt").read_text().splitlines():
        name, *fields = line.split("|")
        found[name] = {}
        for field in fields:
            number, member, type_ = field.split(" ")
            found[name][int(number)] = (member.removesuffix("?"), member.endswith("?"), type_)
    return found


def decoded(body: bytes) -> Obj:
    """The object in a body. Raises 400 for broken bytes, 415 for a kind that this decoder does not know."""
    try:
        if not body.startswith(MAGIC):
            raise ValueError("the magic number is missing")
        envelope = _message("Unknown", body[len(MAGIC) :])
        meta = envelope.get("typeMeta", {})
        name = _named(meta.get("apiVersion", ""), meta.get("kind", ""))
        if name not in _messages():
            raise StatusError(415, "UnsupportedMediaType", f"{meta.get('kind')} is not taken as {MEDIA_TYPE}; send application/json")
        return {**meta, **_message(name, envelope.get("raw", b""))}
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError, msgspec.MsgspecError) as error:
        raise bad_request(f"error decoding the body: {error}") from None


def _named(api_version: str, kind: str) -> str:
    group = api_version.rpartition("/")[0]
    return f"meta.{kind}" if kind in _META else f"{group.partition('.')[0] or 'core'}.{kind}"


def _message(name: str, data: bytes) -> Obj:
    fields, result = _messages()[name], Obj()
    for number, value in _fields(data):
        if number not in fields:
            continue
        member, optional, type_ = fields[number]
        if type_[0] == "[":
            result.setdefault(member, []).append(_value(type_[1:], value))
        elif type_[0] == "{":
            entry = dict(_fields(value))
            result.setdefault(member, {})[entry[1].decode()] = _value(type_[1:], entry.get(2, b""))
        elif not member:
            result |= _value(type_, value)
        else:
            found = _value(type_, value)
            # Go writes the zero of every plain field, and the time that is none.
            if found is not None and not (optional and found in ("", 0, False, {})):
                result[member] = found
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
    if type_ == "FieldsV1":
        return msgspec.json.decode(_message(type_, value).get("raw", b"{}"))
    found = _message(type_, value)
    if type_ in ("Time", "MicroTime"):
        return _time(found, micro=type_ == "MicroTime") if found else None
    if type_ == "IntOrString":
        return found.get("strVal", "") if found.get("type") else found.get("intVal", 0)
    return found.get("string", "") if type_ == "Quantity" else found


def _time(found: Obj, *, micro: bool) -> str:
    """RFC 3339."""
    whole = datetime.fromtimestamp(found.get("seconds", 0), UTC)
    fraction = f".{found.get('nanos', 0) // 1000:06}" if micro else ""
    return f"{whole:%Y-%m-%dT%H:%M:%S}{fraction}Z"


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
