"""`rayfleet render` makes what the peer was recorded to make, but for the differences that are named and meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from rayfleet.cli.main import rayfleet
from tests.parity.canonical import Json
from tests.parity.compare import compared, grouped
from tests.parity.configurations import arguments, environment
from tests.parity.named import named, unnamed
from tests.parity.recording import Recording, names, recording

ENVIRONMENT = {"KUBECONFIG": "", "HOME": "/nonexistent"}


@pytest.mark.parametrize("name", names())
def test_the_children_are_those_of_the_recording(name: str, tmp_path: Path) -> None:
    assert unnamed(name, differences(recording(name), tmp_path)) == []


def test_every_reason_stands_in_the_documentation() -> None:
    text = Path("docs/differences.md").read_text()
    assert [row.reason for row in named() if row.reason not in text] == []


def differences(case: Recording, directory: Path) -> list[str]:
    return list(compared(case.creates, grouped(rendered(case, directory), "demo")))


def rendered(case: Recording, directory: Path) -> list[Json]:
    """Nothing, where the spec is refused."""
    file = directory / "input.yaml"
    file.write_text(yaml.safe_dump_all(case.input))
    flags = arguments(case.configuration, directory)
    words = ["render", "-f", str(file), "-o", "json", *flags]
    result = CliRunner().invoke(rayfleet, words, env={**ENVIRONMENT, **environment(case.configuration)}, prog_name="rayfleet")
    assert result.exit_code in (0, 1), result.output
    found = json.loads(result.stdout or "[]")
    return list(found["items"] if isinstance(found, dict) else found)
