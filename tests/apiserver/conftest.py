from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestServer

from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from tests.apiserver.peer import Peer


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    server = TestServer(ApiServer(Store()).app())
    await server.start_server()
    client = Peer(str(server.make_url("/")))
    yield client
    await client.close()
    await server.close()
