"""Server-side apply, beyond the cases that tests/conformance holds to a real server."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rayfleet.apiserver import ownership
from rayfleet.apiserver.field_managers import APPLY as APPLIED
from rayfleet.apiserver.field_managers import Manager, applied
from rayfleet.apiserver.field_paths import decoded, encoded, member, value
from rayfleet.apiserver.field_shapes import CustomShape
from tests.apiserver.manifests import CONFIGMAPS, configmap
from tests.apiserver.peer import APPLY, Answer, Peer

LAST = "kubectl.kubernetes.io/last-applied-configuration"
ME, YOU = Manager(APPLIED, "me", "v1"), Manager(APPLIED, "you", "v1")
STEPS = st.one_of(st.text(max_size=3).map(member), st.integers(0, 3).map(value))
PATHS = st.frozensets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=8)
ITEMS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"n": st.integers(0, 2)}), min_size=1, max_size=4)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "crew": ITEMS.map(lambda items: list({item["name"]: item for item in items}.values())),
        "map": st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2), min_size=1),
    },
)
SHAPE = CustomShape(
    {
        "properties": {
            "crew": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {}},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        }
    },
    at_root=True,
)


def a_map(data: dict[str, str], **meta: Any) -> bytes:
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **meta}, "data": data})


async def apply(peer: Peer, body: bytes, who: str = "me", more: str = "") -> Answer:
    return await peer.ask("PATCH", f"{CONFIGMAPS}/a?fieldManager={who}{more}", body, APPLY)


@given(PATHS)
def test_a_set_of_fields_survives_its_encoding(paths: frozenset[tuple[str, ...]]) -> None:
    assert decoded(msgspec.json.decode(msgspec.json.encode(encoded(paths)))) == paths


@given(OBJECTS, OBJECTS, OBJECTS)
def test_what_one_manager_applies_is_there_and_what_it_leaves_out_is_gone(live: Any, first: Any, second: Any) -> None:
    obj, managers = applied(live, first, {}, ME, SHAPE, force=True, now="1")
    assert ownership.fields_of(first, SHAPE) <= ownership.fields_of(obj, SHAPE)
    obj, managers = applied(obj, second, managers, ME, SHAPE, force=False, now="2")
    assert ownership.merged(obj, second, SHAPE) == obj
    left_out = ownership.fields_of(first, SHAPE) - ownership.fields_of(second, SHAPE)
    assert not left_out & ownership.fields_of(obj, SHAPE)
    assert applied(obj, second, managers, ME, SHAPE, force=False, now="3") == (obj, managers)


@given(OBJECTS, OBJECTS)
def test_who_forces_has_what_it_says_and_the_other_keeps_the_rest(mine: Any, yours: Any) -> None:
    obj, managers = applied({}, mine, {}, ME, SHAPE, force=False, now="1")
    obj, managers = applied(obj, yours, managers, YOU, SHAPE, force=True, now="2")
    assert ownership.merged(obj, yours, SHAPE) == obj
    assert ownership.fields_of(mine, SHAPE) <= ownership.fields_of(obj, SHAPE)
    assert managers[YOU].fields == ownership.fields_of(yours, SHAPE)
    assert ownership.changes(ownership.merged(obj, mine, SHAPE), obj, SHAPE)[0].isdisjoint(managers[ME].fields)


async def test_what_stood_before_the_first_apply_belongs_to_somebody(peer: Peer) -> None:
    await peer.create(CONFIGMAPS, configmap())
    refused = await apply(peer, a_map({"k": "other"}))
    assert (refused.status, refused.body["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k',
    )
    assert (await apply(peer, a_map({"k": "v"}))).status == 200
    forced = await apply(peer, a_map({"k": "other"}), more="&force=true")
    assert (forced.status, forced.body["data"]) == (200, {"k": "other"})


async def test_kubectl_goes_on_from_its_own_client_side_apply(peer: Peer) -> None:
    last = {"data": {"k": "v"}, "metadata": {"name": "a"}}
    meta = {"name": "a", "annotations": {LAST: msgspec.json.encode(last).decode()}}
    await peer.create(CONFIGMAPS, {"metadata": meta, "data": {"k": "v", "l": "somebody's"}})
    assert (await apply(peer, a_map({"k": "new"}), "other")).status == 409
    assert (await apply(peer, a_map({"k": "new", "l": "new"}), "kubectl")).status == 409
    assert (await apply(peer, a_map({"k": "new"}), "kubectl")).body["data"] == {"k": "new", "l": "somebody's"}


async def test_fields_of_several_are_told_by_manager(peer: Peer) -> None:
    await apply(peer, a_map({"a": "1"}), "one")
    await apply(peer, a_map({"b": "1"}), "two")
    refused = await apply(peer, a_map({"a": "2", "b": "2"}), "three")
    assert refused.body["message"].splitlines() == [
        'Apply failed with 2 conflicts: conflicts with "one":',
        "- .data.a",
        'conflicts with "two":',
        "- .data.b",
    ]


async def test_an_object_that_no_apply_has_met_keeps_no_managers(peer: Peer) -> None:
    await peer.create(CONFIGMAPS, configmap())
    changed = await peer.patch(f"{CONFIGMAPS}/a?fieldManager=me", {"data": {"k": "w"}})
    assert "managedFields" not in changed.meta
