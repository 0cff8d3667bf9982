"""Members and items of values, and whether there are any."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver.cel.values import NONE, Failure, NoKey, NoOverload, Optional, Thing, is_number

_ESCAPES = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}


def unescaped(name: str) -> str:
    """A member's name as it is in the object."""
    for escape, sign in _ESCAPES.items():
        name = name.replace(escape, sign)
    return name[2:-2] if name.startswith("__") and name.endswith("__") else name


def chosen(value: Any, key: Any) -> Optional:
    """`.?` and `[?`, and what follows on them."""
    if isinstance(value, Optional):
        if not value.value:
            return NONE
        value = value.value[0]
    try:
        found = item(value, key) if not isinstance(value, Thing) else value.member(key)
    except NoKey:
        return NONE
    return found if isinstance(found, Optional) else Optional(found)


def member(value: Any, name: str) -> Any:
    """Names with signs in them may be written escaped. Raises Failure."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        if "__" in name and (plain := unescaped(name)) in value:
            return value[plain]
        raise NoKey(name)
    if isinstance(value, Thing):
        return value.member(name)
    if value is None:
        raise NoKey(name)
    raise NoOverload


def has_member(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return name in value or ("__" in name and unescaped(name) in value)
    if isinstance(value, Thing):
        return value.has(name)
    if isinstance(value, Optional):
        return bool(value.value) and has_member(value.value[0], name)
    if value is None:
        raise NoKey(name)
    raise NoOverload


def item(value: Any, key: Any) -> Any:
    if isinstance(value, list):
        if not is_number(key) or key != int(key):
            raise NoOverload
        if not 0 <= key < len(value):
            raise NoKey(key) if isinstance(key, float) else Failure(f"index out of bounds: {key}")
        return value[int(key)]
    if isinstance(value, dict):
        if isinstance(key, str):
            return member(value, key)
        if key in value:
            return value[key]
        raise NoKey(key)
    raise NoOverload
