"""One request to one resource: where, with which query, in which form the answer is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from aiohttp import web

from rayfleet.apiserver.address import Address
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import User
from rayfleet.apiserver.body import JSON, TooDeep, decoded
from rayfleet.apiserver.duplicates import doubled
from rayfleet.apiserver.form import Form, form_of
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.registry import Served
from rayfleet.apiserver.selectors import Selector, parse
from rayfleet.apiserver.status_error import Cause, StatusError, bad_request, invalid, not_supported

DIGITS = 20
"""of numbers that fit into 64 bits"""
MANAGER_LIMIT = 128  # bytes
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
WARNINGS_LIMIT = 16
"""headers have a size that clients accept"""


Answer = Callable[[], web.Response]
"""the last step of a write, which answers it; raises StatusError"""


class Call:
    __slots__ = ("address", "api", "body", "parsed", "query", "request", "user")

    def __init__(self, api: Api, request: web.Request, address: Address, query: dict[str, str]) -> None:
        self.api = api
        self.request = request
        self.address = address
        self.query = query
        self.body = b""
        self.user: User | None = None
        self.parsed: Any = None
        """the body's value, or its refusal, where it was read already"""

    @property
    def served(self) -> Served:
        return self.address.served

    @property
    def kind(self) -> Kind:
        return self.address.served.kind

    @property
    def form(self) -> Form:
        return form_of(self.request.headers.get("Accept", ""), self.query)

    @property
    def selector(self) -> Selector:
        return parse(self.query.get("labelSelector", ""), self.query.get("fieldSelector", ""), self.kind.known_fields)

    def flag(self, name: str) -> bool:
        """As Kubernetes reads it: whatever is said and is not a no."""
        return self.query.get(name, "false") not in ("false", "0")

    def number(self, name: str) -> int:
        """0 when absent. Raises 400."""
        text = self.query.get(name) or "0"
        if not text.removeprefix("-").isdecimal():
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        if len(text) > DIGITS or not -(2**63) <= int(text) < 2**63:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
        return int(text)

    def options(self) -> WriteOptions:
        name = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(self.request.method, "PatchOptions")
        if self.query.get("dryRun", "All") != "All":
            raise invalid("meta.k8s.io", name, "", [not_supported("dryRun", [self.query["dryRun"]], ("All",))])
        if (wanted := self.query.get("fieldValidation", "")) not in VALIDATIONS:
            raise invalid("meta.k8s.io", name, "", [not_supported("fieldValidation", wanted, VALIDATIONS)])
        manager = self.query.get("fieldManager", "")
        if len(manager.encode()) > MANAGER_LIMIT:
            cause = Cause("fieldManager", "FieldValueTooLong", f"Too long: may not be more than {MANAGER_LIMIT} bytes")
            raise invalid("meta.k8s.io", name, "", [cause])
        options = WriteOptions("dryRun" in self.query, manager, validation=self.query.get("fieldValidation") or "Warn")
        options.agent = self.request.headers.get("User-Agent", "").partition("/")[0]
        options.user, options.subresource = self.user, self.address.subresource
        options.force = self.flag("force")
        options.doubled = doubled(self.body) if options.validation != "Ignore" and "json" in self.request.content_type else []
        return options

    def content(self) -> Any:
        """The body's value. Raises 400, 413, 415."""
        if isinstance(self.parsed, StatusError):
            raise self.parsed
        return self.parsed if self.parsed is not None else decoded(self.body, self.request.content_type)

    def decoded(self) -> Obj:
        """The body as an object. Raises 400, 413."""
        try:
            value = self.content()
        except TooDeep as failure:
            start = self.body[:30].decode(errors="replace")
            text = f"the object provided is unrecognized (must be of type {self.kind.name}): couldn't get version/kind; "
            raise bad_request(f"{text}{failure.message} ({start} ...)") from None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise bad_request("the body is no object")
        return value

    def answer(self, record: Record, status: int = 200, options: WriteOptions | None = None) -> web.Response:
        body = self.form.one(self.served, record, self.api.clock())
        return self.respond(body, status, options)

    def respond(self, body: bytes, status: int = 200, options: WriteOptions | None = None) -> web.Response:
        response = web.Response(body=body, status=status, headers={"Content-Type": JSON})
        warn(response, [*(options.warnings if options else ()), *self.deprecations()])
        return response

    def deprecations(self) -> list[str]:
        """What every answer of this version warns of, refusals too."""
        warning = self.kind.deprecated.get(self.served.version)
        return [warning] if warning else []


def warn(response: web.Response, warnings: Sequence[str]) -> None:
    for warning in warnings[:WARNINGS_LIMIT]:
        response.headers.add("Warning", f"299 - {msgspec.json.encode(warning[:256]).decode()}")
