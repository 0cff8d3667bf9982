from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.local.end import end
from rayfleet.local.namespaces import start_holder
from rayfleet.local.state import State


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    """A state directory with a name of its own; whatever fleet a test starts in it is ended."""
    place = State(tmp_path / f"fleet-{secrets.token_hex(4)}")
    yield place
    assert end(place, forget=True).left == ()


@pytest.fixture
def held(state: State) -> State:
    """A state directory with a living holder, and nothing else."""
    state.make()
    start_holder(state)
    return state
