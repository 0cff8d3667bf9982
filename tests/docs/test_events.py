"""docs/events.md lists every reason that the code can give an Event, and no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import rayfleet
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, PODS, RAYCLUSTERS, ROUTES, SERVICES
from rayfleet.planning.actions import deed
from rayfleet.raycluster.children import OTHERS, UNREAD, target
from tests.docs.tables import rows
from tests.raycluster.vocabulary import cluster, observed

PACKAGES = ("planning", "raycluster", "rayjob", "raycronjob", "rayservice", "legacy", "runtime")
KEYWORDS = ("event", "failed_event")
TOLD = {"Event": 1, "_tell": 2, "_fail": 3, "release": 2}  # which argument is the reason
RETURNS = ("reason_of",)


def test_every_reason_is_documented_and_nothing_else_is() -> None:
    found = {reason for package in PACKAGES for file in files(package) for reason in reasons(ast.parse(file.read_text()))}
    of = observed(cluster())
    for resource in (SERVICES, *OTHERS, ROUTES):
        for verb in ("Create",) if resource in UNREAD else ("Create", "Update", "Delete"):
            made = target(of, resource, "x", verb)
            found |= {made["event"], made["failed_event"]}
    of_old = (*product((RAYCLUSTERS, SERVICES), ("Create", "Update")), (PODS, "Delete"))
    for resource, verb in (*product((GATEWAYS, HTTPROUTES), ("Create", "Update", "Delete")), *of_old):
        made = deed(verb, resource, "default", "x")
        found |= {made["event"], made["failed_event"]}
    assert found == {row[0] for row in rows("events.md")}


def test_failures_are_warnings_and_deeds_are_not() -> None:
    normal = {row[0] for row in rows("events.md") if row[1] == "Normal"}
    assert normal == {
        row[0] for row in rows("events.md") if row[0].startswith(("Created", "Updated", "Deleted", "Submitted", "MTLSPKIReady"))
    }


def files(package: str) -> Iterator[Path]:
    return (Path(rayfleet.__file__).parent / package).glob("*.py")


def reasons(tree: ast.AST) -> Iterator[str]:
    """Texts that stand where a reason stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            places = [word.value for word in node.keywords if word.arg in KEYWORDS]
            if name in TOLD and len(node.args) > TOLD[name]:
                places.append(node.args[TOLD[name]])
            yield from (text for place in places for text in texts(place))
        elif isinstance(node, ast.FunctionDef) and node.name in RETURNS:
            yield from (text for part in ast.walk(node) if isinstance(part, ast.Return) and part.value for text in texts(part.value))


def texts(place: ast.AST) -> Iterator[str]:
    for node in ast.walk(place):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:1].isupper():
            yield node.value
