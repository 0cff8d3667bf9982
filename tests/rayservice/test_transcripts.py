"""Incremental upgrades as stories: a change of the decisions shows as a diff of tests/transcripts/services/*.golden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayfleet.planning.plan import Plan
from rayfleet.sim.service_life import Story
from rayfleet.sim.service_specs import NOW, incremental
from rayfleet.sim.transcript import plan_told
from tests.golden import recorded
from tests.rayservice.step_by_step import begin, live, second_of, spec, until

GOLDEN = Path(__file__).parent.parent / "transcripts" / "services"


class Told(Story):
    """Every look that did something, with where the traffic went at that moment."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"rayClusterConfig": spec(), "upgradeStrategy": incremental(), **given})
        self.lines: list[str] = []

    def step(self, title: str) -> None:
        self.lines += ["", f"## {title}"] if self.lines else [f"## {title}"]

    def apply(self, made: Plan) -> None:
        if told := plan_told(made):
            shares = ", ".join(f"{name} {weight} %" for name, weight in self.weights.items()) or "no route"
            self.lines += [f"{self.now - NOW:.1f} s: {shares}", *(f"  {line}" for line in told)]
        super().apply(made)


def opened() -> tuple[Told, str]:
    story = Told()
    story.step("a service that upgrades step by step: half of the replicas more at most, a quarter of the traffic at a time")
    return begin(story)


def in_the_middle() -> tuple[Told, str, str]:
    story, first = opened()
    story.step("another spec of its cluster, whose cluster comes up")
    second = second_of(story, first)
    until(story, second, 50)
    return story, first, second


def upgrade() -> Told:
    story, first = opened()
    story.step("another spec of its cluster, whose cluster comes up")
    second_of(story, first)
    live(story, 150)
    return story


def rollback() -> Told:
    story, *_ = in_the_middle()
    story.step("the spec of before, when half of the traffic has moved")
    story.edit(rayClusterConfig=spec())
    live(story, 120)
    return story


def third_spec() -> Told:
    story, first, _ = in_the_middle()
    story.step("a third spec, when half of the traffic has moved")
    story.edit(rayClusterConfig=spec(env="3"))
    live(story, 100)
    story.step("the cluster for it comes up")
    (third,) = [name for name in story.names if name != first]
    story.serve(third)
    live(story, 150)
    return story


def suspended() -> Told:
    story, *_ = in_the_middle()
    story.step("suspended, when half of the traffic has moved")
    story.edit(suspend=True)
    live(story, 5)
    story.step("resumed")
    story.edit(suspend=False)
    story.settle()
    (name,) = story.names
    story.serve(name)
    live(story, 5)
    return story


def endpoints_lost() -> Told:
    story, _, second = in_the_middle()
    story.step("the second cluster's Pods are no longer ready")
    for pod in (each for name, each in story.pods.items() if name.startswith(second)):
        pod["status"]["conditions"][0]["status"] = "False"
    live(story, 15)
    story.step("they are ready again")
    for pod in (each for name, each in story.pods.items() if name.startswith(second)):
        pod["status"]["conditions"][0]["status"] = "True"
    live(story, 150)
    return story


STORIES = (upgrade, rollback, third_spec, suspended, endpoints_lost)


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_the_story_is_the_recorded_one(tell: Callable[[], Told]) -> None:
    story = tell()
    before = story.serial
    live(story, 100)
    assert story.serial == before, "it never comes to rest"
    path = GOLDEN / f"{tell.__name__.replace('_', '-')}.golden"
    assert story.lines == recorded(path, "\n".join(story.lines) + "\n").splitlines()


def test_every_recorded_story_is_still_told() -> None:
    assert {path.stem for path in GOLDEN.glob("*.golden")} == {tell.__name__.replace("_", "-") for tell in STORIES}
