"""What a cached object costs: repeated strings are shared, and raw JSON lets go of the message that it came in.

msgspec makes a new string for each value, and a `Raw` field is a view that keeps the whole list page alive. Both matter with thousands of
objects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

# Different in every object: interning these would only cost.
UNIQUE = frozenset({"name", "uid", "resource_version", "creation_timestamp", "deletion_timestamp", "message", "last_transition_time"})

Shrink = Callable[[Any], Any]


@cache
def shrinker(hint: Any) -> Shrink | None:
    """A function that makes a freshly decoded value of this type small; None when there is nothing to gain.

    Structs are changed in place, although frozen: only their decoder's caller may do that, before anybody else has seen them.
    """
    if hint is str:
        return sys.intern
    if hint is msgspec.Raw:
        return msgspec.Raw.copy
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return of_struct(hint)
    arguments = get_args(hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return of_optional(arguments)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return of_tuple(shrinker(arguments[0]))
    if origin is dict and arguments[0] is str:
        return of_dict(shrinker(arguments[1]))
    return None


def of_optional(members: tuple[Any, ...]) -> Shrink | None:
    known = [member for member in members if member is not NoneType]
    inner = shrinker(known[0]) if len(known) == 1 else None
    return (lambda value: None if value is None else inner(value)) if inner else None


def of_tuple(inner: Shrink | None) -> Shrink | None:
    return (lambda value: tuple(map(inner, value))) if inner else None


def of_dict(inner: Shrink | None) -> Shrink:
    if inner is None:
        return lambda value: {sys.intern(key): entry for key, entry in value.items()}
    return lambda value: {sys.intern(key): inner(entry) for key, entry in value.items()}


def of_struct(kind: type[msgspec.Struct]) -> Shrink | None:
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in kind.__struct_fields__ and name not in UNIQUE}
    fields = tuple((name, inner) for name, hint in hints.items() if (inner := shrinker(hint)))
    if not fields:
        return None
    put = msgspec.structs.force_setattr

    def shrink(value: Any) -> Any:
        for name, inner in fields:
            found = getattr(value, name)
            if found:
                put(value, name, inner(found))
        return value

    return shrink
