"""Refusals, as Kubernetes words them (meta/v1 Status)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

TOLD = 1000
"""causes in one refusal; Kubernetes tells all"""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why a field was refused. `reason` is Kubernetes' CauseType, e.g. FieldValueInvalid."""

    field: str
    reason: str
    message: str

    def sentence(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass
class StatusError(Exception):
    """An answer that is not a success; `body()` is the Status object sent to the client."""

    code: int
    reason: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    bare: bool = False
    """shows its details even when they are empty, as what was refused before the kind was known"""

    plain: bool = False
    """answered as text, without a Status"""
    token: str = ""
    """metadata.continue"""
    warnings: Sequence[str] = ()
    """what the answer warns of besides"""

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        meta = {"continue": self.token} if self.token else {}
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": meta, "status": "Failure"}
        status |= {"message": self.message} | ({"reason": self.reason} if self.reason else {})
        if self.details or self.bare:
            status["details"] = dict(self.details)
        status["code"] = self.code
        return status

    @property
    def media(self) -> str:
        return "text/plain" if self.plain else "application/json"

    def body(self) -> bytes:
        return self.message.encode() if self.plain else msgspec.json.encode(self.status())


def quote(value: Any) -> str:
    """A value as Go's field errors print it."""
    text = msgspec.json.encode(value).decode()
    if not isinstance(value, (dict, list)):
        return text
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def applied_against(message: str, causes: Sequence[Cause]) -> StatusError:
    """A server-side apply that would take fields from others."""
    return StatusError(409, "Conflict", message, {"causes": [_cause(cause) for cause in causes]})


def malformed(kind: str, version: str, why: str) -> StatusError:
    """What a typed decoder cannot take."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def no_such_path() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", bare=True)


def no_such_page() -> StatusError:
    """A path of no group at all: answered in plain text, as no group's server is there to answer."""
    return StatusError(404, "", "404 page not found\n", plain=True)


def method_not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", bare=True)


def not_supported_by(group: str, plural: str, verb: str) -> StatusError:
    """A verb that a custom kind does not have."""
    text = f'{verb} is not supported on resources of kind "{plural}.{group}"'
    return StatusError(405, "MethodNotAllowed", text, {"group": group, "kind": plural})


def not_acceptable() -> StatusError:
    text = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    return StatusError(406, "NotAcceptable", text, bare=True)


def expired(message: str, token: str = "") -> StatusError:
    """`token`: how a list can go on all the same."""
    return StatusError(410, "Expired", message, token=token)


def unsupported_media(accepted: Sequence[str]) -> StatusError:
    text = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return StatusError(415, "UnsupportedMediaType", text)


def patch_refused() -> StatusError:
    """Kubernetes does not say why."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", bare=True)


def not_found(group: str, plural: str, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{_qualified(plural, group)} "{name}" not found', _details(group, plural, name))


def already_exists(group: str, plural: str, name: str, why: str = "") -> StatusError:
    return StatusError(409, "AlreadyExists", f'{why}{_qualified(plural, group)} "{name}" already exists', _details(group, plural, name))


CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(group: str, plural: str, name: str, why: str = CHANGED) -> StatusError:
    text = f'Operation cannot be fulfilled on {_qualified(plural, group)} "{name}": {why}'
    return StatusError(409, "Conflict", text, _details(group, plural, name))


def forbidden(group: str, plural: str, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    subject = f'{_qualified(plural, group)} "{name}" is forbidden' if name else f"{_qualified(plural, group)} is forbidden"
    details = _details(group, plural, name)
    if causes:
        details["causes"] = [_cause(cause) for cause in causes]
    return StatusError(403, "Forbidden", f"{subject}: {why}", details)


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    causes = causes[:TOLD]
    sentences = [cause.sentence() for cause in causes]
    text = sentences[0] if len(sentences) == 1 else "[" + ", ".join(sentences) + "]"
    details = _details(group, kind, name) | {"causes": [_cause(cause) for cause in causes]}
    return StatusError(422, "Invalid", f'{_qualified(kind, group)} "{name}" is invalid: {text}', details)


def invalid_value(field: str, value: Any, message: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {quote(value)}: {message}")


def required(field: str, message: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {message}" if message else "Required value")


def duplicate(field: str, value: Any) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {quote(value)}")


def duplicate_of(field: str, value: Any, other: str) -> Cause:
    return invalid_value(field, value, f"duplicate of key present in {other}")


def not_supported(field: str, value: Any, supported: Sequence[str]) -> Cause:
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return Cause(field, "FieldValueNotSupported", f"Unsupported value: {quote(value)}: supported values: {choices}")


def not_allowed(field: str, message: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {message}")


def _cause(cause: Cause) -> dict[str, str]:
    return {"reason": cause.reason, "message": cause.message, "field": cause.field}


def _qualified(noun: str, group: str) -> str:
    return f"{noun}.{group}" if group else noun


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    parts = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in parts.items() if value}
