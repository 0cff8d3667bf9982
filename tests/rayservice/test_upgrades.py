"""From one cluster to the next."""

from __future__ import annotations

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import CONFIG, cluster_spec, group

CHANGED = CONFIG.replace("shop.sums:app", "shop.sums:other")


def other(story: Story, first: str) -> str:
    (name,) = [name for name in story.names if name != first]
    return name


def test_traffic_moves_when_every_application_runs_and_the_old_cluster_goes_after_the_delay() -> None:
    """Report B6, 92 (k#1559)."""
    story, first = serving()
    writes = story.statuses
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    assert story.condition("UpgradeInProgress") == ("True", "BothActivePendingClustersExist")
    assert story.condition("Ready") == ("True", "NonZeroServeEndpoints")
    story.start(second)
    story.proxies(second)
    for statuses in ({}, {"fruit": "DEPLOYING", "sums": "DEPLOYING"}, {"fruit": "RUNNING", "sums": "DEPLOYING"}):
        story.say(second, statuses)
        story.settle()
        assert story.led_to == first
    story.say(second, {"fruit": "RUNNING", "sums": "RUNNING"})
    story.proxies(second, head=False, workers=False)
    story.pods[f"{second}-head-0"]["metadata"]["labels"][labels.SERVE] = "false"
    story.settle()
    assert story.led_to == first, "its proxies do not answer"
    story.proxies(second)
    story.settle()
    assert story.led_to == second and story.status["activeServiceStatus"]["rayClusterName"] == second
    assert story.services["shop-head-svc"]["spec"]["selector"][labels.CLUSTER] == second
    assert story.condition("UpgradeInProgress") == ("False", "NoPendingCluster") and story.names == sorted([first, second])
    story.wait(55.0)
    story.settle()
    assert first in story.names
    story.wait(10.0)
    story.settle()
    assert story.names == [second] and len(story.made) == 4
    assert story.statuses - writes <= 8


def test_a_new_config_with_a_new_cluster_goes_to_the_new_one_only() -> None:
    story, first = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"), serveConfigV2=CHANGED)
    story.settle()
    second = other(story, first)
    story.results.clear()
    story.settle()
    story.serve(second)
    assert [name for name, _ in story.puts] == [first, second]
    assert story.puts[1][1]["applications"][1]["import_path"] == "shop.sums:other"


def test_a_new_config_alone_is_sent_in_place_and_once() -> None:
    story, first = serving()
    story.edit(serveConfigV2=CHANGED)
    story.settle()
    assert [name for name, _ in story.puts] == [first, first]
    story.say(first, {"fruit": "RUNNING", "sums": "DEPLOYING"})
    story.settle()
    assert story.condition("Ready") == ("False", "ApplicationsNotRunning")
    story.say(first, {"fruit": "RUNNING", "sums": "RUNNING"})
    story.settle()
    assert len(story.puts) == 2 and story.names == [first] and story.condition("Ready")[0] == "True"
    story.results.clear()
    assert story.settle(1).done and len(story.puts) == 2, "the hash stands on the cluster"


def test_a_field_that_is_taken_out_of_the_config_is_sent_though_ray_reports_no_difference() -> None:
    with_replicas = CONFIG + "  deployments:\n  - name: Adder\n    num_replicas: 3\n"
    story, _ = serving(serveConfigV2=with_replicas)
    story.edit(serveConfigV2=CONFIG)
    story.settle()
    assert len(story.puts) == 2 and "deployments" not in story.puts[1][1]["applications"][1]


def test_a_head_that_came_back_empty_gets_its_config_again() -> None:
    """Report B6, 100 (k#375, k#1420)."""
    story, first = serving()
    story.wait(20.0)
    story.says[first] = story.says[first]
    story.answer(first, type(story.says[first].answer)())
    story.settle()
    assert [name for name, _ in story.puts] == [first, first]


def test_a_head_that_forgets_its_config_at_once_is_told_every_ten_seconds_at_most() -> None:
    story, first = serving()
    for _ in range(60):
        story.answer(first, type(story.says[first].answer)())
        story.look()
    assert len(story.puts) <= 1 + 7


def test_back_to_the_first_spec_before_the_second_cluster_serves_makes_no_third() -> None:
    """Report B6, 97 (k#4989)."""
    story, first = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    story.edit(rayClusterConfig=cluster_spec())
    story.settle()
    assert story.condition("UpgradeInProgress") == ("False", "NoPendingCluster") and story.led_to == first
    story.wait(61.0)
    story.settle()
    assert story.names == [first]
    assert [name for name in story.made if "svc" not in name] == [first, second]


def test_back_to_the_first_spec_while_its_cluster_still_lives_needs_no_new_one() -> None:
    story, first = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    story.serve(second)
    assert story.led_to == second
    story.edit(rayClusterConfig=cluster_spec())
    story.settle()
    assert story.led_to == first and labels.UNUSED_SINCE not in story.clusters[first]["metadata"]["annotations"]
    story.wait(61.0)
    story.settle()
    assert story.names == [first] and len([name for name in story.made if "svc" not in name]) == 2


def test_a_third_spec_takes_the_place_of_a_cluster_that_never_served() -> None:
    story, first = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    story.edit(rayClusterConfig=cluster_spec(env="3"))
    story.settle()
    assert second not in story.names and len(story.names) == 2 and story.led_to == first


def test_a_third_spec_waits_while_a_cluster_that_served_still_drains() -> None:
    story, first = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    story.serve(second)
    story.edit(rayClusterConfig=cluster_spec(env="3"))
    story.settle()
    assert story.names == sorted([first, second])
    assert story.condition("UpgradeInProgress") == ("True", "PendingClusterMissing")
    story.wait(61.0)
    story.settle()
    assert len(story.names) == 2 and first not in story.names and second in story.names


def test_the_delay_is_the_user_s_and_stands_on_the_cluster() -> None:
    story, first = serving(rayClusterDeletionDelaySeconds=0)
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    story.serve(second)
    assert story.names == [second]


def test_a_stuck_upgrade_makes_no_further_cluster() -> None:
    story, first = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = other(story, first)
    story.start(second)
    story.settle()
    story.say(second, {"fruit": "DEPLOYING", "sums": "DEPLOYING"})
    for _ in range(20):
        story.wait(300.0)
        story.settle()
    assert story.names == sorted([first, second]) and story.led_to == first


def test_counts_and_appended_groups_change_in_place() -> None:
    """Report B6, 104 (k#1643)."""
    story, first = serving()
    spec = cluster_spec(group(replicas=3, maxReplicas=20))
    story.edit(rayClusterConfig=spec)
    story.settle()
    (small,) = story.clusters[first]["spec"]["workerGroupSpecs"]
    assert (small["replicas"], small["maxReplicas"]) == (3, 20)
    story.edit(rayClusterConfig=cluster_spec(group(replicas=3, maxReplicas=20), group("extra")))
    story.settle()
    assert [each["groupName"] for each in story.clusters[first]["spec"]["workerGroupSpecs"]] == ["small", "extra"]
    assert story.clusters[first]["metadata"]["annotations"][labels.WORKER_GROUPS] == "2"
    assert story.names == [first] and story.led_to == first
    story.edit(rayClusterConfig=cluster_spec(group(replicas=3, maxReplicas=20)))
    story.settle()
    assert len(story.names) == 2, "a group that is taken out asks for a new cluster"


def test_what_the_autoscaler_wrote_is_not_undone() -> None:
    story, first = serving(rayClusterConfig=cluster_spec(group(replicas=1), enableInTreeAutoscaling=True))
    written = {"replicas": 7, "scaleStrategy": {"workersToDelete": ["w"]}}
    story.clusters[first]["spec"]["workerGroupSpecs"][0] |= written
    assert story.settle(1).done
    story.edit(rayClusterConfig=cluster_spec(group(replicas=1, maxReplicas=20), group("extra"), enableInTreeAutoscaling=True))
    story.settle()
    small, extra = story.clusters[first]["spec"]["workerGroupSpecs"]
    assert {name: small[name] for name in written} == written and small["maxReplicas"] == 20
    assert extra["replicas"] == 1


@pytest.mark.parametrize(
    ("given", "config"),
    [({"upgradeStrategy": {"type": "None"}}, Configuration()), ({}, Configuration(enable_zero_downtime=False))],
)
def test_without_zero_downtime_the_first_cluster_stays_as_it_is(given: dict[str, object], config: Configuration) -> None:
    story = Story(config, **given)
    story.settle()
    (first,) = story.names
    story.serve(first)
    before = msgspec.json.encode(story.clusters)
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    assert msgspec.json.encode(story.clusters) == before
    story.edit(serveConfigV2=CHANGED)
    story.settle()
    assert [name for name, _ in story.puts] == [first, first]


def test_what_another_operator_made_is_left_as_it_is() -> None:
    """Report B6, 98 (k#2315): another version as well."""
    story, first = serving()
    cluster = story.clusters[first]
    cluster["metadata"]["annotations"] = {
        labels.CLUSTER_HASH: "Q8LBT4G13JKQCTAPHQSNEKQVLU333UII",
        labels.WORKER_GROUPS: "1",
        labels.KUBERAY_VERSION: "v1.7.0",
    }
    cluster["spec"]["workerGroupSpecs"][0] |= {"numOfHosts": 1, "priority": 0, "scaleStrategy": {}, "rayStartParams": {}}
    cluster["spec"]["workerGroupSpecs"][0]["template"]["metadata"] = {}
    story.results.clear()
    story.settle()
    assert story.names == [first] and len(story.puts) == 1 and story.led_to == first
    assert cluster["metadata"]["annotations"][labels.CLUSTER_HASH] == "Q8LBT4G13JKQCTAPHQSNEKQVLU333UII"


def test_while_it_is_paused_nothing_is_made_and_no_traffic_moves() -> None:
    story, first = serving()
    story.annotate(paused="true")
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    assert story.names == [first]
    story.annotate(paused=None)
    story.settle()
    second = other(story, first)
    story.annotate(paused="true")
    story.serve(second)
    assert story.led_to == first
    story.annotate(paused=None)
    story.settle()
    assert story.led_to == second


def test_workers_of_a_service_whose_proxies_are_on_the_head_have_none() -> None:
    story = Story(serveConfigV2="proxy_location: HeadOnly\n" + CONFIG)
    story.settle()
    (name,) = story.names
    assert story.clusters[name]["metadata"]["annotations"][labels.PROXY_LOCATION] == "HeadOnly"
