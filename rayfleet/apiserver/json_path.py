"""The part of Kubernetes' JSONPath that printer columns use: members, indices, [*] and equality filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Step = Callable[[Any], Iterator[Any]]

_TOKEN = re.compile(
    r"""\.(?P<member>(?:[^.\[\]\\]|\\.)+)
      | \[(?P<index>-?\d+)\]
      | \[(?P<all>\*)\]
      | \[\?\(\s*@\.(?P<key>[^=\s]+)\s*==\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)\s*\)\]
      | \[(?P<q2>["'])(?P<quoted>.*?)(?P=q2)\]""",
    re.VERBOSE,
)


class JsonPath:
    """Raises ValueError for a path it does not understand."""

    def __init__(self, text: str) -> None:
        self._steps: list[Step] = []
        body = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
        if not body.startswith((".", "[")):
            body = "." + body
        position = 0
        while position < len(body):
            found = _TOKEN.match(body, position)
            if found is None:
                raise ValueError(f"unrecognized path {text!r}")
            self._steps.append(_step(found))
            position = found.end()

    def find(self, value: Any) -> list[Any]:
        """Everything at this path; empty when there is nothing."""
        values = [value]
        for step in self._steps:
            values = [found for each in values for found in step(each)]
        return [found for found in values if found is not None]


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return _at(int(found["index"]))
    if found["all"] is not None:
        return _all
    if found["key"] is not None:
        return _where(found["key"], found["value"])
    name = found["quoted"] if found["quoted"] is not None else found["member"]
    return _member(re.sub(r"\\(.)", r"\1", name))


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _at(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _where(key: str, wanted: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict) and str(item.get(key)) == wanted:
                yield item

    return step
