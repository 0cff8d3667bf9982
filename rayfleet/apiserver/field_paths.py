"""Sets of fields as metadata.managedFields holds them (FieldsV1).

A path is a tuple of FieldsV1's own words: `f:NAME` a member, `k:{"name":"x"}` an element of a list by its keys, `v:"x"` a member of a set.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rayfleet.apiserver.record import Obj

Path = tuple[str, ...]
FieldSet = frozenset[Path]
NOTHING: FieldSet = frozenset()
_ITSELF = "."


def member(name: str) -> str:
    return "f:" + name


def element(keys: Mapping[str, Any]) -> str:
    return "k:" + msgspec.json.encode(dict(sorted(keys.items()))).decode()


def value(of: Any) -> str:
    return "v:" + msgspec.json.encode(of).decode()


def decoded(fields: Any) -> FieldSet:
    """Whatever does not read as FieldsV1 holds no fields."""
    return frozenset(_decoded(fields, ()))


def _decoded(fields: Any, path: Path) -> Iterator[Path]:
    if not isinstance(fields, dict):
        return
    for step, below in fields.items():
        if step == _ITSELF:
            yield path
        elif below == {}:
            yield (*path, step)
        else:
            yield from _decoded(below, (*path, step))


def encoded(paths: Iterable[Path]) -> Obj:
    root: Obj = {}
    for path in sorted(paths):
        node = root
        for step in path[:-1]:
            if not node.get(step):
                # Sorted: whoever stands here without members is a field of the set itself.
                node[step] = {_ITSELF: {}} if step in node else {}
            node = node[step]
        node.setdefault(path[-1], {})
    return root


def upward(paths: Iterable[Path]) -> set[Path]:
    """The paths, and every place that one of them is a part of."""
    return {path[:depth] for path in paths for depth in range(len(path) + 1)}


def without(paths: FieldSet, gone: FieldSet) -> FieldSet:
    """Less the ones that are gone, and what stood below them."""
    return frozenset(path for path in paths if not any(path[:depth] in gone for depth in range(1, len(path) + 1)))


def text(path: Path) -> str:
    """As conflicts name it: .spec.containers[name="main"].image"""
    return "".join(map(_step_text, path))


def _step_text(step: str) -> str:
    kind, rest = step[:2], step[2:]
    if kind == "f:":
        return "." + rest
    return key_text(msgspec.json.decode(rest)) if kind == "k:" else f"[={rest}]"


def key_text(keys: Mapping[str, Any]) -> str:
    return "[" + ",".join(f"{name}={msgspec.json.encode(keys[name]).decode()}" for name in sorted(keys)) + "]"
