"""The formats of texts that Kubernetes asks of custom objects (kube-openapi pkg/validation/strfmt); others are not heeded."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

_HOSTNAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ][0-2]\d:[0-5]\d:[0-6]\d([.,]\d+)?([Zz]|[+-]\d\d:?\d\d)")
_DURATION = re.compile(r"\d+\s*(ns|us|µs|ms|s|m|h|d|w|(nano|micro|milli)?sec(ond)?s?|min(ute)?s?|hours?|hrs?|days?|weeks?)")
_GO_DURATION = re.compile(r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(\1[0-9A-Fa-f]{2}){4}((\1[0-9A-Fa-f]{2}){2})?|[0-9A-Fa-f]{4}(\.[0-9A-Fa-f]{4}){2,3}")
_UUID = r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?%s[0-9a-fA-F]{3}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}"


def _is_date(text: str) -> bool:
    date.fromisoformat(text)
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text))


def _is_moment(text: str) -> bool:
    return bool(_TIME.fullmatch(text)) and _is_date(text[:10])


def _is_uri(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme or text.startswith("/")) and not re.search(r"%(?![0-9a-fA-F]{2})|\s", text)


def _is_bytes(text: str) -> bool:
    base64.b64decode(text, validate=True)
    return True


def _is_duration(text: str) -> bool:
    return bool(_GO_DURATION.fullmatch(text) or _DURATION.fullmatch(text))


def _fits(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(expression)
    return lambda text: bool(compiled.fullmatch(text))


def _guarded(test: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            return bool(test(text))
        except (ValueError, binascii.Error):
            return False

    return fits


FORMATS: dict[str, Callable[[str], bool]] = {
    name: _guarded(test)
    for name, test in {
        "date-time": _is_moment,
        "datetime": _is_moment,
        "date": _is_date,
        "email": _EMAIL.fullmatch,
        "ipv4": lambda text: ipaddress.IPv4Address(text),
        "ipv6": lambda text: ipaddress.IPv6Address(text),
        "cidr": lambda text: "/" in text and ipaddress.ip_interface(text),
        "mac": _MAC.fullmatch,
        "uri": _is_uri,
        "uuid": _fits(_UUID % "[0-9a-fA-F]"),
        "uuid3": _fits(_UUID % "3"),
        "uuid4": _fits(_UUID % "4"),
        "uuid5": _fits(_UUID % "5"),
        "byte": _is_bytes,
        "duration": _is_duration,
        "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text),
        "hexcolor": _fits("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    }.items()
}
