"""Walks over objects for server-side apply: what is given, what changed, what comes of both, what is taken away. Changes no argument.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/ ; the order of merged lists as a real API server gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.apiserver import field_paths
from rayfleet.apiserver.field_paths import FieldSet, Path
from rayfleet.apiserver.field_shapes import KEY_DEFAULTS, Shape
from rayfleet.apiserver.record import Obj

_NOT_OWNED = frozenset({"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"})
_ABSENT = object()


def ownable(obj: Obj) -> Obj:
    """The object without what identifies it and what only the server writes."""
    meta = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _NOT_OWNED}
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    return {**rest, "metadata": meta} if meta else rest


def fields_of(value: Any, shape: Shape) -> FieldSet:
    """Every field that a value gives."""
    return frozenset(_fields(value, shape, ()))


def _fields(value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    if not isinstance(value, dict | list) or shape.whole(value):
        yield path
    elif isinstance(value, dict):
        for name, child in value.items():
            below = (*path, field_paths.member(name))
            if child is None or child == {} or not shape.declares(name):
                yield below
            if child is not None and child != {}:
                yield from _fields(child, shape.member(name), below)
    else:
        for step, item in elements(value, shape):
            yield (*path, step)
            if step[0] == "k" and not shape.element.whole(item):
                yield from _fields(item, shape.element, (*path, step))


def elements(items: list[Any], shape: Shape) -> list[tuple[str, Any]]:
    """(word of the path, element) of a list that has no single owner."""
    keys = shape.keys(items)
    if not keys:
        return [(field_paths.value(item), item) for item in items]
    return [(field_paths.element(key_values(item, keys)), item) for item in items if isinstance(item, dict)]


def key_values(item: Obj, keys: tuple[str, ...]) -> Obj:
    return {key: item.get(key, KEY_DEFAULTS.get(key)) for key in keys if key in item or key in KEY_DEFAULTS}


def faults(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """What keeps a value from being of its type, with the path of each."""
    yield from (path + fault for fault in shape.faults(value))
    if not isinstance(value, dict | list) or shape.whole(value):
        return
    if isinstance(value, dict):
        for name, child in value.items():
            yield from faults(child, shape.member(name), f"{path}.{name}")
        return
    yield from _doubled(value, shape, path)
    for step, item in elements(value, shape):
        yield from faults(item, shape.element, path + field_paths.text((step,)))


def _doubled(items: list[Any], shape: Shape, path: str) -> Iterator[str]:
    seen = set()
    for step, _ in elements(items, shape):
        if step in seen:
            yield f"{path}: duplicate entries for key {field_paths.text((step,))}"
        seen.add(step)


def merged(live: Any, given: Any, shape: Shape) -> Any:
    """What is given, laid over what is there."""
    if type(live) is not type(given) or not isinstance(given, dict | list) or shape.whole(given):
        return given
    if isinstance(given, list):
        return _merged_list(live, given, shape)
    result = dict(live)
    for name, child in given.items():
        if child is not None:
            result[name] = merged(live.get(name), child, shape.member(name))
    return result


def _merged_list(live: list[Any], given: list[Any], shape: Shape) -> list[Any]:
    """The order of what is given holds; what stands between is kept before the next element that both have."""
    there, wanted = elements(live, shape), elements(given, shape)
    known, named = dict(there), {step for step, _ in wanted}
    anchors = [step for step, _ in wanted if step in known]
    result: list[Any] = []
    left = right = 0
    while left < len(there) or right < len(wanted):
        step = there[left][0] if left < len(there) else None
        if step is not None and right < len(wanted) and step in named and step != wanted[right][0] and anchors[:1] != [step]:
            left += 1
        elif step is not None and step not in named:
            result.append(there[left][1])
            left += 1
        elif right < len(wanted):
            chosen, item = wanted[right]
            result.append(merged(known[chosen], item, shape.element) if chosen in known else item)
            right += 1
            left += step == chosen
            if anchors[:1] == [chosen]:
                anchors.pop(0)
        else:
            left += 1
    return result


def changes(old: Any, new: Any, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """(added or set to something else, gone)"""
    touched: set[Path] = set()
    gone: set[Path] = set()
    _compare(old, new, shape, (), touched, gone)
    return frozenset(touched), frozenset(gone)


def _compare(old: Any, new: Any, shape: Shape, path: Path, touched: set[Path], gone: set[Path]) -> None:
    if old is _ABSENT or new is _ABSENT:
        present = new if old is _ABSENT else old
        (touched if old is _ABSENT else gone).update({path, *_fields(present, shape, path)})
    elif type(old) is not type(new) or not isinstance(new, dict | list) or shape.whole(new):
        if old != new:
            touched.add(path)
    elif isinstance(new, dict):
        for name in {**old, **new}:
            step = (*path, field_paths.member(name))
            _compare(old.get(name, _ABSENT), new.get(name, _ABSENT), shape.member(name), step, touched, gone)
    else:
        before, after = dict(elements(old, shape)), dict(elements(new, shape))
        for step in {**before, **after}:
            _compare(before.get(step, _ABSENT), after.get(step, _ABSENT), shape.element, (*path, step), touched, gone)


def stripped(value: Any, shape: Shape, doomed: FieldSet) -> Any:
    """The value without these fields; what is empty after that goes as well."""
    return _stripped(value, shape, (), doomed, field_paths.upward(doomed))


def _stripped(value: Any, shape: Shape, path: Path, doomed: FieldSet, touched: set[Path]) -> Any:
    """`touched`: where a doomed field is, or is below."""
    if not isinstance(value, dict | list) or not value or shape.whole(value) or path not in touched:
        return value
    if isinstance(value, dict):
        steps = [(name, (*path, field_paths.member(name)), child, shape.member(name)) for name, child in value.items()]
        kept = {name: _stripped(child, below, step, doomed, touched) for name, step, child, below in steps if step not in doomed}
        return {name: child for name, child in kept.items() if child not in ({}, []) or child == value[name]}
    return [
        item if step[0] == "v" else _stripped(item, shape.element, (*path, step), doomed, touched)
        for step, item in elements(value, shape)
        if (*path, step) not in doomed
    ]


def last_applied(obj: Obj) -> Obj:
    """What kubectl's client-side apply remembers of itself on the object; empty where it did not make it."""
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get("kubectl.kubernetes.io/last-applied-configuration", "")
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
