"""A ValidatingAdmissionPolicy and its binding as manifests.

Source of the form: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rayfleet.api.meta import Resource

Manifest = dict[str, Any]


class Check(NamedTuple):
    """`expression` in CEL is true for what is good; `message` says what must be."""

    expression: str
    message: str


class Variable(NamedTuple):
    name: str
    expression: str


def policy(
    name: str,
    kinds: Sequence[Resource],
    conditions: list[dict[str, str]],
    variables: Sequence[Variable],
    checks: Sequence[Check],
    reason: str,
) -> Manifest:
    """`reason` is that of the refusal. Every kind is matched in each of the groups of `kinds`."""
    groups, plurals = (list(dict.fromkeys(found)) for found in ([each.group for each in kinds], [each.plural for each in kinds]))
    rule = {"apiGroups": groups, "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": plurals}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
            "matchConditions": conditions,
            "variables": [{"name": each.name, "expression": each.expression} for each in variables],
            "validations": [{"expression": each.expression, "message": each.message, "reason": reason} for each in checks],
        },
    }


def binding(name: str) -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
