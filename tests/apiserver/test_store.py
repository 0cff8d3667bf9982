"""The store alone: versions, the window of the past, pages."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayfleet.apiserver import deletion, writing
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.housekeeping import Housekeeping
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.status_error import StatusError
from rayfleet.apiserver.store import Store
from tests.apiserver.manifests import boat, boats, configmap, owner

DEFINITION_RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"
SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}

STEPS = st.lists(st.tuples(st.sampled_from(["put", "remove"]), st.sampled_from("abcde")), max_size=40)


def obj(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "X", "metadata": {"name": name, "uid": f"uid-{name}"}}


def run(store: Store, steps: list[tuple[str, str]]) -> None:
    for step, name in steps:
        record = store.get("xs", "", name)
        if step == "put":
            store.put("xs", "", name, obj(name))
        elif record is not None:
            store.remove(record)


@given(STEPS, st.integers(0, 40))
def test_the_past_replayed_from_any_version_leads_to_the_present(steps: list[tuple[str, str]], start: int) -> None:
    store = Store()
    run(store, steps[:start])
    known, version = {record.name for record in store.select("xs")}, store.version
    run(store, steps[start:])
    changes = store.window.since("xs", version)
    assert changes is not None
    for change in changes:
        if change.type == "DELETED":
            known.remove(change.record.name)
        else:
            assert (change.record.name in known) == (change.type == "MODIFIED")
            known.add(change.record.name)
    assert known == {record.name for record in store.select("xs")}


@settings(max_examples=15, deadline=None)
@given(steps=STEPS)
def test_a_reopened_store_is_the_same(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("store") / "state.sqlite"
    first = Store(path)
    first.load(lambda resource, obj: {})
    run(first, steps)
    before = [(record.name, record.data) for record in first.select("xs")]
    version = first.version
    first.flush()
    first.close()
    second = Store(path)
    second.load(lambda resource, obj: {})
    assert [(record.name, record.data) for record in second.select("xs")] == before
    assert second.version == version
    second.close()


def test_custom_resources_and_addresses_are_known_again_after_a_restart(tmp_path: Path) -> None:
    api = open_api(Store(tmp_path / "state.sqlite"))
    writing.create(api, api.registry.native(DEFINITION_RESOURCE), "", boats(), WriteOptions())
    writing.create(api, api.registry.native("boats.sea.example"), "default", boat(), WriteOptions())
    service = writing.create(api, api.registry.native("services"), "default", SERVICE, WriteOptions()).decode()
    api.store.flush()
    api.store.close()
    again = open_api(Store(tmp_path / "state.sqlite"))
    assert [record.name for record in again.store.select("boats.sea.example")] == ["b"]
    assert again.addresses.holds(service["spec"]["clusterIP"])
    with pytest.raises(StatusError, match="length"):
        writing.create(again, again.registry.native("boats.sea.example"), "default", boat("c", length=0), WriteOptions())
    again.store.close()


def test_only_the_recent_past_is_remembered() -> None:
    store = Store(window=3)
    first = store.version
    run(store, [("put", name) for name in "abcde"])
    assert store.window.since("xs", first) is None
    remembered = store.window.since("xs", first + 2)
    assert remembered is not None
    assert [change.record.name for change in remembered] == list("cde")
    assert store.window.since("quiet", first) == []


def test_with_its_own_clock_and_dice_a_world_repeats_itself() -> None:
    def world() -> list[bytes]:
        api = open_api(Store(), clock=lambda: 0.0, dice=random.Random(7))
        housekeeping = Housekeeping(api)
        configmaps = api.registry.native("configmaps")
        parent = writing.create(api, configmaps, "default", configmap("parent"), WriteOptions())
        writing.create(api, configmaps, "default", configmap("child", ownerReferences=[owner(parent.decode())]), WriteOptions())
        writing.create(api, configmaps, "default", {"metadata": {"generateName": "g-"}}, WriteOptions())
        deletion.delete(api, configmaps.kind, parent, deletion.DeleteOptions())
        housekeeping.settle()
        return [record.data for record in api.store.select("configmaps")]

    assert world() == world()
    assert len(world()) == 1


def test_events_are_forgotten_after_an_hour() -> None:
    now = [0.0]
    api = open_api(Store(), clock=lambda: now[0])
    housekeeping = Housekeeping(api)
    body = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "message": "m"}
    writing.create(api, api.registry.native("events"), "default", body, WriteOptions())
    now[0] = 3599.0
    housekeeping.expire_events()
    assert api.store.get("events", "default", "e")
    now[0] = 3601.0
    housekeeping.expire_events()
    assert api.store.get("events", "default", "e") is None


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").write_bytes(b"this is not a database, but it is long enough to look like a file" * 20)
    with pytest.raises(Exception, match="not a database"):
        Store(tmp_path / "state.sqlite")
