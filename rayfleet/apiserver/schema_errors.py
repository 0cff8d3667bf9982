"""What is wrong with a value by its schema, error by error, so that whoever has heard enough can stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rayfleet.apiserver.record import Obj

WIDE = 1000
"""members; a longer list or map is gone through one by one: the validator would find all their errors before it tells the first"""


class Found(NamedTuple):
    """`error` is about `value`, which stands at `base`, and was judged by `schema`."""

    error: Any
    value: Any
    schema: Obj
    base: tuple[str | int, ...]

    @property
    def place(self) -> tuple[str | int, ...]:
        return (*self.base, *self.error.instance_path)


def found(schema: Obj, value: Any, compiled: Callable[[Obj], Any], base: tuple[str | int, ...] = ()) -> Iterator[Found]:
    if not is_wide(value):
        yield from (Found(error, value, schema, base) for error in compiled(schema).iter_errors(value))
        return
    below = _items(schema, value) if isinstance(value, list) else _members(schema, value)
    apart = {name: part for name, part in schema.items() if name not in ("items", "properties", "additionalProperties")}
    yield from (Found(error, value, apart, base) for error in compiled(apart).iter_errors(value))
    known: dict[int, Any] = {}
    for step, child, member in below:
        if (validator := known.get(id(child))) is None:
            validator = known[id(child)] = compiled(child)
        if not validator.is_valid(member):
            yield from found(child, member, lambda part: known.get(id(part)) or compiled(part), (*base, step))


def is_wide(value: Any) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    return len(value) > WIDE or any(is_wide(member) for member in (value.values() if isinstance(value, dict) else value))


def _items(schema: Obj, value: list[Any]) -> Iterator[tuple[str | int, Obj, Any]]:
    child = schema.get("items")
    return ((index, child, item) for index, item in enumerate(value)) if isinstance(child, dict) else iter(())


def _members(schema: Obj, value: Obj) -> Iterator[tuple[str | int, Obj, Any]]:
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, member in value.items():
        if isinstance(child := properties.get(name, extra), dict):
            yield name, child, member
