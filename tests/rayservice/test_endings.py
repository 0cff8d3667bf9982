"""Suspension, deletion, and a first cluster that never serves."""

from __future__ import annotations

from rayfleet.api import labels
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import cluster_spec


def test_suspended_all_is_gone_and_resumed_it_comes_back() -> None:
    story, _ = serving()
    story.edit(suspend=True)
    story.look()
    assert story.condition("Suspending") == ("True", "SuspendInProgress") and story.condition("Ready") == ("False", "SuspendInProgress")
    story.settle()
    assert story.clusters == {} and story.services == {}
    assert story.condition("Suspended") == ("True", "SuspendComplete") and story.condition("Suspending")[0] == "False"
    assert "activeServiceStatus" not in story.status and story.status.get("numServeEndpoints") is None
    story.wait(1000.0)
    assert story.settle(1).done
    story.edit(suspend=False)
    story.settle()
    assert story.condition("Suspended") == ("False", "RayServiceResumed") and story.condition("Ready") == ("False", "Initializing")
    (again,) = story.names
    story.serve(again)
    assert story.condition("Ready")[0] == "True"


def test_suspended_in_the_middle_of_an_upgrade_both_clusters_go() -> None:
    story, _ = serving()
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    story.edit(suspend=True)
    story.settle()
    assert story.clusters == {} and story.condition("UpgradeInProgress") == ("False", "SuspendComplete")
    story.edit(suspend=False)
    story.settle()
    assert len(story.names) == 1


def test_deleted_its_clusters_go_before_it_does() -> None:
    story, first = serving()
    assert story.service is not None
    story.service["metadata"]["deletionTimestamp"] = rfc3339(story.now)
    going = story.clusters[first]
    story.look()
    assert story.clusters == {}
    story.clusters[first] = {**going, "metadata": {**going["metadata"], "deletionTimestamp": rfc3339(story.now)}}
    made = story.look()
    assert made.done and story.service is not None, "a cluster that still goes is waited for"
    story.clusters.clear()
    story.look()
    assert story.service is None


def test_a_first_cluster_that_does_not_serve_in_time_goes_and_the_next_spec_is_tried() -> None:
    story = Story(annotations={labels.INITIALIZING_TIMEOUT: "10m"})
    made = story.settle()
    assert made.requeue_after == 600.0
    story.wait(601.0)
    story.settle()
    assert story.clusters == {} and story.condition("Ready") == ("False", "InitializingTimeout")
    assert story.events == ["RayServiceInitializingTimeout"]
    story.wait(5000.0)
    assert story.settle(1).done and story.clusters == {}
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    (name,) = story.names
    assert story.condition("Ready") == ("False", "Initializing")
    story.serve(name)
    story.wait(5000.0)
    story.settle()
    assert story.names == [name] and story.condition("Ready")[0] == "True"


def test_a_cluster_that_somebody_deleted_is_made_again_when_it_is_gone() -> None:
    story, first = serving()
    going = story.clusters[first]
    going["metadata"]["deletionTimestamp"] = rfc3339(story.now)
    story.settle()
    assert story.names == [first]
    del story.clusters[first]
    story.pods.clear()
    story.says.clear()
    story.results.clear()
    story.settle()
    assert story.names == [first] and story.condition("Ready")[0] == "False"
    story.serve(first)
    assert story.condition("Ready")[0] == "True"


def test_a_service_of_another_manager_is_left_alone() -> None:
    story = Story(managedBy="kueue.x-k8s.io/multikueue")
    assert story.look().done
