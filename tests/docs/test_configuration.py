"""docs/configuration.md lists every setting and gate with its flags, variable and default, and no other."""

from __future__ import annotations

from pathlib import Path

import msgspec

import rayfleet
from rayfleet.api.config import FEATURE_GATES, Configuration
from rayfleet.cli.configuration import json_name
from rayfleet.cli.settings import LATER, SETTINGS, UNUSED_GATES
from rayfleet.cli.show_config import text
from tests.docs.tables import rows

DOCUMENT = "configuration.md"


def test_every_setting_is_documented_as_it_is() -> None:
    defaults = msgspec.to_builtins(Configuration())
    found = {row[0]: [cell.replace("`", "") for cell in row[1:4]] for row in rows(DOCUMENT) if len(row) == 5}
    assert found == {json_name(each.field): [", ".join(each.flags), each.env, text(defaults[json_name(each.field)])] for each in SETTINGS}
    assert all(row[4] for row in rows(DOCUMENT) if len(row) == 5)


def test_what_is_called_unused_for_now_is_read_nowhere_and_all_else_is_not_called_so() -> None:
    package = Path(rayfleet.__file__).parent
    sources = [path.read_text() for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in ("api", "cli")]
    waiting = {json_name(each.field): f".{each.field}" for each in SETTINGS if each.unused == LATER}
    waiting |= {gate: f'gate("{gate}")' for gate, why in UNUSED_GATES.items() if why == LATER}
    assert [name for name, used in waiting.items() if any(used in source for source in sources)] == []
    assert {row[0] for row in rows(DOCUMENT) if LATER in row[-1]} == set(waiting)


def test_every_field_of_the_file_is_documented() -> None:
    fields = {each.encode_name for each in msgspec.structs.fields(Configuration)} - {"apiVersion", "kind", "featureGates"}
    assert {row[0] for row in rows(DOCUMENT) if len(row) in (2, 5)} == fields


def test_every_gate_is_documented_with_its_default() -> None:
    assert {row[0]: row[1] == "`true`" for row in rows(DOCUMENT) if len(row) == 3} == dict(FEATURE_GATES)
