"""What a validation rule of a schema (x-kubernetes-validations) must satisfy before it judges anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rayfleet.apiserver.cel import checker, syntax
from rayfleet.apiserver.cel.program import program
from rayfleet.apiserver.cel.types import BOOL, DYN, STRING, Type, type_of
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, invalid_value, not_supported, required

REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\['([^']+)'\]|\[\"([^\"]+)\"\]")
_OLD = re.compile(r"\boldSelf\b")


def check_rules(schema: Obj, path: str, *, root: bool = True, lost: str = "") -> Iterator[Cause]:
    """`lost`: the list above whose items have no past, as nothing says which is which."""
    rules = schema.get("x-kubernetes-validations") or ()
    seen = type_of(schema, root=root) if rules else None
    for index, rule in enumerate(rules):
        yield from _check_rule(rule, schema, f"{path}.x-kubernetes-validations[{index}]", seen, lost)
    for name, child in (schema.get("properties") or {}).items():
        yield from check_rules(child, f"{path}.properties[{name}]", root=False, lost=lost)
    if isinstance(extra := schema.get("additionalProperties"), dict):
        yield from check_rules(extra, f"{path}.additionalProperties", root=False, lost=lost)
    if isinstance(items := schema.get("items"), dict):
        known = schema.get("x-kubernetes-list-type") == "map"
        yield from check_rules(items, f"{path}.items", root=False, lost=lost or ("" if known else path))


def _check_rule(rule: Obj, schema: Obj, path: str, seen: Type | None, lost: str) -> Iterator[Cause]:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    if "message" in rule and not message.strip():
        yield invalid_value(f"{path}.message", message, "message must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        yield invalid_value(f"{path}.message", message, "must not contain line breaks")
    elif "\n" in text.strip() and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if (reason := rule.get("reason")) and reason not in REASONS:
        yield not_supported(f"{path}.reason", reason, REASONS)
    if (field := rule.get("fieldPath")) and not _leads_somewhere(field, schema):
        yield invalid_value(f"{path}.fieldPath", field, "must be a valid path")
    if lost and _OLD.search(text):
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}"
        yield invalid_value(f"{path}.rule", text, why)
    if text.strip() and seen is not None:
        yield from _check_expression(rule, "rule", path, seen, BOOL, "cel expression must evaluate to a bool")
    if (rule.get("messageExpression") or "").strip() and seen is not None:
        yield from _check_expression(rule, "messageExpression", path, seen, STRING, "messageExpression must evaluate to a string")


def _check_expression(rule: Obj, member: str, path: str, seen: Type, wanted: Type, otherwise: str) -> Iterator[Cause]:
    text = rule[member]
    kind = "messageExpression compilation failed" if member == "messageExpression" else "compilation failed"
    try:
        found = checker.check(text, {"self": seen, "oldSelf": DYN if rule.get("optionalOldSelf") else seen})
        program(text)
    except checker.Misfit as misfit:
        yield _refused(rule, f"{path}.{member}", f"{kind}: {misfit}")
        return
    except checker.Uninstantiable as wrong:
        yield _refused(rule, f"{path}.{member}", f"program instantiation failed: {wrong}")
        return
    except syntax.Unreadable as wrong:
        yield _refused(rule, f"{path}.{member}", f"{kind}: {wrong}")
        return
    if found not in (wanted, DYN):
        yield _refused(rule, f"{path}.{member}", otherwise)


def _refused(rule: Obj, field: str, why: str) -> Cause:
    """Kubernetes shows its own structure."""
    shown = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return invalid_value(field, shown, why)


def _leads_somewhere(path: str, schema: Obj) -> bool:
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        name = found and (found[1] or found[2] or found[3])
        below = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties")
        if not found or not isinstance(below, dict):
            return False
        schema, at = below, found.end()
    return True
