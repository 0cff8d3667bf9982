"""What storms of the real controllers have found with services: edits that are taken back, and times that a wrong clock wrote."""

from __future__ import annotations

import pytest

from rayfleet.api import labels
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import CONFIG, cluster_spec

MORE = CONFIG + "  deployments: [{name: D, num_replicas: 2}]\n"
YEAR = 365 * 86400.0


def deployments(story: Story) -> list[object]:
    """Of what was sent last."""
    return [each.get("deployments") for each in story.puts[-1][1]["applications"]]


@pytest.mark.parametrize("dies", [False, True])
def test_an_edit_that_is_taken_back_at_once_is_undone_at_ray(dies: bool) -> None:
    """What Ray was given in between has all that is wanted, and more: it does not report that as a difference."""
    story, name = serving()
    story.edit(serveConfigV2=MORE)
    story.settle()
    assert deployments(story) == [None, [{"name": "D", "num_replicas": 2}]]
    story.edit(serveConfigV2=CONFIG)
    if dies:
        story.results.clear()
    story.say(name, dict.fromkeys(("fruit", "sums"), "RUNNING"))
    story.settle()
    assert deployments(story) == [None, None]


def test_a_cluster_that_a_wrong_clock_marked_goes_after_its_delay() -> None:
    story, first = serving(rayClusterDeletionDelaySeconds=20)
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = next(name for name in story.names if name != first)
    story.serve(second)
    marks = story.clusters[first]["metadata"]["annotations"]
    marks[labels.UNUSED_SINCE] = rfc3339(story.now + YEAR)
    story.settle()
    assert story.clusters[first]["metadata"]["annotations"][labels.UNUSED_SINCE] == rfc3339(story.now)
    story.wait(25.0)
    story.settle()
    assert story.names == [second]
