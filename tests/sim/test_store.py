"""The simulated API server answers as Kubernetes does, where the operator leans on it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from rayfleet.api.meta import PODS, RAYCLUSTERS, Key, Resource
from rayfleet.kube.errors import AlreadyExists, Conflict, NotFound
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.manifests import cluster
from rayfleet.sim.store import Obj, Request, Store, random_uids

POD = Key("default", "p")


class Api:
    """A store with short words."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = Store(self.clock, random_uids(Random(1)))

    def do(self, verb: str, resource: Resource = PODS, key: Key = POD, **given: Any) -> Obj:
        return self.store.do(Request("somebody", verb, resource, *key, **given))

    def bound_pod(self) -> Obj:
        self.do("create", body={"spec": {"containers": []}})
        return self.do("patch", body={"spec": {"nodeName": "node-0"}})


@pytest.fixture
def api() -> Any:
    made = Api()
    yield made
    made.clock.close()


def test_a_name_is_taken_once(api: Api) -> None:
    api.do("create", body={"spec": {}})
    with pytest.raises(AlreadyExists):
        api.do("create", body={"spec": {}})


def test_preconditions_are_tested(api: Api) -> None:
    pod = api.bound_pod()
    with pytest.raises(Conflict):
        api.do("delete", uid="another")
    with pytest.raises(Conflict):
        api.do("patch", body={"metadata": {"labels": {"a": "b"}}}, resource_version="1")
    with pytest.raises(NotFound):
        api.do("delete", key=Key("default", "q"), uid=pod["metadata"]["uid"])


def test_a_running_pod_is_given_time_and_another_delete_changes_nothing(api: Api) -> None:
    uid = api.bound_pod()["metadata"]["uid"]
    first = api.do("delete", uid=uid)
    assert first["metadata"]["deletionGracePeriodSeconds"] == 30
    assert api.do("delete", uid=uid)["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    api.do("delete", uid=uid, grace=0)
    assert api.store.get(PODS, POD) is None


def test_a_pod_that_no_node_has_or_that_has_ended_goes_at_once(api: Api) -> None:
    api.do("create", body={"spec": {}})
    api.do("delete")
    assert api.store.get(PODS, POD) is None
    api.bound_pod()
    api.do("patch", body={"status": {"phase": "Failed"}}, subresource="status")
    api.do("delete")
    assert api.store.get(PODS, POD) is None


def test_status_and_spec_are_apart_and_only_the_spec_raises_the_generation(api: Api) -> None:
    key = Key("default", "demo")
    made = api.do("create", RAYCLUSTERS, key, body={**cluster("demo"), "status": {"state": "ready"}})
    assert "status" not in made
    told = api.do("patch", RAYCLUSTERS, key, body={"status": {"state": "x"}, "spec": {"suspend": True}}, subresource="status")
    assert (told["status"], told["spec"].get("suspend"), told["metadata"]["generation"]) == ({"state": "x"}, None, 1)
    edited = api.do("patch", RAYCLUSTERS, key, body={"spec": {"suspend": True}, "status": {"state": "y"}})
    assert (edited["status"], edited["metadata"]["generation"]) == ({"state": "x"}, 2)


def test_a_patch_that_changes_nothing_makes_no_version(api: Api) -> None:
    version = api.bound_pod()["metadata"]["resourceVersion"]
    assert api.do("patch", body={"spec": {"nodeName": "node-0"}})["metadata"]["resourceVersion"] == version


def test_a_finalizer_holds_an_object_until_it_is_taken_away(api: Api) -> None:
    key = Key("default", "demo")
    api.do("create", RAYCLUSTERS, key, body={**cluster("demo"), "metadata": {"finalizers": ["example.com/f"]}})
    assert api.do("delete", RAYCLUSTERS, key)["metadata"]["deletionTimestamp"]
    api.do("patch", RAYCLUSTERS, key, body={"metadata": {"finalizers": None}})
    assert api.store.get(RAYCLUSTERS, key) is None
