"""Runs an expression: its tree becomes closures once; each evaluation spends from a budget, so that none can hold up the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from rayfleet.apiserver.cel import library
from rayfleet.apiserver.cel.comprehension import MACROS, decided, ranged
from rayfleet.apiserver.cel.members import chosen, has_member, item, member
from rayfleet.apiserver.cel.syntax import Expression, parse, unbounded
from rayfleet.apiserver.cel.values import (
    NONE,
    Budget,
    Exhausted,
    Failure,
    NoOverload,
    Optional,
    Thing,
    equal,
    is_number,
    less,
    reckoned,
)

COST_LIMIT = 1_000_000
"""for one call, as in Kubernetes (k8s.io/apiserver pkg/apis/cel PerCallLimit)"""

Names = dict[str, Any]
Run = Callable[[Names, Budget], Any]


class Program:
    """An expression that is ready to run."""

    __slots__ = ("_run",)

    def __init__(self, text: str) -> None:
        """Raises syntax.Unreadable, Failure (a number too large)."""
        try:
            self._run = compiled(parse(text))
        except RecursionError:
            raise unbounded("max recursion depth exceeded") from None

    def execute(self, names: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """Raises Failure."""
        try:
            return self._run(dict(names), budget or Budget(COST_LIMIT))
        except RecursionError:
            raise Exhausted from None


@lru_cache(maxsize=4096)
def program(text: str) -> Program:
    return Program(text)


def compiled(node: Expression) -> Run:
    return _KINDS[node.kind](node)


def _literal(node: Expression) -> Run:
    value = node.value
    return lambda names, budget: value


def _name(node: Expression) -> Run:
    name = node.name

    def run(names: Names, budget: Budget) -> Any:
        # Whether too much was spent is asked where something is done more than once.
        budget.left -= 1
        try:
            return names[name]
        except KeyError:
            if name in library.TYPES:
                return name
            raise Failure(f"no such attribute(s): {name}") from None

    return run


def _select(node: Expression) -> Run:
    assert node.target is not None, "a selection is from something"
    target, name, optional = compiled(node.target), node.name, node.optional

    def run(names: Names, budget: Budget) -> Any:
        budget.left -= 1
        value = target(names, budget)
        if optional or isinstance(value, Optional):
            return chosen(value, name)
        return member(value, name)

    return run


def _index(node: Expression) -> Run:
    assert node.target is not None, "an index is into something"
    target, key, optional = compiled(node.target), compiled(node.arguments[0]), node.optional

    def run(names: Names, budget: Budget) -> Any:
        budget.spend(1)
        value, at = target(names, budget), key(names, budget)
        if not optional and not isinstance(value, Optional):
            return item(value, at)
        if isinstance(value, list) and not (is_number(at) and 0 <= at < len(value)):
            return NONE
        return chosen(value, at)

    return run


def _list(node: Expression) -> Run:
    parts = [(compiled(each), each.optional) for each in node.arguments]

    def run(names: Names, budget: Budget) -> Any:
        budget.spend(10)
        found: list[Any] = []
        for part, optional in parts:
            value = part(names, budget)
            found += value.value if optional else (value,)
        return found

    return run


def _map(node: Expression) -> Run:
    keys, values = [compiled(each) for each in node.arguments[::2]], [(compiled(each), each.optional) for each in node.arguments[1::2]]

    def run(names: Names, budget: Budget) -> Any:
        budget.spend(30)
        found = {}
        for key, (part, optional) in zip(keys, values, strict=True):
            value = part(names, budget)
            if not optional:
                found[key(names, budget)] = value
            elif value.value:
                found[key(names, budget)] = value.value[0]
        return found

    return run


def _call(node: Expression) -> Run:
    if node.name == "has" and node.target is None:
        return _has(node.arguments[0])
    if node.name in ("_&&_", "_||_"):
        return _logic(node)
    if node.name == "_?_:_":
        return _choice(node)
    target = node.target
    if target is not None and target.kind == "name" and target.name in library.SPACES:
        if (target.name, node.name) == ("cel", "bind"):
            return ranged(node, compiled)
        return _function(node, library.SPACED.get(f"{target.name}.{node.name}"))
    if target is not None and node.name in MACROS and len(node.arguments) >= 2:
        return ranged(node, compiled)
    if target is not None:
        return _method(node, target)
    if node.name in _OPERATORS:
        return _operator(node)
    return _function(node, library.FUNCTIONS.get(node.name))


def _operator(node: Expression) -> Run:
    function, name = _OPERATORS[node.name], node.name
    parts = [compiled(each) for each in node.arguments]
    if len(parts) == 1:
        only = parts[0]
        return lambda names, budget: function(only(names, budget))
    left, right = parts

    def run(names: Names, budget: Budget) -> Any:
        one, other = left(names, budget), right(names, budget)
        if isinstance(other, (str, bytes, list, dict)):
            budget.spend(_cost(name, [one, other]))
        else:
            budget.left -= 1
        return function(one, other)

    return run


def _has(node: Expression) -> Run:
    if node.kind != "select" or node.target is None:
        raise Failure("invalid argument to has() macro")
    target, name = compiled(node.target), node.name

    def run(names: Names, budget: Budget) -> bool:
        budget.spend(1)
        return has_member(target(names, budget), name)

    return run


def _logic(node: Expression) -> Run:
    """An error on one side does not matter when the other decides."""
    left, right = (compiled(each) for each in node.arguments)
    decides = node.name == "_||_"

    def run(names: Names, budget: Budget) -> bool:
        return decided((partial(side, names, budget) for side in (left, right)), decides=decides) is decides

    return run


def _choice(node: Expression) -> Run:
    condition, yes, no = (compiled(each) for each in node.arguments)

    def run(names: Names, budget: Budget) -> Any:
        if not isinstance(value := condition(names, budget), bool):
            raise NoOverload
        return (yes if value else no)(names, budget)

    return run


def _function(node: Expression, function: Callable[..., Any] | None) -> Run:
    parts = [compiled(each) for each in node.arguments]

    def run(names: Names, budget: Budget) -> Any:
        if function is None:
            raise Failure(f"no such overload: {node.name} is not known here")
        given = [part(names, budget) for part in parts]
        budget.spend(_cost(node.name, given))
        return library.guarded(function, given)

    return run


def _method(node: Expression, target: Expression) -> Run:
    owner, parts, name = compiled(target), [compiled(each) for each in node.arguments], node.name

    def run(names: Names, budget: Budget) -> Any:
        value = owner(names, budget)
        given = [part(names, budget) for part in parts]
        if isinstance(value, Thing):
            budget.spend(1)
            return value.call(name, given)
        if (finder := library.FINDERS.get(name)) is not None:
            budget.spend(_cost(name, [value, *given]))
            return library.guarded(finder, [budget, value, *given])
        if (function := library.METHODS.get(name)) is None:
            raise NoOverload
        budget.spend(_cost(name, [value, *given]))
        return library.guarded(function, [value, *given])

    return run


def _cost(name: str, given: list[Any]) -> int:
    """Ten letters are a unit, as in Kubernetes; an item of a list is one."""
    if name in library.QUADRATIC and isinstance(given[-1], list):
        first = given[0]
        return 1 + len(given[-1]) * (len(first) if isinstance(first, list) else 1)
    return 1 + sum(len(each) if isinstance(each, list) else len(each) // 10 for each in given if isinstance(each, (str, bytes, list, dict)))


def _inside(value: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(equal(value, each) for each in container)
    if isinstance(container, dict):
        return (isinstance(value, str) and has_member(container, value)) or value in container
    raise NoOverload


def _opposite(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NoOverload
    return not value


_OPERATORS: dict[str, Callable[..., Any]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": less,
    "_<=_": lambda left, right: less(left, right) or equal(left, right),
    "_>_": lambda left, right: less(right, left),
    "_>=_": lambda left, right: less(right, left) or equal(left, right),
    "@in": _inside,
    "!_": _opposite,
    "-_": lambda value: reckoned("*", value, type(value)(-1)) if is_number(value) else reckoned("-", value - value, value),
    **{f"_{sign}_": lambda left, right, sign=sign: reckoned(sign, left, right) for sign in "+-*/%"},
}
_KINDS: dict[str, Callable[[Expression], Run]] = {
    "literal": _literal, "name": _name, "select": _select, "index": _index, "list": _list, "map": _map, "call": _call,
}  # fmt: skip
