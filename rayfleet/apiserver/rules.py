"""x-kubernetes-validations: CEL rules, made ready when an object first meets them. All that judge one write share one budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.cel.program import COST_LIMIT, program
from rayfleet.apiserver.cel.seen import Seen
from rayfleet.apiserver.cel.syntax import Unreadable
from rayfleet.apiserver.cel.values import NONE, Budget, Exhausted, Failure, NoOverload, Optional
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, invalid_value

_OLD_SELF = re.compile(r"\boldSelf\b")


class Rule:
    __slots__ = ("_seen", "_source", "_text", "optional", "transition")

    def __init__(self, source: Obj, seen: Seen) -> None:
        self._source = source
        self._text: str = source["rule"]
        self._seen = seen
        past = bool(_OLD_SELF.search(self._text))
        self.optional = past and bool(source.get("optionalOldSelf"))
        self.transition = past and not self.optional

    def check(self, path: str, value: Any, old: Any, budget: Budget) -> Cause | None:
        # Ratcheting: an unchanged value is not judged again; a transition needs a past.
        if old is _ABSENT if self.transition else old is not _ABSENT and old == value:
            return None
        names = {"self": self._seen.of(value)}
        if self.transition:
            names["oldSelf"] = self._seen.of(old)
        elif self.optional:
            names["oldSelf"] = NONE if old is _ABSENT else Optional(self._seen.of(old))
        try:
            satisfied = program(self._text).execute(names, budget)
        except (Failure, Unreadable) as failure:
            return self._failed(path, value, failure)
        return None if satisfied is True else self._cause(path, value, self._message(names, budget))

    def _failed(self, path: str, value: Any, failure: Exception) -> Cause:
        from rayfleet.apiserver.schema import type_name

        rule = str(self._source.get("message") or self._text).strip()
        if isinstance(failure, NoOverload):
            why = f"'{failure}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        elif isinstance(failure, Exhausted):
            why = f"'{failure}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
        else:
            why = f"{failure} evaluating rule: {rule}"
        return invalid_value(path or "<nil>", type_name(value), why)

    def _message(self, names: Obj, budget: Budget) -> str:
        if expression := self._source.get("messageExpression"):
            try:
                text = program(expression).execute(names, budget)
                if isinstance(text, str) and text.strip():
                    return text
            except (Failure, Unreadable):
                # As Kubernetes: a broken message falls back to the fixed one.
                pass
        return str(self._source.get("message") or f"failed rule: {self._text.strip()}")

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
        rules = schema.get("x-kubernetes-validations") or ()
        seen = Seen(schema) if rules else None
        self._own = [Rule(rule, seen) for rule in rules if seen]
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
        budget, causes = Budget(COST_LIMIT), []
        for cause in self._check("", obj, _ABSENT if old is None else old, budget):
            causes.append(cause)
            if budget.left < 0:
                break
        return causes

    def _check(self, path: str, value: Any, old: Any, budget: Budget) -> Iterator[Cause]:
        for rule in self._own:
            if cause := rule.check(path, value, old, budget):
                yield cause
        if isinstance(value, dict):
            yield from self._check_members(path, value, old if isinstance(old, dict) else {}, budget)
        elif isinstance(value, list) and self._items is not None and self._items.any:
            # Elements have a past only where keys say which is which.
            past = {self._identity(item): item for item in old} if self._keys and isinstance(old, list) else {}
            for index, item in enumerate(value):
                yield from self._items._check(
                    f"{path}[{index}]", item, past.get(self._identity(item), _ABSENT) if past else _ABSENT, budget
                )

    def _check_members(self, path: str, value: Obj, old: Obj, budget: Budget) -> Iterator[Cause]:
        prefix = f"{path}." if path else ""
        for name, child in self._children.items():
            if name in value:
                yield from child._check(prefix + name, value[name], old.get(name, _ABSENT), budget)
        if self._extra is not None and self._extra.any:
            for name, member in value.items():
                yield from self._extra._check(f"{path}[{name}]", member, old.get(name, _ABSENT), budget)

    def _identity(self, item: Any) -> tuple[Any, ...]:
        return tuple(item.get(key) if isinstance(item, dict) else None for key in self._keys)


_ABSENT = object()
