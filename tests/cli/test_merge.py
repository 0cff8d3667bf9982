"""Three-way merge: what the file says, against what it said last time, against what is live."""

from __future__ import annotations

from typing import Any

from rayfleet.cli.merge import LAST_APPLIED, difference, last_applied, merged, patch_for, remembered


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def test_what_was_applied_before_needs_no_patch() -> None:
    assert patch_for(remembered(thing(size=1)), thing(size=1)) == {}


def test_a_changed_field_is_patched_and_the_note_with_it() -> None:
    patch = patch_for(remembered(thing(size=1)), thing(size=2))
    assert patch["spec"] == {"size": 2}
    assert '"size":2' in patch["metadata"]["annotations"][LAST_APPLIED]


def test_a_field_taken_out_of_the_file_is_removed() -> None:
    assert patch_for(remembered(thing(size=1, colour="red")), thing(size=1))["spec"] == {"colour": None}


def test_a_field_that_others_added_stays() -> None:
    live = remembered(thing(size=1))
    live["spec"]["added"] = True
    live["status"] = {"ready": 1}
    assert patch_for(live, thing(size=1)) == {}


def test_a_field_that_others_changed_is_set_back() -> None:
    live = remembered(thing(size=1))
    live["spec"]["size"] = 5
    assert patch_for(live, thing(size=1)) == {"spec": {"size": 1}}


def test_a_list_to_whose_elements_the_server_added_defaults_is_left_alone() -> None:
    live = remembered(thing(ports=[{"port": 1}]))
    live["spec"]["ports"] = [{"port": 1, "protocol": "TCP"}]
    assert patch_for(live, thing(ports=[{"port": 1}])) == {}


def test_an_edited_list_is_sent_whole() -> None:
    live = remembered(thing(ports=[{"port": 1, "name": "x"}]))
    assert patch_for(live, thing(ports=[{"port": 1}]))["spec"] == {"ports": [{"port": 1}]}


def test_the_first_apply_of_an_object_that_somebody_created_writes_the_note() -> None:
    patch = patch_for(thing(size=1), thing(size=1))
    assert set(patch) == {"metadata"}


def test_a_note_of_kubectl_is_understood_whatever_its_spacing() -> None:
    live = thing(size=1)
    live["metadata"]["annotations"] = {
        LAST_APPLIED: '{"spec": {"size": 1}, "kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}}'
    }
    assert patch_for(live, thing(size=1)) == {}


def test_a_broken_note_is_as_good_as_none() -> None:
    for note in ("", "{", "[]", "null"):
        assert last_applied({"metadata": {"annotations": {LAST_APPLIED: note}}}) == {}


def test_a_live_export_that_carries_the_note_does_not_nest_it() -> None:
    exported = remembered(thing(size=1))
    assert remembered(exported) == exported


def test_a_null_removes_what_is_there_and_asks_nothing_of_what_is_not() -> None:
    assert difference({}, {"a": None, "b": None}, {"a": 1}) == {"a": None}


def test_a_value_that_changes_its_form_is_replaced() -> None:
    assert difference({}, {"a": {"b": 1}}, {"a": "text"}) == {"a": {"b": 1}}
    assert difference({}, {"a": "text"}, {"a": {"b": 1}}) == {"a": "text"}


def test_the_patch_makes_the_live_object_what_the_file_asks_for() -> None:
    live = remembered(thing(size=1, colour="red", inner={"a": 1, "b": 2}))
    live["spec"]["added"] = True
    wanted = thing(size=2, inner={"a": 1, "c": {"d": 3}})
    after = merged(live, patch_for(live, wanted))
    assert after["spec"] == {"size": 2, "inner": {"a": 1, "c": {"d": 3}}, "added": True}
    assert patch_for(after, wanted) == {}
    assert live["spec"]["size"] == 1
