from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kubelet.namespaces import own_network, refusal
from tests.kubelet.world import World


@pytest.fixture(scope="session")
def namespaces() -> None:
    if why := refusal():
        pytest.skip(f"namespaces are refused here: {why}")


@pytest.fixture
def network(namespaces: None) -> Iterator[None]:
    with own_network():
        yield


@pytest_asyncio.fixture
async def bare_world(network: None, tmp_path: Path) -> AsyncIterator[World]:
    """The API alone."""
    world = World(tmp_path, Path(sys.prefix))
    await world.open()
    try:
        yield world
    finally:
        await world.close()


@pytest_asyncio.fixture
async def world(bare_world: World) -> World:
    """The API and a kubelet, in this process."""
    await bare_world.start_kubelet()
    return bare_world
