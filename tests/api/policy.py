"""A policy's CEL, as an API server would run it on one object."""

from __future__ import annotations

from functools import cache
from typing import Any

import cel

from rayfleet.api.policies import SPEC_CHECKS, SPEC_VARIABLES, Check


@cache
def program(expression: str) -> Any:
    return cel.compile(expression)


def refusals(document: dict[str, Any]) -> list[Check]:
    """The checks that an object does not pass; one that cannot be run counts as not passed (`failurePolicy: Fail`)."""
    names: dict[str, Any] = {"object": document, "variables": {}}
    for variable in SPEC_VARIABLES:
        try:
            names["variables"][variable.name] = program(variable.expression).execute(names)
        except Exception:  # as on an API server: whoever uses the variable fails
            continue
    return [check for check in SPEC_CHECKS if not passes(check, names)]


def passes(check: Check, names: dict[str, Any]) -> bool:
    try:
        return program(check.expression).execute(names) is True
    except Exception:
        return False
