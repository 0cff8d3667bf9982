"""Members that stand twice in a JSON object: the last one counts, and the writer is told."""

from __future__ import annotations

import json
from typing import Any

import msgspec


class _Members(dict[str, Any]):
    """An object that remembers which of its members were given more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.doubled = [name for name, _ in pairs if name in seen or seen.add(name)]


def doubled(body: bytes) -> list[str]:
    """The paths of such members. A body that is no JSON object has none."""
    try:
        value = msgspec.json.decode(body)
        # Every member has its colon after a quote. As many as there are members: none was lost, which is true of nearly all bodies.
        if not isinstance(value, dict) or body.count(b'":') == _count(value):
            return []
        found: list[str] = []
        _collect(json.loads(body, object_pairs_hook=_Members), "", found)
    except (msgspec.DecodeError, RecursionError):
        # Who decodes the body will say what is wrong with it.
        return []
    return found


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count(member) for member in value.values() if isinstance(member, (dict, list)))
    return sum(_count(item) for item in value if isinstance(item, (dict, list))) if isinstance(value, list) else 0


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Members):
        prefix = f"{path}." if path else ""
        found += [prefix + name for name in value.doubled]
        for name, member in value.items():
            _collect(member, prefix + name, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{path}[{index}]", found)
