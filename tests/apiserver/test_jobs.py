"""Jobs over time: when they try again, give up, and go; what a restart of the server must not change. The test is the kubelet."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver import deletion, writing
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.housekeeping import Housekeeping
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.store import Store

Obj = dict[str, Any]


class Cluster:
    """One namespace, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.api = open_api(Store(), clock=lambda: self.now)
        self.housekeeping = Housekeeping(self.api)
        self.settle()

    def restart(self) -> None:
        """The process is another; what was stored stays."""
        self.api.store.on_stage.pop()
        self.housekeeping = Housekeeping(self.api)
        self.settle()

    def settle(self, seconds: float = 0.0) -> None:
        self.now += seconds
        self.housekeeping.remind()
        self.housekeeping.settle()

    def make(self, resource: str, body: Obj) -> None:
        writing.create(self.api, self.api.registry.native(resource), "default", body, WriteOptions())
        self.settle()

    def job(self, **spec: Any) -> None:
        container = {"name": "main", "image": "busybox:1"}
        template = {"spec": {"restartPolicy": spec.pop("restart", "Never"), "containers": [container], "nodeName": "n"}}
        self.make("jobs.batch", {"metadata": {"name": "j"}, "spec": {"template": template, **spec}})

    def patch(self, resource: str, name: str, change: Obj, subresource: str = "") -> None:
        def edit(obj: Obj) -> Obj:
            return {**obj, **{key: {**obj.get(key, {}), **value} for key, value in change.items()}}

        record = self.api.store.get(resource, "default", name)
        assert record is not None
        writing.patching(self.api, self.api.registry.native(resource), record, edit, WriteOptions(), subresource=subresource)()
        self.settle()

    def tell(self, pod: str, phase: str, **status: Any) -> None:
        self.patch("pods", pod, {"status": {"phase": phase, **status}}, "status")

    def delete(self, resource: str, name: str, **options: Any) -> None:
        record = self.api.store.get(resource, "default", name)
        assert record is not None
        deletion.delete(self.api, self.api.registry.native(resource).kind, record, deletion.DeleteOptions(**options))
        self.settle()

    def pods(self, phase: str = "Pending") -> list[str]:
        found = (record.decode() for record in self.api.store.select("pods", "default"))
        return [pod["metadata"]["name"] for pod in found if pod["status"]["phase"] == phase and "deletionTimestamp" not in pod["metadata"]]

    def status(self) -> Obj:
        record = self.api.store.get("jobs.batch", "default", "j")
        assert record is not None
        return record.decode()["status"]

    def conditions(self) -> list[str]:
        return [each["type"] for each in self.status().get("conditions", ()) if each["status"] == "True"]

    def told(self) -> list[str]:
        return sorted(record.decode()["reason"] for record in self.api.store.select("events", "default"))


def test_each_failure_doubles_the_pause_until_the_limit_is_passed() -> None:
    cluster = Cluster()
    cluster.job(backoffLimit=2)
    for pause in (10.0, 20.0):
        [pod] = cluster.pods()
        cluster.tell(pod, "Failed")
        cluster.settle(pause - 0.5)
        assert cluster.pods() == []
        cluster.settle(0.5)
    [pod] = cluster.pods()
    cluster.tell(pod, "Failed")
    assert cluster.conditions() == ["FailureTarget", "Failed"]
    assert cluster.status()["failed"] == 3
    cluster.settle(1000.0)
    assert cluster.pods() == []
    assert cluster.told() == ["BackoffLimitExceeded", *["SuccessfulCreate"] * 3]


def test_a_success_ends_the_pauses_of_the_failures_before_it() -> None:
    cluster = Cluster()
    cluster.job(completions=4, parallelism=2)
    first, second = cluster.pods()
    cluster.tell(first, "Failed")
    assert cluster.pods() == [second], "the other one has its pause"
    cluster.tell(second, "Succeeded")
    assert len(cluster.pods()) == 2
    assert cluster.status()["succeeded"] == 1


def test_a_deadline_ends_what_runs_and_waits_for_it() -> None:
    cluster = Cluster()
    cluster.job(activeDeadlineSeconds=60)
    [pod] = cluster.pods()
    cluster.tell(pod, "Running")
    cluster.settle(59.0)
    assert cluster.conditions() == []
    cluster.settle(1.0)
    assert cluster.conditions() == ["FailureTarget"]
    assert cluster.status()["terminating"] == 1
    cluster.delete("pods", pod, grace=0)
    assert cluster.conditions() == ["FailureTarget", "Failed"]
    assert cluster.status()["failed"] == 1


def test_time_in_suspension_does_not_count() -> None:
    cluster = Cluster()
    cluster.job(activeDeadlineSeconds=60, suspend=True)
    cluster.settle(100.0)
    assert cluster.pods() == []
    cluster.patch("jobs.batch", "j", {"spec": {"suspend": False}})
    cluster.settle(59.0)
    assert len(cluster.pods()) == 1
    cluster.settle(1.0)
    assert "FailureTarget" in cluster.conditions()


def test_a_finished_job_goes_with_its_pods_when_it_was_to() -> None:
    cluster = Cluster()
    cluster.job(ttlSecondsAfterFinished=100)
    cluster.tell(cluster.pods()[0], "Succeeded")
    cluster.settle(99.0)
    assert cluster.conditions() == ["SuccessCriteriaMet", "Complete"]
    cluster.settle(1.0)
    assert cluster.api.store.get("jobs.batch", "default", "j") is None
    assert list(cluster.api.store.select("pods")) == []


def test_a_restart_counts_nothing_twice_and_makes_nothing_twice() -> None:
    cluster = Cluster()
    cluster.job(completions=3, parallelism=2, activeDeadlineSeconds=60)
    cluster.tell(cluster.pods()[0], "Succeeded")
    before, pods = cluster.status(), cluster.pods()
    cluster.restart()
    assert (cluster.status(), cluster.pods()) == (before, pods)
    cluster.settle(60.0)
    assert cluster.conditions()[0] == "FailureTarget", "the deadline is known again"


def test_containers_that_restart_in_place_count_as_well() -> None:
    cluster = Cluster()
    cluster.job(restart="OnFailure", backoffLimit=3)
    [pod] = cluster.pods()
    about = {"name": "main", "image": "", "imageID": "", "ready": False, "state": {}}
    cluster.tell(pod, "Running", containerStatuses=[{**about, "restartCount": 2}])
    assert cluster.conditions() == []
    cluster.tell(pod, "Running", containerStatuses=[{**about, "restartCount": 3}])
    assert cluster.conditions() == ["FailureTarget"]


def test_a_disruption_that_its_policy_ignores_is_no_failure() -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    cluster = Cluster()
    cluster.job(backoffLimit=0, podFailurePolicy={"rules": [rule]})
    [pod] = cluster.pods()
    cluster.tell(pod, "Failed", conditions=[{"type": "DisruptionTarget", "status": "True"}])
    assert cluster.conditions() == []
    assert "failed" not in cluster.status()
    assert len(cluster.pods()) == 1


def test_a_full_quota_is_told_of_and_tried_again() -> None:
    cluster = Cluster()
    cluster.make("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    cluster.job()
    assert cluster.pods() == []
    assert "FailedCreate" in cluster.told()
    cluster.delete("resourcequotas", "q")
    cluster.settle(10.0)
    assert len(cluster.pods()) == 1


def test_a_job_deleted_in_either_way_leaves_no_pod_that_is_held() -> None:
    for propagation in ("Background", "Foreground"):
        cluster = Cluster()
        cluster.job()
        [pod] = cluster.pods()
        cluster.delete("jobs.batch", "j", propagation=propagation)
        cluster.settle(10.0)
        assert cluster.pods() == [], "nothing is made for a Job that goes"
        cluster.delete("pods", pod, grace=0)
        assert cluster.api.store.get("jobs.batch", "default", "j") is None
        assert list(cluster.api.store.select("pods")) == []


def test_pods_that_a_job_leaves_behind_are_held_by_nobody() -> None:
    cluster = Cluster()
    cluster.job()
    cluster.delete("jobs.batch", "j", propagation="Orphan")
    [record] = cluster.api.store.select("pods")
    assert record.owners == ()
    assert "finalizers" not in record.decode()["metadata"]


def test_indexes_are_each_done_once_and_made_again_when_they_fail() -> None:
    cluster = Cluster()
    cluster.job(completions=5, parallelism=5, completionMode="Indexed")
    pods = {name.split("-")[1]: name for name in cluster.pods()}
    assert sorted(pods) == ["0", "1", "2", "3", "4"]
    for index in "0234":
        cluster.tell(pods[index], "Succeeded")
    assert cluster.status()["completedIndexes"] == "0,2-4"
    cluster.tell(pods["1"], "Failed")
    cluster.settle(10.0)
    [again] = cluster.pods()
    assert again.startswith("j-1-")
    cluster.tell(again, "Succeeded")
    assert (cluster.status()["completedIndexes"], cluster.conditions()) == ("0-4", ["SuccessCriteriaMet", "Complete"])
