"""The patch functions, by their laws, and over HTTP."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rayfleet.apiserver.patch import edited, merged
from rayfleet.apiserver.strategic import strategically_merged
from tests.apiserver.manifests import BOATS, CONFIGMAPS, DEFINITIONS, boat, boats, configmap
from tests.apiserver.peer import Peer

KEYS = st.sampled_from(["a", "b", "c", "x/y", "~", ""])
LEAVES = st.one_of(st.integers(-3, 3), st.text(max_size=3), st.booleans())
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=8)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def difference(old: Any, new: Any) -> Any:
    """The merge patch from one object to another."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    patch = {key: None for key in old if key not in new}
    return patch | {key: difference(old.get(key), value) for key, value in new.items() if key not in old or old[key] != value}


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_leads_from_one_object_to_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy(old)
    assert merged(old, difference(old, new)) == new
    assert old == before


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_applied_twice_changes_nothing_more(old: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merged(old, patch)
    assert merged(once, patch) == once


@given(OBJECTS, OBJECTS)
def test_without_lists_of_objects_a_strategic_patch_is_a_merge_patch(old: dict[str, Any], patch: dict[str, Any]) -> None:
    assert strategically_merged(old, patch) == merged(old, patch)


@given(OBJECTS, KEYS, VALUES)
def test_a_json_patch_adds_tests_moves_and_removes(old: dict[str, Any], key: str, value: Any) -> None:
    before = copy.deepcopy(old)
    path = "/" + key.replace("~", "~0").replace("/", "~1")
    added = edited(old, [{"op": "add", "path": path, "value": value}, {"op": "test", "path": path, "value": value}])
    assert added == {**old, key: value}
    moved = edited(added, [{"op": "move", "from": path, "path": "/new"}, {"op": "copy", "from": "/new", "path": path}])
    assert moved == {**added, "new": value}
    removed = edited(added, [{"op": "remove", "path": path}])
    assert key not in removed
    assert old == before


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), unique_by=lambda each: each[0]),
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(4, 9)), unique_by=lambda each: each[0]),
)
def test_lists_of_containers_merge_by_name(old: list[tuple[str, int]], patch: list[tuple[str, int]]) -> None:
    target = {"containers": [{"name": name, "image": str(number), "kept": True} for name, number in old]}
    change = {"containers": [{"name": name, "image": str(number)} for name, number in patch]}
    result = strategically_merged(target, change)["containers"] if old or patch else []
    assert {item["name"]: item["image"] for item in result} == {name: str(number) for name, number in [*old, *patch]}
    known = {name for name, _ in old}
    # As a real server: what is new comes first.
    assert [item["name"] for item in result] == [name for name, _ in patch if name not in known] + [name for name, _ in old]


def test_strategic_directives_delete_replace_and_order() -> None:
    target = {"env": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "finalizers": ["x", "y"], "args": ["1"]}
    patch = {
        "env": [{"name": "b", "$patch": "delete"}, {"name": "d"}],
        "$setElementOrder/env": [{"name": "d"}, {"name": "a"}],
        "$deleteFromPrimitiveList/finalizers": ["x"],
        "args": ["2"],
    }
    result = strategically_merged(target, patch)
    assert [item["name"] for item in result["env"]] == ["d", "a", "c"]
    assert (result["finalizers"], result["args"]) == (["y"], ["2"])
    assert strategically_merged(target, {"env": [{"$patch": "replace"}, {"name": "z"}]})["env"] == [{"name": "z"}]
    ports = {"ports": [{"containerPort": 1, "name": "a"}]}
    assert strategically_merged(ports, {"ports": [{"containerPort": 1, "name": "b"}]}) == {"ports": [{"containerPort": 1, "name": "b"}]}


async def test_a_stale_patch_conflicts(peer: Peer) -> None:
    old = (await peer.create(CONFIGMAPS, configmap())).meta["resourceVersion"]
    await peer.patch(f"{CONFIGMAPS}/a", {"data": {"k": "w"}})
    stale = await peer.patch(f"{CONFIGMAPS}/a", {"metadata": {"resourceVersion": old}, "data": {"k": "x"}})
    assert stale.status == 409


async def test_null_removes_a_member(peer: Peer) -> None:
    await peer.create(DEFINITIONS, boats())
    await peer.create(BOATS, boat(flags={"a": "1", "b": "2"}))
    assert (await peer.patch(f"{BOATS}/b", {"spec": {"flags": {"a": None}}})).body["spec"]["flags"] == {"b": "2"}
