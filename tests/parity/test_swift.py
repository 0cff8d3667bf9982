"""The swift clock: what the machine does not give us does not pass."""

from __future__ import annotations

import time

from tests.parity.swift import TURN, SwiftClock

AWAY = 20 * TURN


async def test_while_the_process_gets_no_turn_hardly_any_time_passes_and_nothing_is_due() -> None:
    clock = SwiftClock(100.0)
    called: list[float] = []
    begun = clock.monotonic()
    clock.call_later(AWAY * 100, lambda: called.append(clock.monotonic()))
    time.sleep(AWAY)  # noqa: ASYNC251 - it is to hold the loop
    assert clock.monotonic() - begun <= AWAY * 100 / 2
    await clock.sleep(AWAY * 100)
    assert called and called[0] - begun >= AWAY * 99.9
