"""What a request carries: JSON, YAML or protobuf, of a size and depth that cannot hold anybody up."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from rayfleet.apiserver import protobuf
from rayfleet.apiserver.documents import ALIAS_LIMIT, loaded
from rayfleet.apiserver.status_error import StatusError, bad_request, unsupported_media

JSON = "application/json"
UNTOLD = ("", "application/octet-stream")
"""what clients that say nothing are taken to say"""
READ = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
BODY_LIMIT = 3 * 1024 * 1024
"""as a real API server's"""
DEPTH_LIMIT = 200
"""objects and lists in one another; Kubernetes takes 10,000, and no kind of its own has as many as 100"""
_DIGITS = bytes(ord("0") if chr(byte).isdecimal() else ord(" ") for byte in range(256))
_LONG = b"0" * 19
"""as many digits as the first number that may not fit into 64 bits"""
_ESCAPE = re.compile(rb"(\\u[dD][89aAbB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..|(\\.)", re.DOTALL)
"""a pair of surrogates, half of one, any other escape"""


def decoded(body: bytes, content_type: str) -> Any:
    """Raises 400, 413, 415."""
    if len(body) > BODY_LIMIT:
        raise too_large()
    if content_type not in READ and "json" not in content_type and "yaml" not in content_type and content_type not in UNTOLD:
        raise unsupported_media(READ)
    if content_type == protobuf.MEDIA_TYPE:
        return protobuf.decoded(body)
    try:
        value = _of_yaml(body) if "yaml" in content_type else _of_json(body)
    except RecursionError:
        raise TooDeep from None
    except Exception as error:
        raise bad_request(f"error decoding the body: {error}") from None
    # As many brackets as that there must be, and most bodies have fewer.
    if len(body) - len(body.translate(None, b"{[")) > DEPTH_LIMIT or "yaml" in content_type:
        check_depth(value)
    return _within(value) if _LONG in body.translate(_DIGITS) else value


def too_large() -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_LIMIT}")


def check_depth(value: Any) -> None:
    """Raises 400."""
    level = [value]
    for _ in range(DEPTH_LIMIT + 1):
        level = [
            member
            for each in level
            for member in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(member, (dict, list))
        ]
        if not level:
            return
    raise TooDeep


class TooDeep(StatusError):
    def __init__(self) -> None:
        super().__init__(400, "BadRequest", "json parse error: invalid character '{' exceeded max depth")


def _of_json(body: bytes) -> Any:
    """What is no UTF-8, and half a pair of surrogates, becomes U+FFFD, as in Go."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        whole = body.decode(errors="replace").encode()
        whole = _ESCAPE.sub(lambda found: found[1] or found[2] or b"\\ufffd", whole)
        if whole == body:
            raise
        return msgspec.json.decode(whole)


def _within(value: Any) -> Any:
    """Whole numbers that do not fit into 64 bits are doubles, as in Go."""
    if isinstance(value, dict):
        return {name: _within(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_within(item) for item in value]
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def _of_yaml(body: bytes) -> Any:
    if body.lstrip().startswith(b"{"):
        # Clients say YAML and send JSON, which is YAML and is read a hundred times faster.
        with contextlib.suppress(msgspec.DecodeError):
            return _of_json(body)
    value = loaded(body)
    if b"*" in body and _written_out(value, {}) > ALIAS_LIMIT:
        raise ValueError("yaml: document contains excessive aliasing")
    return value


def _written_out(value: Any, known: dict[int, int]) -> int:
    """How many values there are when each alias is replaced by what it stands for. Raises ValueError for one inside of itself."""
    if not isinstance(value, (dict, list)):
        return 1
    if (count := known.get(id(value))) is None:
        known[id(value)] = -1
        count = known[id(value)] = 1 + sum(_written_out(member, known) for member in (value.values() if isinstance(value, dict) else value))
    if count < 0:
        raise ValueError("yaml: anchor contains itself")
    return count
