"""Typed decoding of the core kinds: what Go's decoder refuses, drops or leaves out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api.quantity import parse
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request, malformed

Types = Mapping[str, Mapping[str, str]]

_GO = {
    "s": "string",
    "S": "string",
    "i": "int32",
    "I": "int32",
    "b": "bool",
    "B": "bool",
    "q": "resource.Quantity",
    "x": "intstr.IntOrString",
}
_PYTHON: dict[str, tuple[type, ...]] = {
    "s": (str,),
    "S": (str,),
    "i": (int,),
    "I": (int,),
    "b": (bool,),
    "B": (bool,),
    "q": (str, int, float),
    "x": (str, int),
    "o": (dict,),
}
WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_OMITTED = {"s": "", "i": 0, "b": False}


class Shape:
    """The fields of a kind.

    Notation of a type: s string, i integer, b boolean (left out when empty, zero, false; as capitals they are kept, as Go's pointers are),
    q quantity, x integer or string, o an object of any fields, * anything, {T a map from strings, [T a list, else the name of a type.
    `sparse`: empty lists and maps are left out.
    """

    def __init__(self, types: Types, root: str, *, sparse: bool = True) -> None:
        self._types = types
        self._root = root
        self._sparse = sparse

    def prune(self, obj: Obj) -> list[str]:
        """Drops unknown fields and nulls in place; returns the paths of the unknown. Raises 400 for a wrong type."""
        unknown: list[str] = []
        self._members(obj, self._root, "", unknown)
        return unknown

    def _members(self, obj: Obj, type_: str, path: str, unknown: list[str]) -> None:
        fields = self._types[type_]
        for name in list(obj):
            value, wanted = obj[name], fields.get(name)
            here = f"{path}.{name}" if path else name
            if wanted is None:
                del obj[name]
                unknown.append(here)
            elif value is None or (wanted in _OMITTED and value == _OMITTED[wanted] and type(value) is type(_OMITTED[wanted])):
                del obj[name]
            else:
                self._value(value, wanted, here, f"{type_}.{here}", unknown)
                if self._sparse and value in ([], {}) and wanted[0] in "[{":
                    del obj[name]

    def _value(self, value: Any, wanted: str, path: str, field: str, unknown: list[str]) -> None:
        if wanted == "*":
            return
        if wanted[0] == "[":
            self._require(isinstance(value, list), value, "[]" + self._go(wanted[1:]), field)
            for index, item in enumerate(value):
                self._value(item, wanted[1:], f"{path}[{index}]", field, unknown)
        elif wanted[0] == "{":
            self._require(isinstance(value, dict), value, "map[string]" + self._go(wanted[1:]), field)
            for key, member in value.items():
                if member is None and wanted in ("{s", "{S"):
                    value[key] = member = ""
                self._value(member, wanted[1:], f"{path}.{key}", field, unknown)
                if wanted == "{q":
                    value[key] = self._quantity(member)
        elif wanted in _PYTHON:
            fits = isinstance(value, _PYTHON[wanted]) and (not isinstance(value, bool) or wanted in "bB")
            if wanted in "iI" and isinstance(value, float) and value.is_integer():
                raise self._mistyped(value, self._go(wanted), field, f"number {int(value)}")
            self._require(fits, value, self._go(wanted), field)
        else:
            self._require(isinstance(value, dict), value, self._go(wanted), field)
            self._members(value, wanted, path, unknown)

    def _quantity(self, value: Any) -> str:
        """In the one writing that a real API server gives back. Raises 400."""
        try:
            return str(parse(value))
        except ValueError:
            raise malformed(self._root, "v1", WRONG) from None

    def _require(self, fits: bool, value: Any, wanted: str, field: str) -> None:
        if not fits:
            raise self._mistyped(value, wanted, field)

    def _mistyped(self, value: Any, wanted: str, field: str, found: str = "") -> StatusError:
        found = found or (
            "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "string" if isinstance(value, str) else "bool"
        )
        if found == "bool" and not isinstance(value, bool):
            found = "number"
        problem = f"json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"
        return bad_request(f'{self._root} in version "v1" cannot be handled as a {self._root}: {problem}')

    def _go(self, type_: str) -> str:
        if type_[0] == "[":
            return "[]" + self._go(type_[1:])
        return _GO.get(type_) or f"v1.{type_}"
