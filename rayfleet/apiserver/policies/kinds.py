"""ValidatingAdmissionPolicy and its binding: defaults, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver.cel import checker, syntax
from rayfleet.apiserver.cel.program import program
from rayfleet.apiserver.cel.types import BOOL, DYN, STRING, Type
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, invalid_value, not_supported, required

ACTIONS, FAILURES = ("Audit", "Deny", "Warn"), ("Fail", "Ignore")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_NOTHING = "validations or auditAnnotations must contain at least one item"


def default_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if isinstance(constraints := spec.get("matchConstraints"), dict):
        _default_match(constraints)


def default_binding(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if isinstance(resources := spec.get("matchResources"), dict):
        _default_match(resources)
    if isinstance(reference := spec.get("paramRef"), dict) and reference.get("selector") == {}:
        reference["selector"] = {}


def _default_match(constraints: Obj) -> None:
    constraints.setdefault("matchPolicy", "Equivalent")
    constraints.setdefault("namespaceSelector", {})
    constraints.setdefault("objectSelector", {})
    for rule in [*(constraints.get("resourceRules") or ()), *(constraints.get("excludeResourceRules") or ())]:
        rule.setdefault("scope", "*")


def check_policy(obj: Obj, old: Obj | None) -> list[Cause]:
    return list(_check_policy(obj["spec"]))


def _check_policy(spec: Obj) -> Iterator[Cause]:
    if spec.get("failurePolicy") not in FAILURES:
        yield not_supported("spec.failurePolicy", spec.get("failurePolicy"), FAILURES)
    if not spec.get("matchConstraints"):
        yield required("spec.matchConstraints")
    elif not spec["matchConstraints"].get("resourceRules"):
        yield required("spec.matchConstraints.resourceRules")
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        yield required("spec.validations", _NOTHING)
        yield required("spec.auditAnnotations", _NOTHING)
    names: dict[str, Type] = dict.fromkeys(("object", "oldObject", "request", "namespaceObject", "authorizer"), DYN)
    if spec.get("paramKind"):
        names["params"] = DYN
    for index, condition in enumerate(spec.get("matchConditions") or ()):
        yield from _check_expression(condition, f"spec.matchConditions[{index}].expression", names, BOOL)
    fields: dict[str, Type] = {}
    for index, variable in enumerate(spec.get("variables") or ()):
        inner = {**names, "variables": Type("kubernetes.variables", fields=dict(fields))} if fields else names
        yield from _check_expression(variable, f"spec.variables[{index}].expression", inner, None)
        fields[variable.get("name", "")] = DYN
    if fields:
        names["variables"] = Type("kubernetes.variables", fields=fields)
    for index, validation in enumerate(spec.get("validations") or ()):
        path = f"spec.validations[{index}]"
        yield from _check_expression(validation, f"{path}.expression", names, BOOL)
        if (validation.get("messageExpression") or "").strip():
            yield from _check_expression(validation, f"{path}.messageExpression", names, STRING, "messageExpression")
        if (reason := validation.get("reason")) and reason not in REASONS:
            yield not_supported(f"{path}.reason", reason, REASONS)


def _check_expression(of: Obj, path: str, names: dict[str, Type], wanted: Type | None, member: str = "expression") -> Iterator[Cause]:
    text: Any = of.get(member) or ""
    if not text.strip():
        yield required(path, "expression is not specified")
        return
    try:
        found = checker.check(text, names)
        program(text)
    except (checker.Misfit, syntax.Unreadable) as failure:
        yield invalid_value(path, text, f"compilation failed: {failure}")
        return
    if wanted is not None and found not in (wanted, DYN):
        yield invalid_value(path, text, f"must evaluate to {wanted} but got {found}")


def check_binding(obj: Obj, old: Obj | None) -> list[Cause]:
    return list(_check_binding(obj["spec"]))


def _check_binding(spec: Obj) -> Iterator[Cause]:
    if not spec.get("policyName"):
        yield required("spec.policyName")
    actions = spec.get("validationActions") or ()
    if not actions:
        yield required("spec.validationActions")
    for index, action in enumerate(actions):
        if action not in ACTIONS:
            yield not_supported(f"spec.validationActions[{index}]", action, ACTIONS)
    if {"Deny", "Warn"} <= set(actions):
        why = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers "
        yield invalid_value("spec.validationActions", list(actions), why + "serves no purpose)")
