"""Where a decision is made: at once where there is little to weigh, else in a process beside this one, so that no other cluster waits."""

from __future__ import annotations

import asyncio
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from rayfleet.autoscaling.decide import decide
from rayfleet.autoscaling.values import Decision, Demand, Group, Instance, Memory, Policy

MUCH = 200
"""Shapes that wait, bundles and Pods together: about 10 ms of work."""


class Judge:
    """Has it decided. The process is made when it is first needed, and made again should it die."""

    def __init__(self, much: int = MUCH) -> None:
        self._much = much
        self._beside: ProcessPoolExecutor | None = None

    async def __call__(
        self, demand: Demand, groups: tuple[Group, ...], instances: tuple[Instance, ...], policy: Policy, memory: Memory, now: float
    ) -> Decision:
        if weight(demand, instances) < self._much:
            return decide(demand, groups, instances, policy, memory, now)
        if self._beside is None:
            self._beside = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))  # a fork would copy gRPC's threads half way
        try:
            course = self._beside.submit(decide, demand, groups, instances, policy, memory, now)
            return await asyncio.wrap_future(course)
        except BrokenProcessPool:
            self._beside = None
            raise

    def close(self) -> None:
        if self._beside is not None:
            self._beside.shutdown(wait=False, cancel_futures=True)


def weight(demand: Demand, instances: tuple[Instance, ...]) -> int:
    return len(demand.requests) + len(demand.floor) + sum(len(gang.bundles) for gang in demand.gangs) + len(instances)
