"""The garbage collector is off while caches fill: most of the cost of filling them would be its passes over what only grows.

Afterwards everything that lives is frozen, so that later passes do not look at it again. Several caches may fill at once.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_filling = 0


@contextmanager
def paused() -> Iterator[None]:
    """No collection inside the outermost such block, one and a freeze at its good end. Where the collector is off, it stays off."""
    global _filling
    if _filling == 0 and not gc.isenabled():
        yield
        return
    _filling += 1
    gc.disable()
    filled = False
    try:
        yield
        filled = True
    finally:
        _filling -= 1
        if _filling == 0:
            if filled:
                gc.collect()
                gc.freeze()
            gc.enable()
