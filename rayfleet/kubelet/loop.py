"""Work that goes on for as long as its process runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)
PAUSE = 1.0  # seconds after a fault


async def again_and_again(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """A fault in it must hold up nothing else, nor end it for good."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("%s: a fault; it is begun again", name)
        await asyncio.sleep(PAUSE)
