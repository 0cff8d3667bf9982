"""What may hold an upgrade step by step for ever: who looks after the Gateway, and heads that say nothing. It is told, and when it ends."""

from __future__ import annotations

import pytest

from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.ray.answer import Unreachable
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import cluster_spec
from tests.rayservice.step_by_step import RUNNING, begun, capacities, live, spec, until


def idle(story: Story, seconds: int, but: str = "") -> None:
    """Time goes by, and nobody looks after the Gateway; one cluster says what it said."""
    for _ in range(seconds):
        for name in story.names:
            if name in story.says and name != but:
                story.say(name, RUNNING)
                story.wait(-1.0)
        story.settle()
        story.wait(1.0)


def moved(story: Story, second: str) -> None:
    """The first cluster is out of the route, and its controller has not seen that yet."""
    until(story, second, 100)
    for _ in range(30):
        if list(story.weights) == [second]:
            return
        live(story, 1)
    raise AssertionError(story.weights)


def test_a_controller_that_has_seen_an_earlier_route_only_is_told_after_half_a_minute_and_once() -> None:
    story, first, second = begun(rayClusterDeletionDelaySeconds=5)
    moved(story, second)
    generation = story.routes["shop-httproute"]["metadata"]["generation"]
    story.routes["shop-httproute"]["status"]["parents"][0]["controllerName"] = "example.test/slow"
    idle(story, 25)
    assert story.condition("GatewayReady") == ("True", "Programmed")
    idle(story, 10)
    assert story.condition("GatewayReady") == ("False", "WaitingForRoute")
    told = f"HTTPRoute shop-httproute has generation {generation}, of which the controller example.test/slow has only seen {generation - 1}"
    assert story.message("GatewayReady").startswith(told)
    statuses = story.statuses
    idle(story, 3600)
    assert story.statuses == statuses and story.names == sorted([first, second]), "requests may still be sent there"
    live(story, 10)
    assert story.names == [second] and story.condition("GatewayReady") == ("True", "Programmed")


def test_a_controller_that_is_quick_is_never_told_however_long_the_steps_are() -> None:
    story, _, second = begun(upgradeStrategy={"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": SLOW})
    seen = set()
    for _ in range(400):
        live(story, 1)
        seen.add(story.condition("GatewayReady"))
    assert story.names == [second] and seen == {("True", "Programmed")}


SLOW = {"gatewayClassName": "any", "stepSizePercent": 50, "intervalSeconds": 60, "maxSurgePercent": 100}


def test_what_a_controller_that_is_gone_has_left_holds_nothing() -> None:
    story, _, second = begun()
    left = {"controllerName": "example.test/gone", "conditions": [{"type": "Accepted", "status": "True", "observedGeneration": 1}]}
    for _ in range(150):
        live(story, 1)
        parents = story.routes["shop-httproute"]["status"]["parents"]
        story.routes["shop-httproute"]["status"] = {"parents": [left, *parents]}
        story.settle()
    assert story.names == [second] and story.condition("GatewayReady") == ("True", "Programmed")


def test_a_cluster_that_a_stuck_controller_holds_can_be_deleted_by_hand() -> None:
    story, first, second = begun()
    moved(story, second)
    idle(story, 100)
    story.remove(RAYCLUSTERS, first)
    idle(story, 5)
    assert story.names == [second] and story.condition("UpgradeInProgress") == ("False", "NoPendingCluster")


def hang(story: Story, name: str) -> None:
    """The dashboard does; the proxies answer."""
    story.answer(name, Unreachable("no answer"))


def test_an_old_cluster_that_hears_nothing_keeps_its_replicas_and_holds_the_upgrade_for_five_minutes() -> None:
    """Then what it has counts no longer as a part of what both may have."""
    story, first, second = begun()
    until(story, second, 25)
    hang(story, first)
    live(story, 280, but=first)
    assert story.weights == {first: 50, second: 50} and capacities(story)[-1] == (second, 50)
    assert story.condition("Ready") == ("False", "DashboardUnreachable") and first in story.message()
    live(story, 60, but=first)
    assert capacities(story)[-1] == (second, 100), "more than maxSurgePercent allows, as the old one goes in one piece"
    live(story, 100, but=first)
    assert story.weights == {second: 100} and story.names == [second] and story.condition("Ready")[0] == "True"


def test_a_new_cluster_that_says_nothing_is_told_and_goes_with_the_spec_of_before() -> None:
    story, first, second = begun()
    until(story, second, 50)
    hang(story, second)
    live(story, 40, but=second)
    assert story.condition("UpgradeInProgress") == ("True", "BothActivePendingClustersExist")
    assert story.message("UpgradeInProgress").endswith(f"the dashboard of RayCluster {second} does not answer")
    statuses = story.statuses
    live(story, 600, but=second)
    assert story.weights == {first: 50, second: 50} and story.statuses == statuses
    story.edit(rayClusterConfig=spec())
    live(story, 400, but=second)
    assert story.weights == {first: 100} and story.names == [first]


def test_back_to_a_cluster_that_hears_nothing_waits_and_a_third_spec_goes_on_instead() -> None:
    story, first, second = begun()
    until(story, second, 50)
    live(story, 3)
    assert dict(capacities(story)) == {first: 50, second: 100}
    hang(story, first)
    story.edit(rayClusterConfig=spec())
    live(story, 600, but=first)
    assert story.weights == {first: 50, second: 50}, "it has half of its replicas, and does not hear that it is to have more"
    assert story.condition("Ready") == ("False", "DashboardUnreachable")
    story.edit(rayClusterConfig=spec(env="3"))
    for _ in range(300):
        live(story, 1, but=first)
        assert len(story.names) <= 2
        if third := set(story.names) - {first, second}:
            break
    assert story.weights == {second: 100}
    story.serve(*third)
    live(story, 200, but=first)
    assert set(story.weights) == third == set(story.names)


@pytest.mark.parametrize("stepwise", [True, False])
def test_an_application_that_fails_on_the_new_cluster_is_told_while_the_old_one_serves(stepwise: bool) -> None:
    if stepwise:
        story, first, second = begun()
    else:
        story, first = serving()
        story.edit(rayClusterConfig=cluster_spec(env="2"))
        story.settle()
        (second,) = [name for name in story.names if name != first]
        story.start(second)
        story.settle()
    story.say(second, {"fruit": "RUNNING", "sums": "DEPLOY_FAILED"}, "Traceback:\n  x\nKeyError: 'y'")
    story.settle()
    assert story.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert story.message("UpgradeInProgress").endswith(": application sums is DEPLOY_FAILED: KeyError: 'y'")
