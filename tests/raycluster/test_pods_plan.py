"""Which Pods are made and which go."""

from __future__ import annotations

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Delete, Fence
from rayfleet.planning.backoff import Backoff
from rayfleet.raycluster.plan import plan
from rayfleet.raycluster.pods import is_progress
from tests.raycluster.vocabulary import (
    NOW,
    asks,
    cluster,
    created,
    deleted,
    fences,
    group,
    head,
    observed,
    service,
    unmarked_worker,
    worker,
    worker_name,
)


def test_a_new_cluster_gets_its_service_its_head_and_all_workers_at_once() -> None:
    made = plan(observed(cluster(group(replicas=2)), services=()))
    assert created(made) == ["demo-head-svc", head().name, worker_name(0), worker_name(1)]
    assert fences(made) == [], "a first creation costs no write on the owner"


def test_a_complete_cluster_needs_nothing() -> None:
    assert plan(observed(cluster(group(replicas=2)), head(), worker(0), worker(1))).actions == ()


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"replicas": 20, "maxReplicas": 5}, 5),
        ({"replicas": 1, "minReplicas": 2}, 2),
        ({"replicas": 3}, 3),
        ({"replicas": 3, "suspend": True}, 0),
    ],
)
def test_replicas_are_taken_within_their_bounds(fields: dict[str, object], wanted: int) -> None:
    assert len(created(plan(observed(cluster(group(**fields)), head())))) == wanted


def test_a_scaled_up_group_fills_the_lowest_free_slots() -> None:
    made = plan(observed(cluster(group(replicas=4)), head(), worker(0), worker(2)))
    assert created(made) == [worker_name(1), worker_name(3)]


def test_a_scaled_down_group_loses_what_is_not_ready_first_then_the_highest_slot() -> None:
    made = plan(observed(cluster(group(replicas=1)), head(), worker(0, ready=False), worker(1), worker(2)))
    assert deleted(made) == {
        worker_name(0): "3 replicas are there, 1 are wanted",
        worker_name(2): "3 replicas are there, 1 are wanted",
    }
    assert isinstance(made.actions[0], Fence), "the number of lives is raised before a Pod goes"


def test_a_surplus_goes_by_schedule_readiness_cost_and_age() -> None:
    def some(replica: int, **more: object) -> object:
        return worker(replica, **{"nodeName": "n", "created": "2026-01-01T00:00:00Z", **more})

    workers = [
        some(0, cost="5"),
        some(1),
        some(2, created="2026-01-02T00:00:00Z"),
        some(3, ready=False),
        some(4, nodeName="", ready=False, phase="Pending"),
    ]
    order = []
    while workers:
        made = plan(observed(cluster(group(replicas=len(workers) - 1)), head(), *workers))
        (gone,) = deleted(made)
        order.append(gone)
        workers = [pod for pod in workers if pod.name != gone]
    assert order == [worker_name(index) for index in (4, 3, 2, 1, 0)]


def test_every_delete_names_the_uid_that_was_seen() -> None:
    made = plan(observed(cluster(group(replicas=0)), head(), worker(0)))
    assert [(action.name, action.uid) for action in made.actions if isinstance(action, Delete)] == [
        (worker_name(0), f"uid-{worker_name(0)}")
    ]


def test_workers_named_by_the_autoscaler_go_and_no_others() -> None:
    named = group(replicas=9, scaleStrategy={"workersToDelete": [worker_name(3)]})
    workers = [worker(index) for index in range(10)]
    made = plan(observed(cluster(named), head(), *workers))
    assert deleted(made) == {worker_name(3): "workersToDelete lists it"}
    assert created(made) == []


def test_a_name_in_workers_to_delete_that_is_nobody_of_ours_is_ignored() -> None:
    named = group(replicas=1, scaleStrategy={"workersToDelete": ["victim", worker_name(7)]})
    assert plan(observed(cluster(named), head(), worker(0))).actions == ()


def test_a_new_pod_never_gets_a_name_that_is_listed_for_deletion() -> None:
    named = group(replicas=1, scaleStrategy={"workersToDelete": [worker_name(0)]})
    made = plan(observed(cluster(named), head()))
    assert created(made) == [worker_name(0, lives=1)]
    assert fences(made) == ["small:0=1"]
    assert isinstance(made.actions[0], Fence)
    assert [place.name for place in made.actions[0].absent] == [worker_name(0)], "another operator may have made it"


def test_an_autoscaled_group_never_loses_an_unnamed_worker() -> None:
    scaled = cluster(group(replicas=1), enableInTreeAutoscaling=True)
    assert deleted(plan(observed(scaled, head(), worker(0), worker(1)))) == {}


def test_the_surplus_of_an_autoscaled_group_goes_in_order_where_the_operator_is_told_not_to_care() -> None:
    config = Configuration(enable_random_pod_delete=True)
    scaled = cluster(group(replicas=1), enableInTreeAutoscaling=True)
    assert list(deleted(plan(observed(scaled, head(), worker(0), worker(1), config=config)))) == [worker_name(1)]


def test_a_failed_worker_goes_and_is_replaced_only_when_it_is_gone() -> None:
    made = plan(observed(cluster(group(replicas=2)), head(), worker(0, phase="Failed", ready=False), worker(1)))
    assert deleted(made) == {worker_name(0): "it has failed"}
    assert created(made) == []
    assert [action.setback for action in made.actions if isinstance(action, Delete)] == [True]


def test_a_worker_that_failed_in_an_init_container_goes_with_the_exit_code_in_the_reason() -> None:
    ended = {"initContainerStatuses": [{"name": "setup", "state": {"terminated": {"exitCode": 42}}}]}
    made = plan(observed(cluster(group(replicas=1)), head(), worker(0, phase="Failed", ready=False, status=ended)))
    assert deleted(made) == {worker_name(0): "it has failed (init container setup: exit code 42)"}


def test_the_replacement_of_a_failed_worker_has_a_new_name() -> None:
    lived = cluster(group(replicas=2), annotations={"rayfleet.dev/lives": "small:0=1"})
    made = plan(observed(lived, head(), worker(1), gone=(worker_name(0),)))
    assert created(made) == [worker_name(0, lives=1)]
    assert fences(made) == []


@pytest.mark.parametrize("living", [(), (head(),), (worker(0),)], ids=["nothing", "head", "worker"])
def test_our_copy_is_tested_before_any_pod_is_made(living: tuple[PodView, ...]) -> None:
    made = plan(observed(cluster(group(replicas=1)), *living))
    assert asks(made) and created(made) and fences(made) == []


def test_who_was_alone_with_a_cluster_all_its_life_need_not_ask() -> None:
    made = plan(observed(cluster(group(replicas=1)), worker(0), alone=True))
    assert created(made) == [head().name] and not asks(made) and fences(made) == []


def test_nothing_is_asked_where_nothing_is_made_or_the_name_is_always_the_same() -> None:
    assert plan(observed(cluster(group(replicas=1)), head(), worker(0))).actions == ()
    config = Configuration(enable_deterministic_head_pod_name=True)
    assert not asks(plan(observed(cluster(group(replicas=0)), config=config)))


def test_a_slot_whose_pod_somebody_deleted_is_filled_under_a_new_name_after_a_fence() -> None:
    made = plan(observed(cluster(group(replicas=2)), head(), worker(1), gone=(worker_name(0),)))
    assert created(made) == [worker_name(0, lives=1)]
    assert fences(made) == ["small:0=1"]
    assert isinstance(made.actions[0], Fence)


def test_a_pod_that_is_taken_for_gone_is_asked_for_before_its_slot_gets_a_new_name() -> None:
    (fence, *_) = plan(observed(cluster(group(replicas=1)), head(), gone=(worker_name(0),))).actions
    assert isinstance(fence, Fence)
    assert [place.name for place in fence.absent] == [worker_name(0)]
    (fence, *_) = plan(observed(cluster(group(replicas=1)), head(), worker(0, terminating=True))).actions
    assert isinstance(fence, Fence)
    assert [(place.name, place.uid) for place in fence.absent] == [(worker_name(0), f"uid-{worker_name(0)}")], "another may have its name"
    (fence, *_) = plan(observed(cluster(group(replicas=0)), head(), worker(0))).actions
    assert isinstance(fence, Fence)
    assert fence.absent == (), "what is deleted here is known to be there"


def test_a_terminating_worker_is_replaced_at_once_and_left_alone() -> None:
    made = plan(observed(cluster(group(replicas=2)), head(), worker(0, terminating=True), worker(1)))
    assert created(made) == [worker_name(0, lives=1)]
    assert deleted(made) == {}


def test_a_terminating_head_is_waited_for() -> None:
    assert plan(observed(cluster(), head(terminating=True))).actions == ()


def test_of_two_heads_the_ready_one_stays_then_the_older() -> None:
    ready, waiting = head("demo-head-b"), head("demo-head-a", ready=False)
    assert deleted(plan(observed(cluster(), ready, waiting))) == {"demo-head-a": "the cluster has another head Pod"}
    old, young = head("demo-head-z", created="2026-01-01T00:00:00Z"), head("demo-head-y", created="2026-01-02T00:00:00Z")
    assert list(deleted(plan(observed(cluster(), old, young)))) == ["demo-head-y"]


def test_a_failed_head_goes() -> None:
    made = plan(observed(cluster(), head(phase="Failed", ready=False, status={"reason": "Evicted"})))
    assert deleted(made) == {head().name: "it has failed (Evicted)"}
    assert created(made) == []


def test_a_head_whose_container_ended_for_good_goes() -> None:
    ended = {"containerStatuses": [{"name": "ray", "state": {"terminated": {"exitCode": 3}}}]}
    made = plan(observed(cluster(), head(restartPolicy="Never", status=ended, ready=False)))
    assert list(deleted(made).values()) == ["its Ray container has ended with exit code 3 and may not restart"]


def test_a_head_whose_container_may_restart_is_left_to_the_kubelet() -> None:
    ended = {"containerStatuses": [{"name": "ray", "state": {"terminated": {"exitCode": 3}}}]}
    assert plan(observed(cluster(), head(restartPolicy="Always", status=ended, ready=False))).actions == ()


def test_a_group_taken_out_of_the_spec_loses_its_workers() -> None:
    made = plan(observed(cluster(group("other", 0)), head(), worker(0)))
    assert deleted(made) == {worker_name(0): "group small is no longer in the spec"}


def test_workers_taken_over_without_a_slot_get_the_lowest_free_ones_by_age() -> None:
    old = unmarked_worker("demo-small-worker-aaaaa", created="2026-01-01T00:00:00Z")
    young = unmarked_worker("demo-small-worker-bbbbb", created="2026-01-02T00:00:00Z")
    made = plan(observed(cluster(group(replicas=4)), head(), young, old, worker(1)))
    assert created(made) == [worker_name(3)], "0 and 2 are theirs, 1 is held by its label"


def test_nothing_is_made_in_a_scope_that_is_held_back() -> None:
    waiting = Backoff("worker/small", 2, NOW + 5, "exceeded quota", "FailedToCreateWorkerPod")
    made = plan(observed(cluster(group(replicas=2)), head(), backoffs=(waiting,)))
    assert created(made) == []
    assert made.requeue_after == 5


def test_one_group_held_back_does_not_hold_back_another() -> None:
    waiting = Backoff("worker/small", 2, NOW + 5, "exceeded quota", "FailedToCreateWorkerPod")
    made = plan(observed(cluster(group(replicas=1), group("other", 1)), head(), backoffs=(waiting,)))
    assert created(made) == [worker_name(0, group="other")]


def test_a_suspended_cluster_loses_all_pods_and_gets_none() -> None:
    made = plan(observed(cluster(group(replicas=2), suspend=True), head(), worker(0)))
    assert set(deleted(made)) == {head().name, worker_name(0)}
    assert created(made) == []


def test_a_multi_host_replica_goes_and_comes_as_a_whole() -> None:
    hosts = group(replicas=2, numOfHosts=2)
    lost_one = [worker(0, 0, hosts=2), worker(0, 1, hosts=2), worker(1, 0, hosts=2)]
    made = plan(observed(cluster(hosts), head(), *lost_one))
    assert deleted(made) == {worker_name(1, 0, hosts=2): "its replica has 1 of 2 hosts"}
    after = plan(observed(cluster(hosts), head(), *lost_one[:2], gone=(worker_name(1, 0, hosts=2),)))
    assert created(after) == ["demo-headless", worker_name(1, 0, hosts=2, lives=1), worker_name(1, 1, hosts=2, lives=1)]


def test_a_half_made_multi_host_replica_is_completed() -> None:
    hosts = group(replicas=1, numOfHosts=2)
    made = plan(observed(cluster(hosts), head(), worker(0, 0, hosts=2, ready=False, phase="Pending")))
    assert deleted(made) == {}
    assert created(made) == ["demo-headless", worker_name(0, 1, hosts=2)]


def test_a_raise_for_one_slot_renames_no_other() -> None:
    made = plan(observed(cluster(group(replicas=3)), head(), gone=(worker_name(1),)))
    assert created(made) == [worker_name(0), worker_name(1, lives=1), worker_name(2)]
    assert fences(made) == ["small:1=1"]


def test_a_pod_under_a_name_of_our_form_that_is_no_slots_goes_after_a_test_of_our_view() -> None:
    made = plan(observed(cluster(group(replicas=0)), head(), worker(0, name="demo-small-worker-zzzzz")))
    assert list(deleted(made)) == ["demo-small-worker-zzzzz"]
    assert fences(made) == [] and asks(made)


def test_a_pod_under_a_name_of_another_form_goes_without_a_fence() -> None:
    made = plan(observed(cluster(group(replicas=0)), head(), worker(0, name="somebody-elses")))
    assert list(deleted(made)) == ["somebody-elses"]
    assert fences(made) == []


def test_a_pod_whose_labels_were_spoiled_goes_with_a_fence_all_the_same() -> None:
    made = plan(observed(cluster(group(replicas=0)), head(), unmarked_worker(worker_name(2))))
    assert list(deleted(made)) == [worker_name(2)]
    assert fences(made) == ["small:2=1"]


def test_a_refused_delete_is_not_repeated_before_its_time() -> None:
    refused = Backoff("worker/small", 1, NOW + 5, "denied by a webhook", "FailedToDeleteWorkerPod")
    made = plan(observed(cluster(group(replicas=0)), head(), worker(0), backoffs=(refused,)))
    assert made.actions == ()
    assert made.requeue_after == 5


def test_a_refused_create_does_not_hold_back_deletes() -> None:
    refused = Backoff("worker/small", 1, NOW + 300, "exceeded quota", "FailedToCreateWorkerPod")
    made = plan(observed(cluster(group(replicas=0)), head(), worker(0), backoffs=(refused,)))
    assert list(deleted(made)) == [worker_name(0)]


def test_without_the_fence_nothing_is_done_that_needs_it() -> None:
    refused = Backoff("lives", 1, NOW + 5, "denied")
    assert plan(observed(cluster(group(replicas=0)), head(), worker(0), backoffs=(refused,))).actions == ()


def test_a_cluster_on_its_way_out_is_left_to_the_garbage_collector() -> None:
    going = cluster(group(replicas=2))

    meta = msgspec.structs.replace(going.metadata, deletion_timestamp="2027-01-15T08:00:00Z")
    assert plan(observed(msgspec.structs.replace(going, metadata=meta), services=(service(going),))).done


def test_a_cluster_of_another_manager_is_not_touched() -> None:
    assert plan(observed(cluster(group(), managedBy="kueue.x-k8s.io/multikueue"), services=())).done


def test_a_replica_whose_hosts_are_of_two_lives_goes_as_a_whole() -> None:
    lived = cluster(group(replicas=1, numOfHosts=2), annotations={"rayfleet.dev/lives": "small:0=1"})
    made = plan(observed(lived, head(), worker(0, 0, hosts=2), worker(0, 1, hosts=2, lives=1)))
    assert set(deleted(made).values()) == {"the hosts of its replica were not made together"} and len(deleted(made)) == 2
    assert created(made) == ["demo-headless"]


def test_a_fixed_head_name_is_used_again_once_the_old_head_is_gone() -> None:
    config = Configuration(enable_deterministic_head_pod_name=True)
    assert created(plan(observed(cluster(), config=config, gone=("demo-head",)))) == ["demo-head"]
    assert created(plan(observed(cluster(), head("demo-head", terminating=True), config=config))) == []


def test_only_what_lives_on_may_be_looked_at_later() -> None:
    pod = head()
    assert is_progress(head(ready=False), pod) and is_progress(pod, head(ready=False))
    assert not is_progress(None, pod) and not is_progress(pod, None)
    assert not is_progress(pod, head(phase="Failed"))
    assert not is_progress(pod, head(terminating=True))
    assert not is_progress(pod, worker(0))
