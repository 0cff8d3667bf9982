"""Paths into JSON: `spec.ports[0].port`; keys that hold dots stand in quotes: `metadata.labels["a.b/c"]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_STEP = re.compile(r'\.?(?:\["(?P<quoted>[^"]*)"\]|\[(?P<index>\d+)\]|(?P<name>[^.\[\]]+))')
_PLAIN = re.compile(r"[A-Za-z0-9_$-]+")
ABSENT = "<absent>"
NAMED = (".resources", ".groups", ".subresources")
"""lists of discovery: what stands in them counts, not in which order"""


def at(value: Any, path: str) -> Any:
    """What stands there; ABSENT when nothing does."""
    for step in _STEP.finditer(path):
        try:
            value = value[int(step["index"])] if step["index"] is not None else value[step["quoted"] or step["name"]]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def joined(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def differences(wanted: Any, found: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, wanted, found) wherever two JSON values differ, as deep as both have a value."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in [*wanted, *(key for key in found if key not in wanted)]:
            yield from differences(wanted.get(key, ABSENT), found.get(key, ABSENT), joined(path, key))
    elif (
        isinstance(wanted, list)
        and isinstance(found, list)
        and path.endswith(NAMED)
        and all(isinstance(item, dict) for item in wanted + found)
    ):
        yield from differences(_by_name(wanted), _by_name(found), path)
    elif isinstance(wanted, list) and isinstance(found, list):
        for index in range(max(len(wanted), len(found))):
            mine = wanted[index] if index < len(wanted) else ABSENT
            yield from differences(mine, found[index] if index < len(found) else ABSENT, joined(path, index))
    elif wanted != found or isinstance(wanted, bool) != isinstance(found, bool):
        yield path, wanted, found


def _by_name(items: list[Any]) -> dict[str, Any]:
    return {str(item.get("name") or item.get("resource") or item.get("subresource")): item for item in items}
