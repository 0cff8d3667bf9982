"""How a queue reads a RayCluster: `state == ready` means "its Pods are ready" when it is admitted and "it is active" afterwards."""

from __future__ import annotations

import msgspec

from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView
from rayfleet.raycluster.plan import plan
from tests.raycluster.vocabulary import cluster, group, head, observed, with_status, worker


def after(of: RayCluster, *pods: PodView) -> RayCluster:
    """The cluster once what was seen has been told."""
    made = plan(observed(of, *pods))
    return with_status(of, made) if made.status else of


def same_status(of: RayCluster, **spec: object) -> RayCluster:
    """An edited spec on the status as it stands."""
    replicas = spec.pop("replicas", 2)
    edited = cluster(group(replicas=replicas), generation=of.metadata.generation + 1, **spec)
    return msgspec.structs.replace(edited, status=of.status)


def test_state_is_ready_once_all_are_and_leaves_it_only_without_a_head_or_by_suspension() -> None:
    of = cluster(group(replicas=2))
    of = after(of, head(), worker(0))
    assert of.status.state == "", "a worker is missing"
    of = after(of, head(), worker(0), worker(1))
    assert of.status.state == "ready"
    assert after(of, head(), worker(0)).status.state == "ready", "a lost worker shows in the counters"
    scaled = after(same_status(of, replicas=3), head(), worker(0), worker(1))
    assert (scaled.status.state, scaled.status.desired_worker_replicas, scaled.status.ready_worker_replicas) == ("ready", 3, 2)
    assert after(of, head(ready=False), worker(0), worker(1)).status.state == ""
    assert after(of, worker(0), worker(1)).status.state == ""


def test_state_stays_until_the_last_pod_of_a_suspended_cluster_is_gone() -> None:
    of = after(cluster(group(replicas=2)), head(), worker(0), worker(1))
    suspended = same_status(of, suspend=True)
    going = after(suspended, head(terminating=True), worker(0, terminating=True))
    assert going.status.state == "", "no head Pod is ready any more"
    gone = after(going)
    assert gone.status.state == "suspended"


def test_a_resumed_cluster_is_ready_again_only_when_all_pods_are() -> None:
    suspended = after(cluster(group(replicas=1), suspend=True))
    assert suspended.status.state == "suspended"
    resumed = same_status(suspended, replicas=1)
    resumed = after(resumed, head(), worker(0, ready=False))
    assert resumed.status.state == ""
    assert after(resumed, head(), worker(0)).status.state == "ready"
