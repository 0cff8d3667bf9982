"""The same disturbance at every second of an upgrade: the spec of before, a suspension. All goes well besides, without anybody's help."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rayfleet.sim.service_life import Story
from rayfleet.sim.service_specs import cluster_spec, incremental
from tests.rayservice.step_by_step import RUNNING, spec

Life = Callable[[], Story]


def at_once() -> Story:
    return Story(rayClusterConfig=cluster_spec(), rayClusterDeletionDelaySeconds=5)


def stepwise() -> Story:
    return Story(rayClusterConfig=spec(), upgradeStrategy=incremental(surge=50, step=50, interval=2), rayClusterDeletionDelaySeconds=5)


LIVES = pytest.mark.parametrize("life", [at_once, stepwise])


class World:
    """A cluster's Pods run two seconds after it was made, its applications four seconds after it was told them."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.ages: dict[str, int] = {}

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            story, before = self.story, self.story.now
            story.settle()
            uids = {name: found["metadata"]["uid"] for name, found in story.clusters.items()}
            self.ages = {uid: self.ages.get(uid, 0) + 1 for uid in uids.values()}
            for name, uid in uids.items():
                self.grow(name, self.ages[uid])
            story.accept()
            story.settle()
            story.now = before + 1.0

    def grow(self, name: str, age: int) -> None:
        story = self.story
        if age == 1:
            story.says.pop(name, None)
            story.health.pop(name, None)
            story.results.pop(name, None)
            story.puts = [each for each in story.puts if each[0] != name]
        elif age == 2:
            story.start(name)
        elif age > 2 and any(cluster == name for cluster, _ in story.puts):
            story.say(name, RUNNING if age > 6 else dict.fromkeys(RUNNING, "DEPLOYING"))
            if age == 7:
                story.proxies(name)


def changed(life: Life) -> tuple[Story, World, str]:
    """Its first cluster serves, and its spec has just been changed."""
    story = life()
    world = World(story)
    world.run(12)
    (first,) = story.names
    assert story.condition("Ready")[0] == "True"
    edit(story, "2")
    return story, world, first


def edit(story: Story, rev: str | None) -> None:
    fields = {"enableInTreeAutoscaling": True} if "upgradeStrategy" in (story.service or {})["spec"] else {}
    story.edit(rayClusterConfig=cluster_spec(env=rev, **fields))


def length(life: Life) -> int:
    """Of an upgrade, in seconds."""
    story, world, first = changed(life)
    for second in range(100):
        world.run(1)
        if first not in story.names and len(story.names) == 1:
            return second
    raise AssertionError(story.names)


def serves_alone(story: Story) -> bool:
    """Does one cluster, with everything?"""
    conditions = {story.condition(each) for each in ("Ready", "UpgradeInProgress")}
    told = conditions == {("True", "NonZeroServeEndpoints"), ("False", "NoPendingCluster")}
    return told and len(story.names) == 1 and (story.weights or {story.led_to: 100}) == {story.names[0]: 100}


def end(story: Story, world: World, moment: int) -> str:
    """The one cluster that serves in the end; never are there more than two."""
    for _ in range(100):
        world.run(1)
        assert len(story.names) <= 2
        if serves_alone(story):
            return story.names[0]
    raise AssertionError(f"disturbed after {moment} s it never came to rest: {story.names}, {story.status['conditions']}")


def rev(story: Story, name: str) -> str:
    """Of which spec a cluster is."""
    env = story.clusters[name]["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0].get("env") or ()
    return next((str(each["value"]) for each in env if each["name"] == "REV"), "")


def clusters_made(story: Story) -> list[str]:
    return [name for name in story.made if "svc" not in name and name not in ("shop-gateway", "shop-httproute")]


@LIVES
def test_the_spec_of_before_at_any_moment_ends_with_the_fewest_clusters_ever_made(life: Life) -> None:
    for moment in range(length(life) + 3):
        story, world, first = changed(life)
        world.run(moment)
        lived, made = first in story.names, len(clusters_made(story))
        edit(story, None)
        name = end(story, world, moment)
        assert rev(story, name) == "" and len(clusters_made(story)) == made + (not lived), f"after {moment} s"


@LIVES
def test_suspended_at_any_moment_all_is_gone_and_resumed_one_cluster_comes_for_the_newest_spec(life: Life) -> None:
    for moment in range(length(life) + 3):
        story, world, _ = changed(life)
        world.run(moment)
        story.edit(suspend=True)
        world.run(3)
        assert not (story.clusters or story.services or story.gateways or story.routes), f"after {moment} s"
        assert story.condition("Suspended") == ("True", "SuspendComplete")
        made = len(clusters_made(story))
        story.edit(suspend=False)
        assert rev(story, end(story, world, moment)) == "2" and len(clusters_made(story)) == made + 1


@LIVES
def test_a_third_spec_at_any_moment_is_what_serves_in_the_end(life: Life) -> None:
    for moment in range(length(life) + 3):
        story, world, _ = changed(life)
        world.run(moment)
        edit(story, "3")
        assert rev(story, end(story, world, moment)) == "3" and len(clusters_made(story)) <= 3


@LIVES
def test_edited_at_any_moment_before_it_first_served_it_serves_the_last_spec(life: Life) -> None:
    for moment in range(12):
        story = life()
        world = World(story)
        world.run(moment)
        edit(story, "2")
        assert rev(story, end(story, world, moment)) == "2" and len(clusters_made(story)) <= 2, f"after {moment} s"


@LIVES
@pytest.mark.parametrize("moment", [1, 3, 8])
def test_undone_in_the_middle_the_first_cluster_serves_and_no_other_is_made(life: Life, moment: int) -> None:
    """As `rayfleet rollout undo` writes it."""
    story, world, first = changed(life)
    world.run(moment)
    made = len(clusters_made(story))
    story.edit(rayClusterConfig=story.clusters[first]["spec"])
    assert end(story, world, moment) == first and len(clusters_made(story)) == made
