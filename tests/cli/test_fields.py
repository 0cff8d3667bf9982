"""Where two objects differ, as a person reads it."""

from __future__ import annotations

from rayfleet.cli.fields import differences
from rayfleet.cli.merge import LAST_APPLIED


def told(before: object, after: object) -> list[str]:
    return [str(each) for each in differences(before, after)]


def test_each_changed_field_is_told_with_both_values() -> None:
    assert told({"spec": {"a": 1, "list": [{"b": "x"}]}}, {"spec": {"a": 2, "list": [{"b": "x"}, {"b": "y"}]}}) == [
        "spec.a: 1 -> 2",
        'spec.list[1]: {"b": "y"} is new',
    ]
    assert told({"spec": {"a": 1}}, {"spec": {}}) == ["spec.a: 1 goes"]
    assert told({"metadata": {"labels": {"x.io/y": "1"}}}, {"metadata": {"labels": {"x.io/y": "2"}}}) == [
        'metadata.labels["x.io/y"]: "1" -> "2"'
    ]


def test_what_only_servers_write_is_no_difference() -> None:
    live = {"metadata": {"uid": "u", "resourceVersion": "7", "annotations": {LAST_APPLIED: "a"}}, "status": {"state": "ready"}}
    assert told(live, {"metadata": {"annotations": {LAST_APPLIED: "b"}}}) == []


def test_a_long_value_is_cut() -> None:
    (line,) = told({"a": "x" * 500}, {"a": "y"})
    assert len(line) < 100
