"""RayJobs whose submitters cannot start, as stories: a change of the decisions shows as a diff of tests/transcripts/jobs/*.golden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rayfleet.api.meta import JOBS
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.plan import Plan
from rayfleet.sim.job_life import KEY, START, Life
from rayfleet.sim.transcript import plan_told
from tests.golden import recorded
from tests.rayjob.test_submitters import failed, put_pod, waiting

GOLDEN = Path(__file__).parent.parent / "transcripts" / "jobs"
RUNS = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class Told(Life):
    """Every look that did something. Its submitter has the Pods that the story gives it."""

    def __init__(self) -> None:
        super().__init__(submissionMode="K8sJobMode")
        self.submit = lambda *_: None  # type: ignore[method-assign]
        self.lines: list[str] = []

    def step(self, title: str) -> None:
        self.lines += ["", f"## {title}"] if self.lines else [f"## {title}"]

    def apply(self, made: Plan) -> None:
        if told := plan_told(made):
            self.lines += [f"{self.now - START:.1f} s:", *(f"  {line}" for line in told)]
        super().apply(made)


def begun() -> Told:
    story = Told()
    story.step("a job whose submitter gets a Pod with an image that nobody has")
    story.live(4)
    put_pod(story, waiting("ErrImagePull", "no such image"))
    story.live(10)
    return story


def image_comes() -> Told:
    story = begun()
    story.step("the kubelet waits, and tries again")
    put_pod(story, waiting("ImagePullBackOff", "Back-off pulling image"))
    story.live(10)
    put_pod(story, waiting("ErrImagePull", "no such image"))
    story.live(10)
    story.step("the image is there: the Pod runs, and submits")
    put_pod(story, RUNS)
    story.ray.submit({"submission_id": story.status["jobId"]})
    story.live(5)
    return story


def pods_fail() -> Told:
    story = begun()
    story.step("one Pod fails after the other")
    for name in ("train-x7k2p", "train-b", "train-c"):
        put_pod(story, failed(42), name)
        story.live(15)
    story.step("the Job gives up")
    over = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": rfc3339(story.now)}
    story.objects[JOBS, KEY.name]["status"] = {"conditions": [over]}
    story.live(10)
    return story


STORIES = (image_comes, pods_fail)


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_the_story_is_the_recorded_one(tell: Callable[[], Told]) -> None:
    story = tell()
    path = GOLDEN / f"{tell.__name__.replace('_', '-')}.golden"
    assert story.lines == recorded(path, "\n".join(story.lines) + "\n").splitlines()


def test_every_recorded_story_is_still_told() -> None:
    assert {path.stem for path in GOLDEN.glob("*.golden")} == {tell.__name__.replace("_", "-") for tell in STORIES}
