"""`Warning` headers (RFC 9110, as Kubernetes sends them: `299 - "text"`): how the API server tells of typos and of what is deprecated.

Whoever makes a request may collect its warnings; those that nobody collects go to the client's callback, each once.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

REMEMBERED = 1000
WarningSink = Callable[[str, str], None]

_TEXT = re.compile(r'^\s*\d{3}\s+\S+\s+"((?:[^"\\]|\\.)*)"')
_collector: ContextVar[list[str] | None] = ContextVar("warnings", default=None)


@contextmanager
def collected() -> Iterator[list[str]]:
    """The texts of all warnings that answers carry inside the block, in order, without repetition."""
    texts: list[str] = []
    token = _collector.set(texts)
    try:
        yield texts
    finally:
        _collector.reset(token)


class Warnings:
    """Hands on what `Warning` headers say."""

    def __init__(self, sink: WarningSink | None) -> None:
        self._sink = sink
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    def heard(self, path: str, headers: Iterable[str]) -> None:
        """Headers that are not of the form that Kubernetes sends are passed over."""
        collector = _collector.get()
        for header in headers:
            match = _TEXT.match(header)
            if not match:
                continue
            text = re.sub(r"\\(.)", r"\1", match.group(1))
            if collector is not None:
                if text not in collector:
                    collector.append(text)
            elif self._sink and (path, text) not in self._told:
                self._told[path, text] = None
                if len(self._told) > REMEMBERED:
                    self._told.popitem(last=False)
                self._sink(path, text)
