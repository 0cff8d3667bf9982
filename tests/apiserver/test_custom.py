"""Custom resources: definitions, pruning, defaults, validation, versions, status."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator

import pytest

from tests.apiserver.manifests import BOAT_SPEC, BOATS, DEFINITIONS, boat, boats
from tests.apiserver.peer import JSON_PATCH, STRATEGIC, TABLE, Peer, take, until

DEFINITION = f"{DEFINITIONS}/boats.sea.example"


@pytest.fixture
async def sea(peer: Peer) -> AsyncIterator[Peer]:
    assert (await peer.create(DEFINITIONS, boats())).status == 201
    yield peer


async def test_a_definition_is_served_as_soon_as_it_is_stored(sea: Peer) -> None:
    definition = (await sea.get(DEFINITION)).body
    assert {condition["type"]: condition["status"] for condition in definition["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert definition["status"]["storedVersions"] == ["v1"]
    assert (await sea.get(BOATS)).body["kind"] == "BoatList"


async def test_defaults_are_filled_and_unknown_fields_pruned_with_a_warning(sea: Peer) -> None:
    body = boat(
        crew=[{"name": "x", "age": 3}],
        speed=4,
        cargo={"any": {"thing": 1}},
        template={"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "spec": 1},
    )
    created = await sea.create(BOATS, body)
    assert created.status == 201
    spec = created.body["spec"]
    assert spec["title"] == "nemo"
    assert spec["crew"] == [{"name": "x", "rank": "sailor"}]
    assert spec["cargo"] == {"any": {"thing": 1}}
    assert spec["template"]["spec"] == 1
    assert "speed" not in spec
    assert created.warnings == ['299 - "unknown field \\"spec.crew[0].age\\""', '299 - "unknown field \\"spec.speed\\""']
    strict = await sea.create(f"{BOATS}?fieldValidation=Strict", boat("c", speed=4))
    assert (strict.status, strict.body["message"]) == (
        400,
        'Boat in version "v1" cannot be handled as a Boat: strict decoding error: unknown field "spec.speed"',
    )


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"length": "nine"}, "spec.length", 'Invalid value: "string": spec.length in body must be of type integer: "string"'),
        ({"length": 0}, "spec.length", "Invalid value: 0: spec.length in body should be greater than or equal to 1"),
        ({"kind": "rocket"}, "spec.kind", 'Unsupported value: "rocket": supported values: "sail", "motor"'),
        ({"title": "x" * 21}, "spec.title", "Too long: may not be more than 20 bytes"),
        ({"crew": [{}]}, "spec.crew[0].name", "Required value"),
        ({"draft": 1.5}, "spec.draft", 'Invalid value: "number": spec.draft in body must be of type integer,string: "number"'),
        ({"length": 3}, "spec", "Invalid value: the title is longer than the boat"),
    ],
)
async def test_refusals_name_the_field(sea: Peer, spec: dict[str, object], field: str, message: str) -> None:
    refused = await sea.create(BOATS, boat(**spec))
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    cause = refused.body["details"]["causes"][0]
    assert (cause["field"], cause["message"]) == (field, message)
    assert refused.body["message"].startswith('Boat.sea.example "b" is invalid: ')


async def test_a_missing_spec_is_required(sea: Peer) -> None:
    refused = await sea.create(BOATS, {"metadata": {"name": "b"}})
    assert refused.body["details"]["causes"][0] == {"reason": "FieldValueRequired", "message": "Required value", "field": "spec"}


async def test_int_or_string_takes_both_and_nullable_takes_null(sea: Peer) -> None:
    assert (await sea.create(BOATS, boat("a", draft=3, home=None))).body["spec"]["home"] is None
    assert (await sea.create(BOATS, boat("b", draft="30%", title=None))).body["spec"]["title"] == "nemo"


async def test_transition_rules_compare_with_what_was(sea: Peer) -> None:
    await sea.create(BOATS, boat(kind="sail", crew=[{"name": "x"}, {"name": "y"}]))
    refused = await sea.patch(f"{BOATS}/b", {"spec": {"kind": "motor"}})
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": 'Invalid value: "motor": is fixed', "field": "spec.kind"}
    ]
    swapped = await sea.patch(f"{BOATS}/b", {"spec": {"crew": [{"name": "y"}, {"name": "x"}, {"name": "z", "rank": "cook"}]}})
    assert swapped.status == 200
    promoted = await sea.patch(f"{BOATS}/b", {"spec": {"crew": [{"name": "x", "rank": "captain"}]}})
    assert promoted.body["details"]["causes"][0]["field"] == "spec.crew[0]"


async def test_status_and_spec_are_written_apart(sea: Peer) -> None:
    created = (await sea.create(BOATS, boat() | {"status": {"afloat": True}})).body
    assert "status" not in created
    spec_only = await sea.patch(f"{BOATS}/b", {"spec": {"length": 10}, "status": {"afloat": True}})
    assert "status" not in spec_only.body
    assert spec_only.meta["generation"] == 2
    status_only = await sea.patch(f"{BOATS}/b/status", {"spec": {"length": 99}, "status": {"afloat": True, "colour": "red"}})
    assert status_only.body["status"] == {"afloat": True}
    assert status_only.body["spec"]["length"] == 10
    assert status_only.meta["generation"] == 2
    assert (await sea.patch(f"{BOATS}/b/status", {"status": {"afloat": "yes"}})).status == 422
    labelled = await sea.patch(f"{BOATS}/b", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.meta["generation"] == 2


async def test_a_stale_status_conflicts(sea: Peer) -> None:
    old = (await sea.create(BOATS, boat())).meta["resourceVersion"]
    await sea.patch(f"{BOATS}/b", {"metadata": {"labels": {"a": "b"}}})
    late = await sea.patch(f"{BOATS}/b/status", {"metadata": {"resourceVersion": old}, "status": {"afloat": True}})
    assert late.status == 409
    assert late.body["message"].startswith('Operation cannot be fulfilled on boats.sea.example "b": the object has been modified')


async def test_replacing_needs_a_version(sea: Peer) -> None:
    await sea.create(BOATS, boat())
    refused = await sea.put(f"{BOATS}/b", boat(length=11))
    assert refused.body["details"]["causes"][0]["field"] == "metadata.resourceVersion"


async def test_both_versions_show_the_same_object(sea: Peer) -> None:
    created = await sea.create(BOATS, boat())
    older = await sea.get(BOATS.replace("/v1/", "/v1alpha1/") + "/b")
    assert older.body == {**created.body, "apiVersion": "sea.example/v1alpha1"}
    assert older.warnings == ['299 - "sea.example/v1alpha1 Boat is deprecated; use sea.example/v1 Boat"']
    path = BOATS.replace("/v1/", "/v1alpha1/")
    await sea.create(path, boat("c") | {"apiVersion": "sea.example/v1alpha1"})
    assert (await sea.get(f"{BOATS}/c")).body["apiVersion"] == "sea.example/v1"
    (event,) = await take(sea.watch(f"{path}?watch=1&fieldSelector=metadata.name%3Dc"), 1)
    assert event["object"]["apiVersion"] == "sea.example/v1alpha1"


async def test_strategic_patches_are_not_for_custom_resources(sea: Peer) -> None:
    await sea.create(BOATS, boat())
    assert (await sea.patch(f"{BOATS}/b", {"spec": {}}, STRATEGIC)).status == 415
    patched = await sea.patch(f"{BOATS}/b", [{"op": "replace", "path": "/spec/home", "value": "Nantes"}], JSON_PATCH)
    assert patched.body["spec"]["home"] == "Nantes"


async def test_a_changed_definition_is_in_force_at_once(sea: Peer) -> None:
    spec = copy.deepcopy(BOAT_SPEC)
    spec["properties"]["speed"] = {"type": "integer"}
    definition = (await sea.get(DEFINITION)).body
    changed = await sea.put(DEFINITION, {**definition, "spec": boats(spec)["spec"]})
    assert changed.status == 200
    assert (await sea.create(BOATS, boat(speed=4))).body["spec"]["speed"] == 4


async def test_what_was_wrong_before_does_not_block_other_changes(sea: Peer) -> None:
    await sea.create(BOATS, boat(title="a-long-name", length=20))
    spec = copy.deepcopy(BOAT_SPEC)
    spec["properties"]["title"]["maxLength"] = 5
    definition = (await sea.get(DEFINITION)).body
    await sea.put(DEFINITION, {**definition, "spec": boats(spec)["spec"]})
    assert (await sea.patch(f"{BOATS}/b", {"spec": {"home": "Brest"}})).status == 200
    assert (await sea.patch(f"{BOATS}/b/status", {"status": {"afloat": True}})).status == 200
    assert (await sea.patch(f"{BOATS}/b", {"spec": {"title": "a-longer-name"}})).status == 422


async def test_a_definition_takes_its_objects_with_it(sea: Peer) -> None:
    await sea.create(BOATS, boat())
    await sea.delete(DEFINITION)

    async def gone() -> bool:
        return (await sea.get(DEFINITION)).status == 404 and (await sea.get(BOATS)).status == 404

    await until(gone)
    await sea.create(DEFINITIONS, boats())
    assert (await sea.get(BOATS)).body["items"] == []


async def test_an_unusable_definition_is_refused(peer: Peer) -> None:
    wrong = boats()
    wrong["metadata"]["name"] = "ships.sea.example"
    assert (await peer.create(DEFINITIONS, wrong)).status == 422
    pattern = boats({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}})
    assert (await peer.create(DEFINITIONS, pattern)).status == 422


async def test_tables_show_the_printer_columns(sea: Peer) -> None:
    await sea.create(BOATS, boat())
    await sea.patch(f"{BOATS}/b/status", {"status": {"port": "Brest"}})
    table = (await sea.get(BOATS, Accept=TABLE)).body
    assert [(column["name"], column["priority"]) for column in table["columnDefinitions"]] == [
        ("Name", 0),
        ("Length", 0),
        ("Port", 1),
        ("Age", 0),
    ]
    (row,) = table["rows"]
    assert row["cells"][:3] == ["b", 9, "Brest"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
