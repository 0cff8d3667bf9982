from __future__ import annotations

from functools import partial

import pytest

from testbed.control_plane import ControlPlane
from tests.parity.grounds import embedded, furnish, kubernetes
from tests.parity.stage import Opening
from tests.parity.stage import stage as opened
from tests.parity.verdicts import VERDICTS, table
from tests.testbed.planes import NewControlPlane


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if found := config.stash.get(VERDICTS, None):
        terminalreporter.section("recordings of KubeRay (docs/migration.md says how to read this)")
        for line in table(found):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def furnished(new_control_plane: NewControlPlane) -> ControlPlane:
    """One for all stages, and nobody else's: each stage plays the kubelet itself."""
    return furnish(new_control_plane())


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=pytest.mark.testbed)])
def stage(request: pytest.FixtureRequest) -> Opening:
    """Opens a stage, on each of the two API servers."""
    return partial(opened, on=embedded if request.param == "embedded" else kubernetes(request.getfixturevalue("furnished")))
