"""From one cluster to the next, step by step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, RAYCLUSTERS
from rayfleet.api.rayservice import RayService
from rayfleet.planning.backoff import Backoff
from rayfleet.ray import serve
from rayfleet.resources.ray_service import service_cluster
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import CONFIG, NOW, incremental
from tests.rayservice.step_by_step import begin, begun, capacities, live, spec, stepwise, until

CHANGED = CONFIG.replace("shop.sums:app", "shop.sums:other")


def test_the_first_cluster_has_everything_and_then_there_is_silence() -> None:
    story, first = begin(stepwise())
    assert story.weights == {first: 100} and capacities(story) == [(first, 100)]
    assert sorted(story.services) == ["shop-head-svc", f"{first}-serve-svc"]
    assert story.condition("Ready")[0] == "True" and story.condition("GatewayReady") == ("True", "Programmed")
    shares = {name: story.status["activeServiceStatus"][name] for name in ("targetCapacity", "trafficRoutedPercent")}
    assert shares == {"targetCapacity": 100, "trafficRoutedPercent": 100}
    before = story.serial
    assert story.status["activeServiceStatus"]["lastTrafficMigratedTime"] and live(story, 600) == []
    assert story.serial == before and len(story.puts) == 1


def test_traffic_and_replicas_move_step_by_step_and_the_old_cluster_goes_after_the_delay() -> None:
    story, first = begin(stepwise())
    told, statuses, made = len(story.puts), story.statuses, len(story.made)
    story.edit(rayClusterConfig=spec(env="2"))
    story.settle()
    (second,) = [name for name in story.names if name != first]
    assert [group["replicas"] for group in story.clusters[second]["spec"]["workerGroupSpecs"]] == [0], "its autoscaler makes them"
    assert story.condition("UpgradeInProgress") == ("True", "BothActivePendingClustersExist")
    story.serve(second)
    steps = live(story, 150)
    assert steps == [
        *({first: 100 - weight, second: weight} for weight in (25, 50, 75, 100)),
        {second: 100},
    ]
    assert capacities(story, told) == [(second, 50), (first, 50), (second, 100), (first, 0)]
    assert story.status["activeServiceStatus"]["rayClusterName"] == second and "pendingServiceStatus" not in story.status
    assert story.services["shop-head-svc"]["spec"]["selector"][labels.CLUSTER] == second
    assert story.condition("UpgradeInProgress") == ("False", "NoPendingCluster") and story.condition("Ready")[0] == "True"
    assert story.names == [second] and f"{first}-serve-svc" not in story.services
    assert [name for name in story.made[made:] if "svc" not in name] == [second]
    assert story.statuses - statuses <= 2 * (len(steps) + 4) and live(story, 100) == []


def test_weights_move_no_faster_than_the_interval_says() -> None:
    story, _first, second = begun(upgradeStrategy=incremental(surge=100, step=20, interval=30))
    moved = [story.now for _ in range(200) if live(story, 1)]
    assert story.weights == {second: 100}
    assert all(after - before >= 30 for before, after in pairwise(moved)), moved


def test_a_clock_that_was_set_back_stops_no_upgrade() -> None:
    story, _, second = begun()
    until(story, second, 25)
    story.wait(-3600.0)
    live(story, 30)
    assert story.weights[second] >= 50


def test_a_new_config_goes_to_the_new_cluster_and_the_old_one_keeps_its_own() -> None:
    """Report B6, 94 (k#4189)."""
    story, first = begin(stepwise())
    told = len(story.puts)
    story.edit(rayClusterConfig=spec(env="2"), serveConfigV2=CHANGED)
    story.settle()
    (second,) = [name for name in story.names if name != first]
    story.serve(second)
    live(story, 100)
    paths = {(name, body["applications"][1]["import_path"]) for name, body in story.puts[told:]}
    assert paths == {(first, "shop.sums:app"), (second, "shop.sums:other")}
    assert capacities(story, told) == [(second, 50), (first, 50), (second, 100), (first, 0)]


def test_another_config_in_the_middle_goes_to_the_new_cluster_with_its_capacity() -> None:
    story, _first, second = begun()
    until(story, second, 25)
    told = len(story.puts)
    story.edit(serveConfigV2=CHANGED)
    story.settle()
    assert [(name, body["applications"][1]["import_path"]) for name, body in story.puts[told:]] == [(second, "shop.sums:other")]
    assert capacities(story, told) == [(second, 50)]


def test_the_spec_of_before_takes_the_traffic_back() -> None:
    story, first, second = begun()
    until(story, second, 75)
    told = len(story.puts)
    story.edit(rayClusterConfig=spec())
    story.settle()
    assert story.condition("RollbackInProgress") == ("True", "DesiredClusterSpecChanged")
    assert story.condition("UpgradeInProgress") == ("True", "BothActivePendingClustersExist")
    assert story.status["pendingServiceStatus"]["rayClusterName"] == second
    steps = live(story, 50)
    assert steps == [*({first: 100 - weight, second: weight} for weight in (50, 25, 0)), {first: 100}]
    assert capacities(story, told) == [(second, 50), (first, 100), (second, 0)]
    assert story.condition("RollbackInProgress")[0] == story.condition("UpgradeInProgress")[0] == "False"
    assert story.names == sorted([first, second]), "who had traffic has the delay"
    live(story, 70)
    assert story.names == [first] and story.weights == {first: 100}


def test_the_new_spec_again_goes_on_with_the_upgrade() -> None:
    story, _first, second = begun()
    until(story, second, 50)
    story.edit(rayClusterConfig=spec())
    until(story, second, 25)
    story.edit(rayClusterConfig=spec(env="2"))
    story.settle()
    assert story.condition("RollbackInProgress")[0] == "False"
    live(story, 150)
    assert story.weights == {second: 100} and story.names == [second]


def test_a_third_spec_waits_until_the_second_cluster_has_given_everything_back() -> None:
    story, first, second = begun()
    until(story, second, 50)
    story.edit(rayClusterConfig=spec(env="3"))
    story.settle()
    assert story.condition("RollbackInProgress")[0] == "True" and story.names == sorted([first, second])
    until(story, first, 100)
    for _ in range(100):
        live(story, 1)
        assert len(story.names) <= 2
    (third,) = [name for name in story.names if name != first]
    assert third != second and story.weights == {first: 100}
    story.serve(third)
    live(story, 150)
    assert story.weights == {third: 100} and story.names == [third]


def third_comes(story: Story, before: list[str], but: str = "") -> None:
    """The cluster for the newest spec is made, and takes everything; never are there more than two."""
    for _ in range(200):
        live(story, 1, but)
        assert len(story.names) <= 2
        if made := [name for name in story.names if name not in before]:
            break
    else:
        raise AssertionError(f"nothing was made for the third spec: {story.weights}")
    story.serve(made[0])
    live(story, 200, but)
    assert story.weights == {made[0]: 100} and story.names == made
    assert story.condition("RollbackInProgress")[0] == "False" and story.condition("UpgradeInProgress")[0] == "False"


@pytest.mark.parametrize("weight", [50, 100])
def test_a_third_spec_does_not_wait_for_a_first_cluster_that_has_forgotten_everything(weight: int) -> None:
    """Its head came back without fault tolerance, and the config that it had is known to nobody."""
    story, first, second = begun(serveConfigV2=CONFIG)
    story.edit(serveConfigV2=CHANGED)
    until(story, second, weight)
    story.edit(rayClusterConfig=spec(env="3"))
    story.proxies(first, head=False, workers=False)
    story.answer(first, serve.Details())
    live(story, 1, but=first)
    assert story.weights[second] == 100
    third_comes(story, [first, second], but=first)


@pytest.mark.parametrize("serves", [True, False])
def test_a_third_spec_does_not_wait_for_a_first_cluster_without_a_head(serves: bool) -> None:
    story, first, second = begun()
    until(story, second, 50)
    story.pods = {name: pod for name, pod in story.pods.items() if not name.startswith(first)}
    del story.says[first]
    if not serves:
        story.pods = {}
        del story.says[second]
    story.edit(rayClusterConfig=spec(env="3"))
    live(story, 20)
    assert story.weights == ({second: 100} if serves else {first: 100})
    third_comes(story, [first, second])


def test_a_third_cluster_that_another_operator_made_has_no_replicas_until_the_second_has_gone_back() -> None:
    story, first, second = begun()
    until(story, second, 50)
    story.edit(rayClusterConfig=spec(env="3"))
    service = story.observed().service
    assert isinstance(service, RayService)
    made = service_cluster(service, "shop-third", Configuration(), "", "")
    story.clusters["shop-third"] = {**made, "metadata": {**made["metadata"], "uid": "third", "resourceVersion": "1", "generation": 1}}
    story.serve("shop-third")
    assert capacities(story)[-1] == ("shop-third", 0) and set(story.weights) == {first, second}
    live(story, 300)
    assert story.weights == {"shop-third": 100} and story.names == ["shop-third"]


def test_a_third_spec_before_there_was_any_traffic_takes_the_place_at_once() -> None:
    story, first, second = begun()
    story.edit(rayClusterConfig=spec(env="3"))
    live(story, 12)
    assert second not in story.names and len(story.names) == 2 and story.weights == {first: 100}


def test_suspended_in_the_middle_everything_goes_and_comes_back_as_new() -> None:
    story, _first, second = begun()
    until(story, second, 50)
    story.edit(suspend=True)
    story.settle()
    assert not (story.clusters or story.services or story.gateways or story.routes)
    assert story.condition("Suspended")[0] == "True"
    story.edit(suspend=False)
    story.settle()
    (name,) = story.names
    story.serve(name)
    live(story, 3)
    assert story.weights == {name: 100} and story.condition("Ready")[0] == "True"


def test_no_traffic_goes_to_a_cluster_whose_endpoints_are_not_there() -> None:
    story, first, second = begun()
    story.proxies(second, head=False, workers=False)
    story.pods[f"{second}-head-0"]["status"]["conditions"][0]["status"] = "False"
    assert live(story, 60) == [] and story.weights.get(second, 0) == 0
    story.pods[f"{second}-head-0"]["status"]["conditions"][0]["status"] = "True"
    story.proxies(second)
    until(story, second, 50)
    for pod in story.pods.values():
        if pod["metadata"]["labels"][labels.CLUSTER] == second:
            pod["status"]["conditions"][0]["status"] = "False"
    story.settle()
    assert story.weights == {first: 100, second: 0}, "nothing is sent to where nobody answers"


def test_an_active_cluster_that_is_gone_leaves_everything_to_the_one_that_serves() -> None:
    story, first, second = begun()
    until(story, second, 25)
    story.remove(RAYCLUSTERS, first)
    story.settle()
    assert story.weights == {second: 100}
    live(story, 20)
    assert story.condition("Ready")[0] == "True" and capacities(story)[-1] == (second, 100)


def test_a_second_cluster_that_is_gone_is_made_anew_and_the_first_has_everything_meanwhile() -> None:
    story, first, second = begun()
    until(story, second, 75)
    story.remove(RAYCLUSTERS, second)
    live(story, 3)
    assert story.weights == {first: 100} and len(story.names) == 2 and capacities(story)[-1] == (first, 100)


def test_without_the_gateway_api_the_first_cluster_serves_and_an_upgrade_waits() -> None:
    story = Story(rayClusterConfig=spec(), upgradeStrategy=incremental())
    story.unseen = frozenset({GATEWAYS, HTTPROUTES})
    story.settle()
    (first,) = story.names
    story.serve(first)
    assert story.condition("GatewayReady") == ("False", "GatewayAPIMissing")
    assert story.condition("Ready")[0] == "True" and not story.gateways and not story.routes
    story.edit(rayClusterConfig=spec(env="2"))
    story.settle()
    (second,) = [name for name in story.names if name != first]
    story.serve(second)
    live(story, 100)
    assert story.names == sorted([first, second]) and capacities(story)[-1] == (second, 0)
    story.unseen = frozenset()
    live(story, 200)
    assert story.weights == {second: 100} and story.names == [second]


def test_a_gateway_that_is_not_programmed_is_told_in_its_controllers_words() -> None:
    story, first, _second = begun()
    refused = [{"type": "Accepted", "status": "False", "message": "no such class"}]
    story.gateways["shop-gateway"]["status"] = {"conditions": refused}
    story.settle()
    assert story.condition("GatewayReady") == ("False", "WaitingForGateway") and "no such class" in story.message("GatewayReady")
    assert story.weights[first] == 100 and story.look().done


@pytest.mark.parametrize("scope", ["gateway/shop-gateway", "httproute/shop-httproute"])
def test_a_name_that_is_somebody_elses_is_told(scope: str) -> None:
    story = stepwise()
    story.backoffs[scope] = Backoff(scope, 1, NOW + 600.0, "it belongs to somebody else", "NameConflict")
    story, _ = begin(story)
    assert story.condition("GatewayReady") == ("False", "NameConflict") and story.message("GatewayReady") == "it belongs to somebody else"
    assert story.condition("Ready")[0] == "True"


def test_a_step_is_not_followed_by_the_next_before_the_gateway_heeds_it() -> None:
    story, _first, second = begun()
    until(story, second, 25)
    story.routes["shop-httproute"]["status"]["parents"][0]["conditions"][0]["observedGeneration"] = 1
    for _ in range(50):
        story.wait(1.0)
        story.settle()
    assert story.weights[second] == 25
    until(story, second, 50)


def test_while_it_is_paused_no_traffic_moves() -> None:
    story, _first, second = begun()
    until(story, second, 25)
    story.annotate(paused="true")
    assert live(story, 100) == []
    story.annotate(paused=None)
    until(story, second, 100)


def test_a_route_that_another_operator_made_is_taken_as_it_is() -> None:
    story, _first = begin(stepwise())
    del story.routes["shop-httproute"]["metadata"]["annotations"]
    serial = story.serial
    assert live(story, 50) == [] and story.serial == serial
    assert story.status["activeServiceStatus"]["lastTrafficMigratedTime"]


def test_from_step_by_step_to_at_once_the_route_goes_when_the_service_leads_somewhere() -> None:
    story, first, second = begun()
    until(story, second, 50)
    story.edit(upgradeStrategy={"type": "NewCluster"})
    story.settle()
    assert story.led_to in (first, second) and story.routes, "the cluster that serves has half of its replicas"
    live(story, 100)
    assert not story.routes and not story.gateways and story.names == [second] and story.led_to == second
    assert sorted(story.services) == ["shop-head-svc", "shop-serve-svc"]
    assert "trafficRoutedPercent" not in story.status["activeServiceStatus"] and story.condition("Ready")[0] == "True"
    assert "GatewayReady" not in {each["type"] for each in story.status["conditions"]}


def test_from_at_once_to_step_by_step_the_service_of_before_goes_on() -> None:
    story, first = serving(rayClusterConfig=spec())
    told = len(story.puts)
    story.edit(upgradeStrategy=incremental())
    live(story, 5)
    assert story.weights == {first: 100} and story.led_to == first and len(story.puts) == told
    story.edit(rayClusterConfig=spec(env="2"))
    story.settle()
    (second,) = [name for name in story.names if name != first]
    story.serve(second)
    until(story, second, 50)
    assert story.led_to == first
    until(story, second, 75)
    live(story, 1)
    assert story.led_to == second
    live(story, 100)
    assert story.names == [second] and story.led_to == second


def test_a_user_s_target_capacity_is_not_undone_without_steps() -> None:
    story, _ = serving(serveConfigV2=CONFIG + "target_capacity: 50\n")
    live(story, 30)
    assert [body.get("target_capacity") for _, body in story.puts] == [50]


@pytest.mark.parametrize(
    ("strategy", "config", "told"),
    [
        (incremental(), Configuration(feature_gates={"RayServiceIncrementalUpgrade": False}), "RayServiceIncrementalUpgrade"),
        (incremental(surge=10, step=50), Configuration(), "stepSizePercent"),
        (incremental(interval=0), Configuration(), "intervalSeconds"),
    ],
)
def test_what_cannot_be_followed_is_refused(strategy: dict[str, Any], config: Configuration, told: str) -> None:
    story = Story(config, rayClusterConfig=spec(), upgradeStrategy=strategy)
    story.settle()
    assert story.condition("Ready") == ("False", "ValidationFailed") and told in story.message() and not story.clusters
