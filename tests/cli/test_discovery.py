"""What the API server serves, noticed when it comes later."""

from __future__ import annotations

import asyncio

import pytest

from rayfleet.cli import discovery
from rayfleet.cli.discovery import until_served
from tests.kube.fakeapi import Fault, running
from tests.kube.test_client import THINGS
from tests.parity.stage import until


@pytest.mark.parametrize("everywhere", [True, False])
async def test_who_may_not_watch_definitions_asks_now_and_then_what_is_served(monkeypatch: pytest.MonkeyPatch, everywhere: bool) -> None:
    monkeypatch.setattr(discovery, "LOOK", 0.01)
    async with running() as api:
        api.unserved.add(THINGS.plural)
        api.faults.append(Fault("GET", "customresourcedefinitions", 403, "Forbidden", times=2**31))

        async def asked() -> bool:
            return len(api.seen("GET", "/apis/example.com/v1")) > 2

        noticed = asyncio.create_task(until_served(api.connection, THINGS, everywhere=everywhere))
        await until(asked, what="it never asks")
        assert not noticed.done()
        assert len(api.seen("GET", "customresourcedefinitions")) == everywhere, "once, and of single namespaces never"
        api.unserved.clear()
        await asyncio.wait_for(noticed, 60.0)
