"""A ValidatingAdmissionPolicy and its binding as manifests.

Source of the form: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Manifest = dict[str, Any]


class Check(NamedTuple):
    """`expression` in CEL is true for what is good; `message` says what must be."""

    expression: str
    message: str


class Variable(NamedTuple):
    name: str
    expression: str


def policy(
    name: str, kinds: list[str], conditions: list[dict[str, str]], variables: Sequence[Variable], checks: Sequence[Check], reason: str
) -> Manifest:
    rule = {"apiGroups": ["ray.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": kinds}
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
