"""A cluster with state in Redis is held until its keys are gone, and never longer than its deadline."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode_cluster
from rayfleet.api.names import cleanup_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import JobView, PodView
from rayfleet.planning.actions import AddFinalizer, Create, RemoveFinalizer
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.events import sentences
from rayfleet.planning.plan import Event, Plan
from rayfleet.raycluster.plan import plan
from tests.raycluster.vocabulary import NOW, UID, cluster, created, deleted, group, head, observed, worker

REDIS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
HELD = ("example.com/other", labels.REDIS_FINALIZER)


def held(of: RayCluster, *finalizers: str, since: float | None = None) -> RayCluster:
    """The cluster with finalizers; `since`: deleted so many seconds ago."""
    when = None if since is None else rfc3339(NOW - since)
    return msgspec.structs.replace(
        of, metadata=msgspec.structs.replace(of.metadata, finalizers=finalizers or HELD, deletion_timestamp=when)
    )


def gone(since: float = 1.0, annotations: dict[str, str] | None = None, **spec: Any) -> RayCluster:
    return held(cluster(group(), annotations=annotations, **(spec or REDIS)), since=since)


def job(condition: str = "", message: str = "") -> JobView:
    conditions = [{"type": condition, "status": "True", "message": message}] if condition else []
    return msgspec.convert({"metadata": {"name": "demo-redis-cleanup"}, "status": {"conditions": conditions}}, JobView)


def refused(message: str = "no", event: str = "FailedToCreateRedisCleanupJob") -> Backoff:
    return Backoff("job", 3, NOW + 20, message, event)


def told(made: Plan) -> list[Event]:
    return list(sentences(made.actions))


def release(made: Plan) -> RemoveFinalizer:
    (action,) = made.actions
    assert isinstance(action, RemoveFinalizer)
    return action


@pytest.mark.parametrize("asked", [{"spec": REDIS}, {"annotations": {labels.FT_ENABLED: "true"}}], ids=["options", "annotation"])
def test_the_finalizer_is_there_before_anything_that_writes_into_redis(asked: dict[str, Any]) -> None:
    of = cluster(annotations=asked.get("annotations"), **asked.get("spec", {}))
    made = plan(observed(of))
    first, *rest = made.stages()
    (add,) = first
    assert isinstance(add, AddFinalizer)
    assert add.finalizers == (labels.REDIS_FINALIZER,)
    assert add.resource_version == of.metadata.resource_version
    assert rest, "the rest of the plan follows it"


def test_other_peoples_finalizers_stay() -> None:
    made = plan(observed(held(cluster(**REDIS), "example.com/other")))
    assert next(action for action in made.actions if isinstance(action, AddFinalizer)).finalizers == HELD
    assert release(plan(observed(gone(), jobs=(job("Complete"),)))).finalizers == ("example.com/other",)


def test_while_the_finalizer_is_refused_nothing_is_made() -> None:
    made = plan(observed(cluster(**REDIS), backoffs=(Backoff("finalizer", 1, NOW + 5, "no", "FailedToAddFinalizer"),)))
    assert (made.actions, made.requeue_after) == ((), 5)
    assert made.status is not None
    assert "FailedToAddFinalizer" in made.status.reason


@pytest.mark.parametrize("spec", [{}, {"gcsFaultToleranceOptions": {"backend": "rocksdb"}}], ids=["none", "rocksdb"])
def test_who_keeps_nothing_in_redis_is_not_held(spec: dict[str, Any]) -> None:
    gate = Configuration(feature_gates={"GCSFaultToleranceEmbeddedStorage": True})
    assert not any(isinstance(action, AddFinalizer) for action in plan(observed(cluster(**spec), config=gate)).actions)


def test_switched_off_nobody_is_held() -> None:
    off = Configuration(enable_gcs_ft_redis_cleanup=False)
    assert not any(isinstance(action, AddFinalizer) for action in plan(observed(cluster(**REDIS), config=off)).actions)
    assert "switched off" in release(plan(observed(gone(), config=off))).reason


def test_a_deleted_cluster_without_the_finalizer_is_left_to_the_garbage_collector() -> None:
    assert plan(observed(held(cluster(**REDIS), "example.com/other", since=1), head())).done


@pytest.mark.parametrize("first", [head(), head(phase="Pending", ready=False)], ids=["running", "pending"])
def test_the_head_goes_before_the_clean_up(first: PodView) -> None:
    made = plan(observed(gone(), first, worker(0)))
    assert deleted(made).keys() == {first.name, worker(0).name}
    assert not created(made)
    waiting = plan(observed(gone(), head(terminating=True), worker(0, terminating=True)))
    assert (waiting.actions, waiting.requeue_after) == ((), 299), "a head on its way out may still write"
    assert created(plan(observed(gone(), worker(0, terminating=True)))) == ["demo-redis-cleanup"], "workers write nothing there"


def test_the_job_is_made_once() -> None:
    assert plan(observed(gone(), jobs=(job(),))).actions == ()
    assert created(plan(observed(gone()))) == ["demo-redis-cleanup"]


def test_a_clean_up_that_is_complete_releases_without_a_word() -> None:
    made = plan(observed(gone(), jobs=(job("Complete"),)))
    assert release(made).resource_version == "7"
    assert told(made) == []


@pytest.mark.parametrize("condition", ["Failed", "FailureTarget"])
def test_a_clean_up_that_failed_releases_and_says_what_may_be_left(condition: str) -> None:
    (event,) = told(plan(observed(gone(), jobs=(job(condition, "Job has reached the specified backoff limit"),))))
    assert (event.type, event.reason) == ("Warning", "RedisCleanupFailed")
    assert "reached the specified backoff limit" in event.note
    assert f"storage namespace {UID}" in event.note


@pytest.mark.parametrize(
    ("hindrance", "found"),
    [
        ("head Pod", {"pods": (head(terminating=True),)}),
        ("has not ended", {"jobs": (job(),)}),
        ("webhook says no", {"backoffs": (refused("webhook says no"),)}),
        ("there is no Redis clean-up Job", {}),
    ],
    ids=["head cannot end", "Job never ends", "Job refused", "nobody was there"],
)
def test_the_deadline_ends_every_wait_and_says_what_stood_in_the_way(hindrance: str, found: dict[str, Any]) -> None:
    pods = found.pop("pods", ())
    before = plan(observed(gone(since=299), *pods, **found))
    assert not any(isinstance(action, RemoveFinalizer) for action in before.actions)
    assert before.requeue_after is not None
    assert before.requeue_after <= 20
    after = plan(observed(gone(since=300), *pods, **found))
    release(after)
    (event,) = told(after)
    assert (event.type, event.reason) == ("Warning", "ForceDeletedStuckCluster")
    assert hindrance in event.note
    assert UID in event.note


@pytest.mark.parametrize(("text", "seconds"), [("15", 15), ("900", 900), ("", 300), ("soon", 300), ("-5", 300), ("0", 300), ("1.5", 300)])
def test_the_deadline_is_the_annotations_where_that_is_a_number(text: str, seconds: int) -> None:
    notes = {labels.DELETION_TIMEOUT: text}
    assert plan(observed(gone(since=seconds - 1, annotations=notes), jobs=(job(),))).requeue_after == 1
    release(plan(observed(gone(since=seconds, annotations=notes), jobs=(job(),))))


def test_a_clean_up_that_ended_while_no_operator_ran_counts_however_late_it_is_seen() -> None:
    made = plan(observed(gone(since=5000), jobs=(job("Complete"),)))
    assert release(made).reason == "its keys in Redis are removed"


@pytest.mark.parametrize("spec", [{"suspend": False}, {"gcsFaultToleranceOptions": {"backend": "rocksdb"}}], ids=["none", "rocksdb"])
def test_a_cluster_whose_spec_lost_its_redis_is_released_when_the_head_is_gone(spec: dict[str, Any]) -> None:
    alive = held(cluster(group(), **spec))
    assert not any(isinstance(action, RemoveFinalizer) for action in plan(observed(alive, head())).actions), "the head may still write"
    assert deleted(plan(observed(gone(**spec), head()))).keys() == {head().name}
    (event,) = told(plan(observed(gone(**spec))))
    assert event.reason == "ForceDeletedStuckCluster"
    assert "no longer says which Redis" in event.note


def test_a_dying_namespace_is_not_waited_for() -> None:
    made = plan(observed(gone(), backoffs=(refused("being terminated", "NamespaceTerminating"),)))
    assert "namespace that is going" in release(made).reason


def test_a_spec_that_cannot_be_read_any_more_is_waited_for_until_the_deadline() -> None:
    def unreadable(since: float) -> Undecodable:
        meta = {"name": "demo", "namespace": "default", "uid": UID, "resourceVersion": "7", "finalizers": [labels.REDIS_FINALIZER]}
        document = {"metadata": {**meta, "deletionTimestamp": rfc3339(NOW - since)}, "spec": {"workerGroupSpecs": "none"}}
        found = decode_cluster(msgspec.json.encode(document))
        assert isinstance(found, Undecodable)
        return found

    assert deleted(plan(observed(unreadable(1), head(), services=()))).keys() == {head().name}
    waiting = plan(observed(unreadable(1), services=()))
    assert (waiting.actions, waiting.requeue_after) == ((), 299)
    assert "cannot be read" in release(plan(observed(unreadable(300), services=()))).reason


def test_a_refused_job_shows_in_the_status_of_the_cluster_that_waits_for_it() -> None:
    made = plan(observed(gone(), backoffs=(refused("exceeded quota"),)))
    assert made.status is not None
    (failure,) = [each for each in made.status.patch["conditions"] if each["type"] == "ReplicaFailure"]
    assert (failure["reason"], failure["message"]) == ("FailedToCreateRedisCleanupJob", "exceeded quota")


def test_a_cluster_that_goes_in_peace_writes_no_status() -> None:
    for found in ((head(),), ()):
        assert plan(observed(gone(), *found)).status is None


def test_a_refused_release_is_told_and_tried_again() -> None:
    made = plan(observed(gone(since=400), backoffs=(Backoff("finalizer", 1, NOW + 5, "no", "FailedToRemoveFinalizer"),)))
    assert (made.actions, made.requeue_after) == ((), 5)
    assert made.status is not None
    assert "FailedToRemoveFinalizer" in made.status.reason


def test_the_job_has_nothing_of_a_head_but_its_environment_and_volumes() -> None:
    template = {
        "spec": {
            "containers": [
                {"name": "ray", "image": "ray", "envFrom": [{"secretRef": {"name": "s"}}], "lifecycle": {"preStop": {}}},
                {"name": "sidecar", "image": "other"},
            ]
        }
    }
    head_group = {"rayStartParams": {}, "template": template}
    of = gone(**REDIS, headGroupSpec=head_group, enableInTreeAutoscaling=True, tlsOptions={"enabled": True})
    (create,) = plan(observed(of)).actions
    assert isinstance(create, Create)
    (container,) = create.manifest["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert not create.manifest["spec"]["template"]["spec"]["initContainers"], "no certificate names its address, which a head waits for"
    assert container.keys().isdisjoint({"livenessProbe", "readinessProbe", "lifecycle"})
    assert create.manifest["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_names_of_jobs_fit() -> None:
    assert cleanup_name("demo") == "demo-redis-cleanup"
    long = cleanup_name("a" * 53)
    assert (len(long), long.endswith("-redis-cleanup")) == (63, True)
    assert not cleanup_name("abcd-" + "x" * 48).startswith("-")
