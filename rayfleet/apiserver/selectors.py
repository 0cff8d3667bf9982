"""Label and field selectors, as in `?labelSelector=` and `?fieldSelector=`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rayfleet.apiserver.record import Record
from rayfleet.apiserver.status_error import bad_request

Test = Callable[[dict[str, str]], bool]

_SET = re.compile(r"^\s*(?P<key>[^\s!=,()]+)\s+(?P<word>in|notin)\s+\((?P<values>[^()]*)\)\s*$")
_EQUAL = re.compile(r"^\s*(?P<key>[^\s!=,()]+)\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s!=,()]*)\s*$")
_ORDER = re.compile(r"^\s*(?P<key>[^\s!=,()<>]+)\s*(?P<sign>[<>])\s*(?P<value>-?\d+)\s*$")
_EXISTS = re.compile(r"^\s*(?P<absent>!)?\s*(?P<key>[^\s!=,()]+)\s*$")
_COMMA = re.compile(r",(?![^()]*\))")


@dataclass(frozen=True, slots=True)
class Selector:
    """What a list, watch or deletecollection is narrowed to. Without tests everything matches."""

    labels: tuple[Test, ...] = ()
    fields: tuple[Test, ...] = ()

    @property
    def everything(self) -> bool:
        return not self.labels and not self.fields

    def matches(self, record: Record) -> bool:
        return all(test(record.labels) for test in self.labels) and all(test(_fields(record)) for test in self.fields)


def parse(labels: str, fields: str, known: frozenset[str]) -> Selector:
    """Raises 400 for text that is no selector, and for a field outside `known` (and metadata.name, metadata.namespace)."""
    return Selector(
        tuple(_label_test(term) for term in _COMMA.split(labels)) if labels.strip() else (),
        tuple(_field_test(term, known) for term in fields.split(",")) if fields.strip() else (),
    )


def _fields(record: Record) -> dict[str, str]:
    return {**record.fields, "metadata.name": record.name, "metadata.namespace": record.namespace}


def _label_test(term: str) -> Test:
    if found := _SET.match(term):
        key, values = found["key"], frozenset(value.strip() for value in found["values"].split(","))
        if found["word"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(term):
        return _equality(found["key"], found["sign"], found["value"])
    if found := _ORDER.match(term):
        return _order(found["key"], found["sign"], int(found["value"]))
    if found := _EXISTS.match(term):
        key, absent = found["key"], bool(found["absent"])
        return lambda labels: (key not in labels) == absent
    raise bad_request(f"unable to parse requirement: {term!r} is not a label selector")


def _field_test(term: str, known: frozenset[str]) -> Test:
    found = _EQUAL.match(term)
    if found is None:
        raise bad_request(f"invalid selector: {term!r}; can't understand {term!r}")
    if found["key"] not in known and found["key"] not in ("metadata.name", "metadata.namespace"):
        raise bad_request(f"field label not supported: {found['key']}")
    key, value, equal = found["key"], found["value"], found["sign"] != "!="
    return lambda fields: (fields.get(key, "") == value) == equal


def _order(key: str, sign: str, limit: int) -> Test:
    def test(labels: dict[str, str]) -> bool:
        value = labels.get(key, "")
        if not value.lstrip("-").isdecimal():
            return False
        return int(value) > limit if sign == ">" else int(value) < limit

    return test


def _equality(key: str, sign: str, value: str) -> Test:
    if sign == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value
