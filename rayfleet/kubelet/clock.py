"""Notices that the wall's clock and the time that has passed have gone apart: somebody set the clock, or the machine slept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)
LOOK = 5.0  # seconds between two looks
TOLERATED = 2.0  # seconds


async def heed_jumps(act: Callable[[], None], scale: float = 1.0) -> None:
    """Acts after each of them: what waits for a time of the day sleeps by the other clock, which a machine's sleep does not move."""
    before = time.time() - time.monotonic()
    while True:
        await asyncio.sleep(LOOK * scale)
        apart = time.time() - time.monotonic()
        if abs(apart - before) > TOLERATED:
            log.warning("the clock has moved by %.0f s: it was set, or the machine slept", apart - before)
            act()
        before = apart
