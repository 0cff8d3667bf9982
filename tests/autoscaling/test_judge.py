"""Decisions that are made in a process beside this one."""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor

import pytest

from rayfleet.autoscaling.amounts import resources
from rayfleet.autoscaling.judge import Judge
from rayfleet.autoscaling.tally import Tally
from rayfleet.autoscaling.values import Group, Memory, Policy
from rayfleet.autoscaling.word import Word
from rayfleet.sim.gcs import ScriptedGcs

GROUPS = (Group("small", max_replicas=5, resources=resources({"CPU": 1})),)


def three_tasks() -> Word:
    gcs = ScriptedGcs()
    gcs.pending(3, CPU=1.0)
    return Word(gcs._GetClusterResourceState(b""), 100.0)


async def targets(judge: Judge) -> list[tuple[str, int]]:
    decision = await judge(three_tasks(), GROUPS, (), Policy(), Memory(), 100.0)
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


async def test_much_is_not_even_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 tasks that all differ take longer to read than any other cluster should wait."""
    tally = Tally()
    beside, word = Judge(much=1, tally=tally), three_tasks()
    monkeypatch.setattr(Word, "demand", property(lambda word: pytest.fail("it is read here")))
    try:
        assert [each.replicas for each in (await beside(word, GROUPS, (), Policy(), Memory(), 100.0)).targets] == [3]
        assert tally.decided == {"beside": 1} and tally.deciding["beside"] > 0
    finally:
        beside.close()
