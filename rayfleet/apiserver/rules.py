"""x-kubernetes-validations: CEL rules, compiled and run when an object first meets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, StatusError, invalid_value

_OLD_SELF = re.compile(r"\boldSelf\b")
_ESCAPES = {"_": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"}
    | {"package", "namespace", "return", "var", "void", "while"}
)


class Rule:
    __slots__ = ("_message_program", "_program", "_source", "transition")

    def __init__(self, source: Obj) -> None:
        self._source = source
        self._program: Any = None
        self._message_program: Any = None
        self.transition = bool(_OLD_SELF.search(source["rule"])) and not source.get("optionalOldSelf")

    def check(self, path: str, value: Any, old: Any) -> Cause | None:
        # Ratcheting: an unchanged value is not judged again; a transition needs a past.
        if old is _ABSENT if self.transition else old is not _ABSENT and old == value:
            return None
        names = {"self": _escaped(value) if "__" in self._source["rule"] else value}
        if self.transition:
            names["oldSelf"] = _escaped(old) if "__" in self._source["rule"] else old
        try:
            if self._program is None:
                self._program = compiled(self._source["rule"])
            satisfied = self._program.execute(names)
        except Exception as failure:
            return self._failed(path, value, failure)
        return None if satisfied is True else self._cause(path, value, self._message(names))

    def _failed(self, path: str, value: Any, failure: Exception) -> Cause:
        from rayfleet.apiserver.schema import type_name

        rule = str(self._source.get("message") or self._source["rule"]).strip()
        if isinstance(failure, TypeError):
            why = "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: "
        else:
            why = f"no such key: {failure.args[0]} evaluating rule: " if isinstance(failure, KeyError) else f"{failure} evaluating rule: "
        return invalid_value(path or "<nil>", type_name(value), why + rule)

    def _message(self, names: Obj) -> str:
        if expression := self._source.get("messageExpression"):
            try:
                self._message_program = self._message_program or compiled(expression)
                text = self._message_program.execute(names)
                if isinstance(text, str) and text.strip():
                    return text
            except Exception:
                # As Kubernetes: a broken message falls back to the fixed one.
                pass
        return str(self._source.get("message") or f"failed rule: {self._source['rule'].strip()}")

    def _cause(self, path: str, value: Any, message: str) -> Cause:
        from rayfleet.apiserver.schema import shown

        reason = self._source.get("reason") or "FieldValueInvalid"
        at = f"{path}{self._source.get('fieldPath') or ''}" if path else (self._source.get("fieldPath") or "").lstrip(".") or "<nil>"
        if reason == "FieldValueForbidden":
            return Cause(at, reason, f"Forbidden: {message}")
        if reason == "FieldValueRequired":
            return Cause(at, reason, f"Required value: {message}")
        if reason == "FieldValueDuplicate":
            return Cause(at, reason, f"Duplicate value: {shown(value)}")
        if isinstance(value, (dict, list)):
            return Cause(at, "FieldValueInvalid", f"Invalid value: {message}")
        return Cause(at, "FieldValueInvalid", f"Invalid value: {shown(value)}: {message}")


class Rules:
    """The rules of a schema and of everything below it."""

    __slots__ = ("_children", "_extra", "_items", "_keys", "_own", "any")

    def __init__(self, schema: Obj) -> None:
        self._own = [Rule(rule) for rule in schema.get("x-kubernetes-validations") or ()]
        children = {name: Rules(child) for name, child in (schema.get("properties") or {}).items()}
        self._children = {name: child for name, child in children.items() if child.any}
        items, extra = schema.get("items"), schema.get("additionalProperties")
        self._items = Rules(items) if isinstance(items, dict) else None
        self._extra = Rules(extra) if isinstance(extra, dict) else None
        self._keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if schema.get("x-kubernetes-list-type") == "map" else ()
        below = [*self._children.values(), *(child for child in (self._items, self._extra) if child)]
        self.any: bool = bool(self._own) or any(child.any for child in below)

    def below(self, name: str) -> Rules:
        """Only the rules of one member, at its place."""
        part = Rules({})
        if name in self._children:
            part._children = {name: self._children[name]}
            part.any = True
        return part

    def check(self, obj: Obj, old: Obj | None) -> list[Cause]:
        return list(self._check("", obj, _ABSENT if old is None else old))

    def _check(self, path: str, value: Any, old: Any) -> Iterator[Cause]:
        for rule in self._own:
            if cause := rule.check(path, value, old):
                yield cause
        if isinstance(value, dict):
            yield from self._check_members(path, value, old if isinstance(old, dict) else {})
        elif isinstance(value, list) and self._items is not None and self._items.any:
            # Elements have a past only where keys say which is which.
            past = {self._identity(item): item for item in old} if self._keys and isinstance(old, list) else {}
            for index, item in enumerate(value):
                yield from self._items._check(f"{path}[{index}]", item, past.get(self._identity(item), _ABSENT) if past else _ABSENT)

    def _check_members(self, path: str, value: Obj, old: Obj) -> Iterator[Cause]:
        prefix = f"{path}." if path else ""
        for name, child in self._children.items():
            if name in value:
                yield from child._check(prefix + name, value[name], old.get(name, _ABSENT))
        if self._extra is not None and self._extra.any:
            for name, member in value.items():
                yield from self._extra._check(f"{path}[{name}]", member, old.get(name, _ABSENT))

    def _identity(self, item: Any) -> tuple[Any, ...]:
        return tuple(item.get(key) if isinstance(item, dict) else None for key in self._keys)


def compiled(expression: str) -> Any:
    # 31 MB: only servers that meet a rule pay for them.
    try:
        import cel
    except ImportError as failure:
        text = "validation rules need the package common-expression-language (pip install 'rayfleet[local]')"
        raise StatusError(500, "InternalError", text) from failure
    return cel.compile(expression)


def _escaped(value: Any) -> Any:
    """Member names as CEL sees them: reserved words and signs escaped."""
    if isinstance(value, dict):
        return {escaped_name(key): _escaped(member) for key, member in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def escaped_name(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    escaped = name.replace("__", _ESCAPES["_"])
    for sign in "./-":
        escaped = escaped.replace(sign, _ESCAPES[sign])
    return escaped


_ABSENT = object()
