"""The functions that expressions may call: CEL's own, and Kubernetes' (https://kubernetes.io/docs/reference/using-api/cel/)."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from rayfleet.apiserver import pattern as regular
from rayfleet.apiserver.cel import texts, times
from rayfleet.apiserver.cel.things import ADDRESSES, QUANTITIES, URLS
from rayfleet.apiserver.cel.values import (
    NONE,
    Budget,
    Failure,
    NoOverload,
    Optional,
    Uint,
    equal,
    is_number,
    less,
    reckoned,
    type_of,
    within,
)
from rayfleet.apiserver.finding import machine

TYPES = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"})
SPACES = frozenset({"sets", "optional", "cel", "base64", "math", "lists", "strings"})
"""what stands before the dot of a function that belongs to no value"""


def guarded(function: Callable[..., Any], given: list[Any]) -> Any:
    """Raises Failure, whatever is wrong with the arguments."""
    try:
        return function(*given)
    except (TypeError, AttributeError, IndexError):
        raise NoOverload from None
    except (ValueError, OverflowError, ArithmeticError) as failure:
        raise Failure(str(failure)) from None


def _int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, str):
        return within(int(value), int)
    if not is_number(value):
        raise NoOverload
    return within(int(value), int)


def _uint(value: Any) -> int:
    return within(int(value) if isinstance(value, str) else _int(value), Uint)


def _double(value: Any) -> float:
    if isinstance(value, str) or is_number(value):
        return float(value)
    raise NoOverload


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime):
        return times.timestamp_text(value)
    if isinstance(value, timedelta):
        return times.duration_text(value)
    if is_number(value):
        return texts.number_text(value)
    raise NoOverload


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "True": True, "TRUE": True, "t": True, "1": True}
    known |= {"false": False, "False": False, "FALSE": False, "f": False, "0": False}
    if not isinstance(value, str) or value not in known:
        raise Failure(f"type conversion error from '{type_of(value)}' to 'bool'")
    return known[value]


def _size(value: Any) -> int:
    if not isinstance(value, (str, bytes, list, dict)):
        raise NoOverload
    return len(value)


def _matches(text: str, pattern: str) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise NoOverload
    return regular.found_in(pattern, text)


def _find(budget: Budget, text: str, pattern: str) -> str:
    if not _matches(text, pattern):
        return ""
    place = machine(pattern).find(text, spend=budget.spend)
    return text[slice(*place)] if place else ""


def _find_all(budget: Budget, text: str, pattern: str, most: int = -1) -> list[str]:
    return machine(pattern).find_all(text, most, budget.spend) if _matches(text, pattern) else []


def _least(values: list[Any], *, greatest: bool = False) -> Any:
    if not values:
        raise Failure(f"{'max' if greatest else 'min'} called on empty list")
    return functools.reduce(lambda best, each: each if less(*((best, each) if greatest else (each, best))) else best, values)


def _sum(values: list[Any]) -> Any:
    return functools.reduce(lambda total, each: reckoned("+", total, each), values) if values else 0


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values, key=functools.cmp_to_key(lambda left, right: -1 if less(left, right) else int(less(right, left))))


def _is_sorted(values: list[Any]) -> bool:
    return not any(less(after, before) for before, after in pairwise(values))


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if not any(equal(each, other) for other in found):
            found.append(each)
    return found


def _flat(values: list[Any], depth: int = 1) -> list[Any]:
    found: list[Any] = []
    for each in values:
        found += _flat(each, depth - 1) if isinstance(each, list) and depth > 0 else [each]
    return found


def _place(value: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(value, list):
        return next((index for index, each in enumerate(value) if equal(each, wanted)), -1)
    return int(value.find(wanted, start))


def _last_place(value: Any, wanted: Any, *end: int) -> int:
    if isinstance(value, list):
        return next((index for index in range(len(value) - 1, -1, -1) if equal(value[index], wanted)), -1)
    return int(value.rfind(wanted, 0, end[0] + len(wanted)) if end else value.rfind(wanted))


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise Failure("index out of bounds")
    return values[start:end]


def _value(optional: Optional) -> Any:
    if not optional.value:
        raise Failure("optional.none() dereference")
    return optional.value[0]


def _contained(one: list[Any], other: list[Any]) -> bool:
    """Whether everything of `other` is in `one`."""
    return all(any(equal(each, member) for member in one) for each in other)


QUADRATIC = frozenset({"distinct", "contains", "equivalent", "intersects", "@in"})
"""functions that compare each with each: they cost the product of what they are given"""

SPACED: dict[str, Callable[..., Any]] = {
    "sets.contains": _contained,
    "sets.equivalent": lambda one, other: _contained(one, other) and _contained(other, one),
    "sets.intersects": lambda one, other: any(_contained(one, [each]) for each in other),
    "optional.of": Optional,
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": lambda value: Optional(value) if value else NONE,
    "base64.encode": lambda value: base64.b64encode(value).decode(),
    "base64.decode": lambda text: base64.b64decode(text, validate=True),
    "lists.range": lambda count: list(range(min(count, 100_000))),
}
FINDERS: dict[str, Callable[..., Any]] = {"find": _find, "findAll": _find_all}
"""methods whose cost shows as they go: they spend from the budget, their first argument, themselves"""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "int": _int,
    "uint": _uint,
    "double": _double,
    "string": _string,
    "bool": _bool,
    "bytes": lambda value: value if isinstance(value, bytes) else value.encode(),
    "dyn": lambda value: value,
    "type": type_of,
    "matches": _matches,
    "timestamp": times.timestamp,
    "duration": times.duration,
    **QUANTITIES,
    **ADDRESSES,
    **URLS,
}
METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "matches": _matches,
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _least,
    "max": lambda values: _least(values, greatest=True),
    "first": lambda values: Optional(values[0]) if values else NONE,
    "last": lambda values: Optional(values[-1]) if values else NONE,
    "sort": _sorted,
    "distinct": _distinct,
    "flatten": _flat,
    "slice": _slice,
    "reverse": lambda value: value[::-1],
    "indexOf": _place,
    "lastIndexOf": _last_place,
    "hasValue": lambda optional: bool(optional.value),
    "value": _value,
    "orValue": lambda optional, other: optional.value[0] if optional.value else other,
    "or": lambda optional, other: optional if optional.value else other,
    **texts.METHODS,
    **times.METHODS,
}
