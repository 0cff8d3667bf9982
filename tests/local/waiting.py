"""Wait for what must come to be, and no longer than it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
SLACK = 5  # a machine that has other things to do is so many times slower


def eventually(look: Callable[[], Found], within: float = 20.0, what: str = "") -> Found:
    """The first true answer of `look`; an AssertionError when there is none `within` so many seconds of a machine that is idle."""
    deadline = time.monotonic() + within * SLACK
    while True:
        if found := look():
            return found
        assert time.monotonic() < deadline, f"{what or look.__name__}: not within {within * SLACK} s"
        time.sleep(0.03)
