"""Kubernetes' own types in CEL: quantities, addresses, networks, URLs."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from rayfleet.api.quantity import Quantity, parse
from rayfleet.apiserver.cel.values import INTS, Failure, NoOverload, Thing

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class _Value(Thing):
    """Wraps a value; `functions`: name -> what it does with the value and the arguments."""

    functions: dict[str, Callable[..., Any]]

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]

    def call(self, name: str, given: Sequence[Any]) -> Any:
        function = self.functions.get(name)
        if function is None:
            raise NoOverload
        try:
            return function(self.value, *(each.value if isinstance(each, _Value) else each for each in given))
        except (TypeError, AttributeError):
            raise NoOverload from None
        except ValueError as failure:
            raise Failure(str(failure)) from None


def _whole(quantity: Quantity) -> bool:
    return quantity.amount.denominator == 1 and quantity.amount.numerator in INTS


def _as_integer(quantity: Quantity) -> int:
    if not _whole(quantity):
        raise Failure("cannot convert value to integer")
    return quantity.amount.numerator


def _sum(one: Quantity, other: Quantity | int) -> _Quantity:
    return _Quantity(one + (other if isinstance(other, Quantity) else parse(other)))


def _difference(one: Quantity, other: Quantity | int) -> _Quantity:
    return _Quantity(one + (other if isinstance(other, Quantity) else parse(other)).times(-1))


def _order(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


class _Quantity(_Value):
    functions = {
        "sign": lambda quantity: _order(quantity.amount, 0),
        "isInteger": _whole,
        "asInteger": _as_integer,
        "asApproximateFloat": lambda quantity: float(quantity.amount),
        "isGreaterThan": lambda one, other: one.amount > other.amount,
        "isLessThan": lambda one, other: one.amount < other.amount,
        "compareTo": lambda one, other: _order(one.amount, other.amount),
        "add": _sum,
        "sub": _difference,
    }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Quantity) and bool(self.value.amount == other.value.amount)

    __hash__ = None  # type: ignore[assignment]


class _Address(_Value):
    functions = {
        "family": lambda address: address.version,
        "isUnspecified": lambda address: address.is_unspecified,
        "isLoopback": lambda address: address.is_loopback,
        "isLinkLocalMulticast": lambda address: address.is_multicast and str(address).startswith(("224.0.0.", "ff02:")),
        "isLinkLocalUnicast": lambda address: address.is_link_local,
        "isGlobalUnicast": lambda address: (
            not (address.is_multicast or address.is_loopback or address.is_link_local or address.is_unspecified)
        ),
    }


def _holds(network: Network, other: Any) -> bool:
    other = _network(other).value if isinstance(other, str) and "/" in other else _address(other).value if isinstance(other, str) else other
    if isinstance(other, Address):
        return other in network
    return bool(network.version == other.version and network.supernet_of(other))


class _Network(_Value):
    functions = {
        "containsIP": _holds,
        "containsCIDR": _holds,
        "ip": lambda network: _Address(network.network_address),
        "masked": lambda network: _Network(network),
        "prefixLength": lambda network: network.prefixlen,
    }


class _Url(_Value):
    functions = {
        "getScheme": lambda url: url.scheme,
        "getHost": lambda url: url.netloc.rpartition("@")[2],
        "getHostname": lambda url: url.hostname or "",
        "getPort": lambda url: str(url.port or ""),
        "getEscapedPath": lambda url: url.path,
        "getQuery": lambda url: parse_qs(url.query, keep_blank_values=True),
    }


def _quantity(text: str) -> _Quantity:
    if not isinstance(text, str):
        raise NoOverload
    return _Quantity(parse(text))


def _address(text: str) -> _Address:
    if not isinstance(text, str):
        raise NoOverload
    if "%" in text:
        raise Failure(f"IP Address with zone value is not allowed: {text}")
    return _Address(ipaddress.ip_address(text))


def _network(text: str) -> _Network:
    if not isinstance(text, str) or "/" not in text:
        raise Failure(f"network address parse error during conversion from string: {text}")
    return _Network(ipaddress.ip_network(text, strict=False))


def _url(text: str) -> _Url:
    if not isinstance(text, str):
        raise NoOverload
    parts: SplitResult = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise Failure("URL parse error during conversion from string")
    return _Url(parts)


def _whether(made: Callable[[str], Any]) -> Callable[[str], bool]:
    def ask(text: str) -> bool:
        try:
            made(text)
        except NoOverload:
            raise
        except (Failure, ValueError):
            return False
        return True

    return ask


QUANTITIES: dict[str, Callable[..., Any]] = {"quantity": _quantity, "isQuantity": _whether(_quantity)}
ADDRESSES: dict[str, Callable[..., Any]] = {
    "ip": _address, "isIP": _whether(_address), "cidr": _network, "isCIDR": _whether(_network),
}  # fmt: skip
URLS: dict[str, Callable[..., Any]] = {"url": _url, "isURL": _whether(_url)}
