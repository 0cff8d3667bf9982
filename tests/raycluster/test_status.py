"""What is said of a cluster."""

from __future__ import annotations

from typing import Any

import msgspec

from rayfleet.api.decode import decode_cluster
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.plan import plan
from tests.raycluster.vocabulary import NOW, cluster, group, head, observed, with_status, worker, worker_name


def conditions(made: Plan) -> dict[str, tuple[str, str]]:
    assert made.status is not None
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in made.status.patch["conditions"]}


def test_the_first_status_may_wait_and_names_all_conditions() -> None:
    made = plan(observed(cluster(group(replicas=2)), services=()))
    assert made.status is not None
    assert not made.status.urgent
    assert conditions(made) == {
        "HeadPodReady": ("False", "HeadPodNotFound"),
        "RayClusterProvisioned": ("False", "RayClusterPodsProvisioning"),
        "RayClusterSuspended": ("False", "RayClusterSuspended"),
        "RayClusterSuspending": ("False", "RayClusterSuspending"),
        "Valid": ("True", "SpecAccepted"),
    }


def test_totals_are_what_the_whole_cluster_asks_for() -> None:
    made = plan(observed(cluster(group(replicas=2)), services=()))
    assert made.status is not None
    patch = made.status.patch
    assert (patch["desiredCPU"], patch["desiredMemory"], patch["desiredGPU"], patch["desiredWorkerReplicas"]) == ("3", "6Gi", "0", 2)


def ready_cluster() -> tuple[Any, Any]:
    of = cluster(group(replicas=1))
    seen = observed(of, head(), worker(0))
    return with_status(of, plan(seen)), seen


def test_a_complete_cluster_is_ready_and_then_silent() -> None:
    after, _ = ready_cluster()
    assert after.status.state == "ready"
    assert after.status.head.pod_name == head().name
    assert after.status.endpoints["dashboard"] == "8265"
    assert plan(observed(after, head(), worker(0))).done


def test_while_a_cluster_is_made_a_ready_head_is_no_hurry_and_a_lost_one_of_a_made_cluster_is() -> None:
    begun = cluster(group(replicas=1))
    begun = with_status(begun, plan(observed(begun, head(ready=False), worker(0, ready=False))))
    made = plan(observed(begun, head(), worker(0, ready=False)))
    assert made.status is not None
    assert conditions(made)["HeadPodReady"][0] == "True" and not made.status.urgent
    after, _ = ready_cluster()
    lost = plan(observed(after, head(ready=False), worker(0)))
    assert lost.status is not None
    assert conditions(lost)["HeadPodReady"][0] == "False" and lost.status.urgent


def test_a_counter_alone_is_not_urgent() -> None:
    after, _ = ready_cluster()
    made = plan(observed(after, head(), worker(0, ready=False)))
    assert made.status is not None
    assert not made.status.urgent
    assert made.status.patch["readyWorkerReplicas"] is None


def test_a_lost_head_is_told_at_once() -> None:
    after, _ = ready_cluster()
    made = plan(observed(after, worker(0), gone=(head().name,)))
    assert made.status is not None
    assert made.status.urgent
    assert conditions(made)["HeadPodReady"] == ("False", "HeadPodNotFound")
    assert conditions(made)["RayClusterProvisioned"][0] == "True", "provisioned is once and for all"
    assert made.status.patch["state"] is None


def test_a_new_generation_is_acknowledged_even_if_nothing_else_changes() -> None:
    after, _ = ready_cluster()
    edited = msgspec.structs.replace(after, metadata=msgspec.structs.replace(after.metadata, generation=2))
    made = plan(observed(edited, head(), worker(0)))
    assert made.status is not None
    assert made.status.patch["observedGeneration"] == 2
    settled = with_status(edited, made)
    assert plan(observed(settled, head(), worker(0))).done


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    after, _ = ready_cluster()
    edited = msgspec.structs.replace(after, metadata=msgspec.structs.replace(after.metadata, generation=2))
    later = msgspec.structs.replace(edited)
    made = plan(observed(later, head(), worker(0)))
    assert made.status is not None
    before = {condition.type: condition.last_transition_time for condition in after.status.conditions}
    assert {condition["type"]: condition["lastTransitionTime"] for condition in made.status.patch["conditions"]} == before


def test_the_reason_of_a_head_that_cannot_start_is_lifted() -> None:
    waiting = {
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [{"name": "ray", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}],
    }
    made = plan(observed(cluster(), head(phase="Pending", status=waiting)))
    assert conditions(made)["HeadPodReady"] == ("False", "ImagePullBackOff")


def test_the_reason_of_an_init_container_goes_before_that_of_those_who_wait_for_it() -> None:
    waiting = {
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [{"name": "ray", "state": {"waiting": {"reason": "PodInitializing"}}}],
        "initContainerStatuses": [
            {"name": "first", "ready": True, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
            {"name": "second", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m"}}},
        ],
    }
    made = plan(observed(cluster(), head(phase="Pending", status=waiting)))
    assert conditions(made)["HeadPodReady"] == ("False", "CrashLoopBackOff")


def test_what_the_api_refused_is_told_with_its_own_words() -> None:
    refused = Backoff("worker/small", 1, NOW + 5, 'pods "x" is forbidden: exceeded quota: small', "FailedToCreateWorkerPod")
    made = plan(observed(cluster(group(replicas=1)), head(), backoffs=(refused,)))
    assert made.status is not None
    assert made.status.urgent
    failure = next(condition for condition in made.status.patch["conditions"] if condition["type"] == "ReplicaFailure")
    assert (failure["reason"], failure["message"]) == ("FailedCreateWorkerPod", refused.message)


def test_the_names_of_refused_pods_do_not_change_what_is_told() -> None:
    told = set()
    for number in range(2):
        text = f'pods "{worker_name(number)}" is forbidden: exceeded quota: small'
        refused = Backoff("worker/small", number, NOW + 5, text, "FailedToCreateWorkerPod")
        made = plan(observed(cluster(group(replicas=2)), head(), backoffs=(refused,)))
        told |= {c["message"] for c in made.status.patch["conditions"] if c["type"] == "ReplicaFailure"}
    assert told == {'pods "demo-small-worker-*" is forbidden: exceeded quota: small'}


def test_a_refusal_is_over_when_nothing_is_missing_any_more() -> None:
    refused = Backoff("worker/small", 1, NOW + 300, "exceeded quota", "FailedToCreateWorkerPod")
    made = plan(observed(cluster(group(replicas=1)), head(), worker(0), backoffs=(refused,)))
    assert "ReplicaFailure" not in conditions(made)


def test_a_setback_is_no_replica_failure() -> None:
    made = plan(observed(cluster(group(replicas=1)), head(), backoffs=(Backoff("worker/small", 1, NOW, "it has failed"),)))
    assert "ReplicaFailure" not in conditions(made)


def test_a_suspended_cluster_says_so_and_must_be_provisioned_anew() -> None:
    after, _ = ready_cluster()
    suspended = msgspec.structs.replace(after, spec=msgspec.structs.replace(after.spec, suspend=True))
    going = plan(observed(suspended, head(), worker(0)))
    assert conditions(going)["RayClusterSuspending"][0] == "True"
    gone = plan(observed(with_status(suspended, going)))
    assert conditions(gone)["RayClusterSuspended"][0] == "True"
    assert conditions(gone)["RayClusterProvisioned"][0] == "False"
    assert gone.status is not None
    assert gone.status.patch["state"] == "suspended"


def test_a_wrong_spec_is_refused_once_and_touches_nothing() -> None:
    of = cluster(group(replicas=1, minReplicas=5, maxReplicas=2))
    made = plan(observed(of, head(), worker(0)))
    assert made.actions == ()
    assert made.status is not None
    assert made.status.urgent
    assert conditions(made)["Valid"] == ("False", "InvalidSpec")
    assert [event.reason for event in made.events] == ["InvalidRayClusterSpec"]
    assert "spec.workerGroupSpecs[0]" in made.events[0].note
    again = plan(observed(with_status(of, made), head(), worker(0)))
    assert again.done
    assert again.events == ()


def test_an_object_that_cannot_be_decoded_is_refused_with_the_path() -> None:
    raw = {
        "metadata": {"name": "demo", "namespace": "default", "uid": "u", "resourceVersion": "3", "generation": 1},
        "spec": {"headGroupSpec": {"template": {}}, "workerGroupSpecs": [{"groupName": "a", "replicas": "three", "template": {}}]},
    }
    made = plan(observed(decode_cluster(msgspec.json.encode(raw)), services=()))
    assert made.actions == ()
    assert "spec.workerGroupSpecs[0].replicas" in made.events[0].note
