"""The macros that go through a list or map, and those that bind a name once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from rayfleet.apiserver.cel.syntax import Expression
from rayfleet.apiserver.cel.values import NONE, Budget, Exhausted, Failure, NoOverload, Optional

Names = dict[str, Any]
Run = Callable[[Names, Budget], Any]
Fold = Callable[[Iterator[tuple[Any, Any]], Run, Run | None, Names, Budget], Any]

_STEP = 3
"""units for each turn: the condition, the test of the result and the next item"""


def ranged(node: Expression, compiled: Callable[[Expression], Run]) -> Run:
    assert node.target is not None, "a macro is called on something"
    if node.name in ("optMap", "optFlatMap", "bind"):
        return _bound(node, compiled)
    target, body = compiled(node.target), compiled(node.arguments[-1])
    first, middle = node.arguments[0].name, node.arguments[1:-1]
    two = bool(middle) and node.name != "map"
    second = middle[0].name if two else ""
    condition = compiled(middle[-1]) if len(middle) > two else None
    fold = _FOLDS[node.name]

    def run(names: Names, budget: Budget) -> Any:
        value = target(names, budget)
        inner = dict(names)

        def turns() -> Iterator[tuple[Any, Any]]:
            for key, item in _pairs(value, two):
                budget.spend(_STEP)
                inner[first] = key
                if two:
                    inner[second] = item
                yield key, item

        return fold(turns(), body, condition, inner, budget)

    return run


def _pairs(value: Any, two: bool) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, list):
        yield from enumerate(value) if two else ((item, item) for item in value)
    elif isinstance(value, dict):
        yield from value.items()
    else:
        raise NoOverload


def _all(turns: Iterator[tuple[Any, Any]], body: Run, condition: Run | None, names: Names, budget: Budget) -> bool:
    return not decided((partial(body, names, budget) for _ in turns), decides=False)


def _exists(turns: Iterator[tuple[Any, Any]], body: Run, condition: Run | None, names: Names, budget: Budget) -> bool:
    return decided((partial(body, names, budget) for _ in turns), decides=True)


def decided(attempts: Iterable[Callable[[], Any]], *, decides: bool) -> bool:
    """Whether one of them decides; errors of the others do not matter then. Each is made before the one after it is asked for."""
    failure: Failure | None = None
    for attempt in attempts:
        try:
            value = attempt()
        except Exhausted:
            raise
        except Failure as found:
            failure = failure or found
            continue
        if value is decides:
            return True
        if not isinstance(value, bool):
            failure = failure or NoOverload()
    if failure is not None:
        raise failure
    return False


def _exists_one(turns: Iterator[tuple[Any, Any]], body: Run, condition: Run | None, names: Names, budget: Budget) -> bool:
    return sum(body(names, budget) is True for _ in turns) == 1


def _filter(turns: Iterator[tuple[Any, Any]], body: Run, condition: Run | None, names: Names, budget: Budget) -> list[Any]:
    return [key for key, _ in turns if body(names, budget) is True]


def _map(turns: Iterator[tuple[Any, Any]], body: Run, condition: Run | None, names: Names, budget: Budget) -> list[Any]:
    return [body(names, budget) for _ in turns if condition is None or condition(names, budget) is True]


def _transformed(turns: Iterator[tuple[Any, Any]], body: Run, condition: Run | None, names: Names, budget: Budget) -> dict[Any, Any]:
    return {key: body(names, budget) for key, _ in turns if condition is None or condition(names, budget) is True}


_FOLDS: dict[str, Fold] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
    "transformMap": _transformed,
}
MACROS = frozenset({*_FOLDS, "optMap", "optFlatMap"})


def _bound(node: Expression, compiled: Callable[[Expression], Run]) -> Run:
    """x.optMap(name, body), x.optFlatMap(name, body), cel.bind(name, value, body)"""
    assert node.target is not None, "a macro is called on something"
    name, body = node.arguments[0].name, compiled(node.arguments[-1])
    value = compiled(node.arguments[1] if node.name == "bind" else node.target)

    def run(names: Names, budget: Budget) -> Any:
        given = value(names, budget)
        if node.name == "bind":
            return body({**names, name: given}, budget)
        if not isinstance(given, Optional):
            raise NoOverload
        if not given.value:
            return NONE
        found = body({**names, name: given.value[0]}, budget)
        return found if node.name == "optFlatMap" else Optional(found)

    return run
