"""Decisions that are made in a process beside this one."""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor

import pytest

from rayfleet.autoscaling.amounts import resources
from rayfleet.autoscaling.judge import Judge
from rayfleet.autoscaling.values import Demand, Group, Memory, Policy, Request

DEMAND = Demand((Request(resources({"CPU": 1}), 3),))
GROUPS = (Group("small", max_replicas=5, resources=resources({"CPU": 1})),)


async def targets(judge: Judge) -> list[tuple[str, int]]:
    decision = await judge(DEMAND, GROUPS, (), Policy(), Memory(), 100.0)
    return [(target.group, target.replicas) for target in decision.targets]


async def test_beside_it_is_decided_as_here_also_after_the_process_died() -> None:
    here, beside = Judge(), Judge(much=0)
    try:
        assert await targets(here) == await targets(beside) == [("small", 3)]
        assert beside._beside is not None
        for pid in list(beside._beside._processes):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(BrokenExecutor):
            await targets(beside)
        assert await targets(beside) == [("small", 3)]
    finally:
        beside.close()
        here.close()
