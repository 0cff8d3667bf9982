"""Where a decision is made: at once where there is little to weigh, else in a process beside this one, so that no other cluster waits. What
waits for room is read there, too.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from rayfleet.autoscaling.decide import decide
from rayfleet.autoscaling.tally import Tally
from rayfleet.autoscaling.values import Decision, Group, Instance, Memory, Policy
from rayfleet.autoscaling.word import Word, demand_in

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

MUCH = 200
"""Shapes that wait, bundles, nodes and Pods together: about 10 ms of work."""
DEADLINE = 30.0  # seconds


class TooMuch(Exception):
    """It takes longer than `DEADLINE` to be weighed."""


class Judge:
    """Has it decided, one after the other in the process beside. That is made when it is first needed, and made again should it die, for
    the next one who asks: whoever asked before is told by BrokenExecutor. It is ended when it takes too long: TooMuch."""

    def __init__(self, much: int = MUCH, tally: Tally | None = None) -> None:
        self._much = much
        self._tally = tally or Tally()
        self._beside: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()

    async def __call__(
        self, word: Word, groups: tuple[Group, ...], instances: tuple[Instance, ...], policy: Policy, memory: Memory, now: float
    ) -> Decision:
        began, where = time.perf_counter(), "here" if word.weight + len(instances) < self._much else "beside"
        try:
            if where == "here":
                return decide(word.demand, groups, instances, policy, memory, now)
            return await self._send(word.told(), groups, instances, policy, memory, now)
        finally:
            self._tally.was_decided(where, time.perf_counter() - began)

    async def _send(self, *weighed: object) -> Decision:
        from concurrent.futures import BrokenExecutor

        async with self._turn:
            beside = self._executor()
            try:
                async with asyncio.timeout(DEADLINE):
                    return await asyncio.wrap_future(beside.submit(weigh, *weighed))  # type: ignore[arg-type]
            except TimeoutError:
                self._end()
                raise TooMuch from None
            except BrokenExecutor:
                self._beside = None
                raise

    def _executor(self) -> ProcessPoolExecutor:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        if self._beside is None:
            self._beside = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))  # a fork would copy gRPC's threads half way
        return self._beside

    def _end(self) -> None:
        """Kill it: an executor waits for what it has begun."""
        beside, self._beside = self._beside, None
        for process in list(beside._processes.values()) if beside else ():
            process.kill()

    def close(self) -> None:
        if self._beside is not None:
            self._beside.shutdown(wait=False, cancel_futures=True)


def weigh(told: bytes, groups: tuple[Group, ...], instances: tuple[Instance, ...], policy: Policy, memory: Memory, now: float) -> Decision:
    return decide(demand_in(told), groups, instances, policy, memory, now)
