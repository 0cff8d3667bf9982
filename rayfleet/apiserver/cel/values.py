"""CEL's values in Python: what they are, how they compare and reckon, and what comes instead of a value.

int is int64, Uint uint64, float double, str, bytes, bool, None; list, dict; datetime (UTC) and timedelta; Optional. Anything else is a
`Thing`, which answers for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

INTS, UINTS = range(-(2**63), 2**63), range(2**64)


class Failure(Exception):
    """No value came of it; the text is cel-go's."""


class NoOverload(Failure):
    def __init__(self) -> None:
        super().__init__("no such overload")


class NoKey(Failure):
    def __init__(self, key: Any) -> None:
        super().__init__(f"no such key: {key}")


class Exhausted(Failure):
    """More was asked for than a rule may cost. Nothing catches it but who ran the rule."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Budget:
    """What is left to spend. A unit is about a step of the tree or ten letters, as in Kubernetes."""

    __slots__ = ("left",)

    def __init__(self, units: int) -> None:
        self.left = units

    def spend(self, units: int) -> None:
        """Raises Exhausted."""
        self.left -= units
        if self.left < 0:
            raise Exhausted


class Uint(int):
    __slots__ = ()


class Optional:
    __slots__ = ("value",)

    def __init__(self, *value: Any) -> None:
        self.value = value
        """none or one"""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Optional) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


NONE = Optional()


class Thing:
    """A value with members and functions of its own."""

    def member(self, name: str) -> Any:
        """Raises Failure."""
        raise NoKey(name)

    def has(self, name: str) -> bool:
        return False

    def call(self, name: str, given: Sequence[Any]) -> Any:
        """Raises Failure."""
        raise NoOverload


def type_of(value: Any) -> str:
    for python, name in _NAMES:
        if isinstance(value, python):
            return name
    return "object"


_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (datetime, "google.protobuf.Timestamp"),
    (timedelta, "google.protobuf.Duration"),
    (Optional, "optional_type"),
    (type(None), "null_type"),
)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    # To Python true is 1.
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def less(left: Any, right: Any) -> bool:
    """Raises NoOverload for what has no order."""
    if not (is_number(left) and is_number(right)) and (type(left) is not type(right) or not isinstance(left, _ORDERED)):
        raise NoOverload
    return bool(left < right)


_ORDERED = (str, bytes, bool, datetime, timedelta)


def reckoned(sign: str, left: Any, right: Any) -> Any:
    """+ - * / %. Raises Failure: overflow, division by zero, wrong types."""
    if is_number(left) or is_number(right):
        return _number(sign, left, right)
    if sign == "+" and type(left) is type(right) and isinstance(left, (str, bytes, list)):
        return left + right
    if sign in "+-" and (isinstance(left, timedelta) or isinstance(right, timedelta) or sign == "-"):
        try:
            return left + right if sign == "+" else left - right
        except TypeError:
            raise NoOverload from None
        except OverflowError:
            raise Failure("timestamp overflow") from None
    raise NoOverload


def _number(sign: str, left: Any, right: Any) -> Any:
    if type(left) is not type(right) or isinstance(left, bool):
        raise NoOverload
    if isinstance(left, float):
        return _double(sign, left, right)
    if sign in "/%" and right == 0:
        raise Failure("division by zero" if sign == "/" else "modulus by zero")
    # Toward zero, as in Go.
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1) if sign in "/%" else 0
    found = {"+": left + right, "-": left - right, "*": left * right, "/": quotient, "%": left - right * quotient}[sign]
    return within(found, type(left))


def _double(sign: str, left: float, right: float) -> float:
    if sign == "%":
        raise NoOverload
    if sign == "/" and right == 0:
        return float("nan") if left == 0 or left != left else float("inf") * (1 if left > 0 else -1)
    return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[sign](right)


def within(value: int, kind: type) -> int:
    """Raises Failure when it overflows."""
    if kind is Uint:
        if value not in UINTS:
            raise Failure("unsigned integer overflow")
        return Uint(value)
    if value not in INTS:
        raise Failure("integer overflow")
    return int(value)
