"""docs/configuration.md lists every setting and gate with its flags, variable and default, and no other."""

from __future__ import annotations

import msgspec

from rayfleet.api.config import FEATURE_GATES, Configuration
from rayfleet.cli.configuration import json_name
from rayfleet.cli.settings import SETTINGS
from rayfleet.cli.show_config import text
from tests.docs.tables import rows

DOCUMENT = "configuration.md"


def test_every_setting_is_documented_as_it_is() -> None:
    defaults = msgspec.to_builtins(Configuration())
    found = {row[0]: [cell.replace("`", "") for cell in row[1:4]] for row in rows(DOCUMENT) if len(row) == 5}
    assert found == {json_name(each.field): [", ".join(each.flags), each.env, text(defaults[json_name(each.field)])] for each in SETTINGS}
    assert all(row[4] for row in rows(DOCUMENT) if len(row) == 5)


def test_every_field_of_the_file_is_documented() -> None:
    fields = {each.encode_name for each in msgspec.structs.fields(Configuration)} - {"apiVersion", "kind", "featureGates"}
    assert {row[0] for row in rows(DOCUMENT) if len(row) in (2, 5)} == fields


def test_every_gate_is_documented_with_its_default() -> None:
    assert {row[0]: row[1] == "`true`" for row in rows(DOCUMENT) if len(row) == 3} == dict(FEATURE_GATES)
