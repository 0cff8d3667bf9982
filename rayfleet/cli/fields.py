"""Where two objects differ, field by field. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rayfleet.cli.merge import LAST_APPLIED

SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*")
LONGEST = 60
ABSENT = object()


class Difference(NamedTuple):
    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.before is ABSENT:
            return f"{self.path}: {shown(self.after)} is new"
        if self.after is ABSENT:
            return f"{self.path}: {shown(self.before)} goes"
        return f"{self.path}: {shown(self.before)} -> {shown(self.after)}"


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Of what a user writes: without status, what only the server writes, and the note of the last apply."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            if not is_hidden(path, name):
                yield from differences(before.get(name, ABSENT), after.get(name, ABSENT), joined(path, name))
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            pair = [each[index] if index < len(each) else ABSENT for each in (before, after)]
            yield from differences(pair[0], pair[1], f"{path}[{index}]")
    elif before is ABSENT or after is ABSENT or before != after:
        yield Difference(path, before, after)


def is_hidden(path: str, name: str) -> bool:
    return (path == "" and name == "status") or (path == "metadata" and name in SERVERS) or name == LAST_APPLIED


def joined(path: str, name: str) -> str:
    if not PLAIN.fullmatch(name):
        return f"{path}[{json.dumps(name)}]"
    return f"{path}.{name}" if path else name


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
