from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.control_plane import ControlPlane
from tests.conformance import servers
from tests.conformance.recorded import Answers


@pytest.fixture(scope="session")
def ours() -> Iterator[Answers]:
    """What the embedded API answers, each case asked once a session."""
    with servers.embedded() as peer:
        yield Answers(peer)


@pytest.fixture(scope="session")
def theirs(control_plane: ControlPlane) -> Answers:
    """What the real control plane answers."""
    return Answers(servers.real(control_plane))
