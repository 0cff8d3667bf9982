"""What goes wrong in an exchange with the API server, as exceptions. The text is the server's own.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ and `metav1.StatusReason`.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

TEXT_LIMIT = 1024


class ApiError(Exception):
    """The server (or the way to it) refused a request.

    `status` is the HTTP code, 0 when there was no answer; `reason` is the Status' CamelCase reason; `retry_after` is in seconds.
    """

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: float | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.details = details or {}

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.reason})" if self.status else f"{self.message} ({self.reason})"


class BadRequest(ApiError):
    """400: the request itself makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the server does not know who asks."""


class Forbidden(ApiError):
    """403: not allowed, or a quota is used up."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class Conflict(ApiError):
    """409: the object is no longer the one that the request was made from."""


class AlreadyExists(ApiError):
    """409 on create: an object of that name is there."""


class Expired(ApiError):
    """410: the resource version or the page token is too old; list again."""


class Invalid(ApiError):
    """422: the object breaks its schema or a rule."""


class TooManyRequests(ApiError):
    """429: come back after `retry_after` seconds."""


class ServerError(ApiError):
    """Any 5xx."""


class Unreachable(ApiError):
    """No answer: network, deadline, or an answer that cannot be read. Whether a write took effect is unknown."""

    def __init__(self, message: str, reason: str = "Unreachable") -> None:
        super().__init__(0, reason, message)


BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


class Status(msgspec.Struct, frozen=True, gc=False):
    """The parts of `metav1.Status` that are read."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


def from_response(status: int, body: bytes, retry_after: str | None = None, now: float = 0.0) -> ApiError:
    """The exception for an HTTP answer >= 400. Bodies that are no Status (proxies, load balancers) are quoted, cut short.

    `now` (seconds since 1970) serves a Retry-After that is given as a date.
    """
    try:
        told = msgspec.json.decode(body, type=Status)
    except msgspec.MsgspecError:
        told = Status(message=body[:TEXT_LIMIT].decode("utf-8", "replace").strip())
    return from_status(told, status, seconds(retry_after, now))


def from_status(told: Status, status: int = 0, retry_after: float | None = None) -> ApiError:
    """The exception for a Status, as it also comes inside a watch (where there is no HTTP code of its own)."""
    code = status or told.code or 500
    details = told.details or {}
    if retry_after is None and isinstance(details.get("retryAfterSeconds"), int):
        retry_after = float(details["retryAfterSeconds"]) or None
    cause = BY_STATUS.get(code, ServerError if code >= 500 else ApiError)
    if code == 409 and told.reason == "AlreadyExists":
        cause = AlreadyExists
    message = told.message or f"the server answered {code}"
    return cause(code, told.reason or cause.__name__, message, retry_after=retry_after, details=details)


def seconds(retry_after: str | None, now: float) -> float | None:
    """A Retry-After header, seconds or a date, as seconds from now; None when absent or unreadable."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except ValueError:
        return None
