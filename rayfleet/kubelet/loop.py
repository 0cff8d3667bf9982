"""Work that goes on for as long as the kubelet runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)
PAUSE = 1.0  # seconds after a fault


async def again_and_again(work: Callable[[], Awaitable[None]]) -> None:
    """A fault in it must not leave all Pods waiting."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("a fault; it is begun again")
        await asyncio.sleep(PAUSE)
