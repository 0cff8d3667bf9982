"""Whether a rule fits the types of what it judges, in the sentences of cel-go's checker (common/types, checker/errors.go)."""

from __future__ import annotations

from collections.abc import Mapping

from rayfleet.apiserver.cel.functions import GLOBAL, LIBRARIES, MEMBERS, OPAQUE, called
from rayfleet.apiserver.cel.syntax import Expression, marked, parse, unbounded
from rayfleet.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LITERALS,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
)
from rayfleet.apiserver.regular_expression import fault

Names = Mapping[str, Type]

_NUMBERS = (INT, UINT, DOUBLE)
_ORDERED = (*_NUMBERS, STRING, BYTES, BOOL, TIMESTAMP, DURATION)
_MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_OPTIONAL_MACROS = frozenset({"optMap", "optFlatMap"})
_SEARCHED = {"find": ((STRING,),), "findAll": ((STRING,), (STRING, INT)), "matches": ((STRING,),)}
"""what methods take that search a text"""
_TYPE_NAMES = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"})


class Misfit(Exception):
    """The text is a whole error with the place in the rule marked."""


class Uninstantiable(Exception):
    """It fits, but no program comes of it."""


def check(text: str, names: Names) -> Type:
    """The type of what an expression gives. Raises Misfit; syntax.Unreadable for what is not read here."""
    try:
        return _Checker(text).of(parse(text), names)
    except RecursionError:
        raise unbounded("max recursion depth exceeded") from None


class _Checker:
    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, node: Expression, names: Names) -> Type:
        if node.kind == "literal":
            return LITERALS[node.name]
        if node.kind == "name":
            return self.named(node, names)
        if node.kind == "select":
            return self.selected(node, names)
        if node.kind == "index":
            return self.indexed(node, names)
        inside = () if node.kind == "call" else tuple(self.of(each, names) for each in node.arguments)
        if node.kind == "list":
            return list_of(_common(inside))
        if node.kind == "map":
            return map_of(_common(inside[::2]), _common(inside[1::2]))
        return self.call(node, names)

    def named(self, node: Expression, names: Names) -> Type:
        if node.name in names:
            return names[node.name]
        if node.name in _TYPE_NAMES:
            return DYN
        raise self.misfit(node, f"undeclared reference to '{node.name}' (in container '')")

    def selected(self, node: Expression, names: Names) -> Type:
        assert node.target is not None, "a selection is from something"
        if _is_library(node.target, names):
            return DYN
        target = self.of(node.target, names)
        if node.optional:
            # Optional values are not followed.
            return DYN
        if target.name == "map":
            return target.of[1]
        if target.fields is not None:
            if node.name in target.fields:
                return target.fields[node.name]
            raise self.misfit(node, f"undefined field '{node.name}'")
        if target == DYN:
            return DYN
        raise self.misfit(node, f"type '{target}' does not support field selection")

    def indexed(self, node: Expression, names: Names) -> Type:
        assert node.target is not None, "an index is into something"
        target, key = self.of(node.target, names), self.of(node.arguments[0], names)
        if node.optional or target == DYN or target.fields is not None:
            return DYN
        wanted = {"list": INT, "map": target.of[0] if target.of else DYN}.get(target.name)
        if wanted is None or not _agree(wanted, key):
            raise self.unfit(node, "_[_]", (target, key))
        return target.of[-1]

    def call(self, node: Expression, names: Names) -> Type:
        if node.target is not None and _is_library(node.target, names):
            return DYN
        if node.name == "has" and node.target is None:
            self.of(node.arguments[0], names)
            return BOOL
        if node.target is not None and node.name in _MACROS and len(node.arguments) >= 2:
            return self.comprehension(node, names)
        if node.target is not None and node.name in _OPTIONAL_MACROS and len(node.arguments) == 2:
            # Optional values are not followed.
            self.of(node.target, names)
            self.of(node.arguments[1], {**names, node.arguments[0].name: DYN})
            return DYN
        given = tuple(self.of(each, names) for each in node.arguments)
        if node.target is not None:
            return self.method(node, self.of(node.target, names), given)
        if node.name[0] in "_!-@":
            return self.operator(node, given)
        if node.name not in GLOBAL:
            raise self.misfit(node, f"undeclared reference to '{node.name}' (in container '')")
        if node.name == "size" and (len(given) != 1 or (given[0] != DYN and given[0].name not in MEMBERS["size"])):
            raise self.unfit(node, "size", given)
        return GLOBAL[node.name]

    def method(self, node: Expression, target: Type, given: tuple[Type, ...]) -> Type:
        if node.name not in MEMBERS and node.name not in OPAQUE:
            raise self.misfit(node, f"undeclared reference to '{node.name}' (in container '')")
        found = called(node.name, target)
        if found is None or (node.name in _SEARCHED and not any(map(_all_agree, _SEARCHED[node.name], [given] * 2))):
            raise self.misfit(node, f"found no matching overload for '{node.name}' applied to '{target}.{_listed(given)}'")
        if node.name in _SEARCHED and node.arguments[0].kind == "literal" and (wrong := fault(node.arguments[0].value)):
            if node.name == "matches":
                raise self.misfit(node.arguments[0], "invalid matches argument")
            raise Uninstantiable(f"error parsing regexp: {wrong}")
        return found

    def comprehension(self, node: Expression, names: Names) -> Type:
        """all, exists, exists_one, map, filter: each binds its names to what it goes through."""
        assert node.target is not None, "a macro is called on something"
        target, body = self.of(node.target, names), node.arguments[-1]
        if target.name not in ("list", "map", "dyn") and target.fields is None:
            why = f"expression of type '{target}' cannot be range of a comprehension (must be list, map, or dynamic)"
            raise self.misfit(node.target, why)
        item = target.of[0] if target.of else DYN
        bound = {**names, node.arguments[0].name: item}
        middle = node.arguments[1:-1]
        if middle and node.name != "map":
            bound |= {node.arguments[0].name: INT if target.name == "list" else item, middle[0].name: target.of[-1] if target.of else DYN}
        elif middle:
            self.of(middle[0], bound)
        found = self.of(body, bound)
        if node.name == "map":
            return list_of(found)
        self.require_truth(body, found)
        return list_of(item) if node.name == "filter" else BOOL

    def require_truth(self, node: Expression, found: Type) -> None:
        if found not in (BOOL, DYN):
            raise self.misfit(node, f"expected type 'bool' but found '{found}'")

    def operator(self, node: Expression, given: tuple[Type, ...]) -> Type:
        for part, type_ in zip(node.arguments, given, strict=True) if node.name in ("_&&_", "_||_") else ():
            self.require_truth(part, type_)
        found = _operated(node.name, given)
        if found is None:
            raise self.unfit(node, node.name, given)
        return found

    def unfit(self, node: Expression, name: str, given: tuple[Type, ...]) -> Misfit:
        return self.misfit(node, f"found no matching overload for '{name}' applied to '{_listed(given)}'")

    def misfit(self, node: Expression, why: str) -> Misfit:
        return Misfit(marked(self._text, node.at, why))


def _operated(name: str, given: tuple[Type, ...]) -> Type | None:
    """None: not for these types."""
    if name in ("_&&_", "_||_", "!_"):
        return BOOL if all(each in (BOOL, DYN) for each in given) else None
    if name == "-_":
        return given[0] if given[0] in (INT, DOUBLE, DURATION, DYN) else None
    if name == "_?_:_":
        return _common(given[1:]) if given[0] in (BOOL, DYN) and _agree(given[1], given[2]) else None
    left, right = given
    if name in ("_==_", "_!=_"):
        return BOOL if _agree(left, right) else None
    if name == "@in":
        return BOOL if right == DYN or (right.name in ("list", "map") and _agree(left, right.of[0])) or right.fields is not None else None
    if DYN in given:
        return BOOL if "<" in name or ">" in name else DYN
    if "<" in name or ">" in name:
        return BOOL if left in _ORDERED and (left == right or (left in _NUMBERS and right in _NUMBERS)) else None
    return _reckoned(name, left, right)


def _reckoned(name: str, left: Type, right: Type) -> Type | None:
    if left in _NUMBERS:
        return left if left == right and (name != "_%_" or left != DOUBLE) else None
    if name == "_+_" and (left in (STRING, BYTES, DURATION) or left.name == "list") and _agree(left, right):
        return left
    if name in ("_+_", "_-_") and left in (TIMESTAMP, DURATION) and right in (TIMESTAMP, DURATION):
        both = left == right == TIMESTAMP
        return DURATION if both or left == right else TIMESTAMP
    return None


def _all_agree(wanted: tuple[Type, ...], given: tuple[Type, ...]) -> bool:
    return len(wanted) == len(given) and all(map(_agree, wanted, given))


def _agree(left: Type, right: Type) -> bool:
    if DYN in (left, right) or NULL in (left, right):
        # Kubernetes compares nothing but messages with null; a rule that does gives false, and is left alone.
        return True
    if left.fields is not None or right.fields is not None:
        return (left.fields is not None and right.fields is not None) or "map" in (left.name, right.name)
    return left.name == right.name and all(map(_agree, left.of, right.of))


def _common(types: tuple[Type, ...]) -> Type:
    known = [each for each in types if each != NULL]
    return known[0] if known and all(each == known[0] for each in known) else DYN


def _is_library(target: Expression, names: Names) -> bool:
    return target.kind == "name" and target.name in LIBRARIES and target.name not in names


def _listed(given: tuple[Type, ...]) -> str:
    return f"({', '.join(map(str, given))})"
