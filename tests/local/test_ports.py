"""Ports on the host: remembered by name, forgotten when their owner is gone, never given twice."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from rayfleet.local import ports
from rayfleet.local.ports import Ports
from rayfleet.local.state import State


@pytest.fixture(autouse=True)
def free_range(monkeypatch: pytest.MonkeyPatch) -> int:
    """A range of its own, so that what else runs on this machine does not matter."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        first = min(probe.getsockname()[1], 60000)
    monkeypatch.setattr(ports, "FIRST", {"api": first, "dashboard": first})
    return first


@pytest.fixture
async def given(state: State) -> AsyncIterator[Ports]:
    state.make()
    yield Ports(state)


async def nobody(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def opened(given: Ports, name: str) -> int:
    server, port = await given.listen(name, nobody)
    server.close()
    await asyncio.sleep(0)
    return port


async def test_a_name_has_the_same_port_again_after_a_restart(given: Ports, state: State) -> None:
    port = await opened(given, "dashboard/default/a")
    assert await opened(Ports(state), "dashboard/default/a") == port


async def test_a_port_that_another_name_remembers_is_not_given_although_it_is_free(given: Ports) -> None:
    assert await opened(given, "dashboard/default/a") != await opened(given, "dashboard/default/b")


async def test_a_remembered_port_that_somebody_took_is_replaced_and_the_new_one_remembered(given: Ports, state: State) -> None:
    before = await opened(given, "api")
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", before))
        thief.listen()
        after = await opened(Ports(state), "api")
    assert after != before
    assert await opened(Ports(state), "api") == after


async def test_what_went_while_no_door_was_there_is_forgotten_and_the_api_is_not(given: Ports) -> None:
    await opened(given, "api")
    await opened(given, "dashboard/default/a")
    await opened(given, "dashboard/default/b")
    given.keep_only({"dashboard/default/b"})
    assert set(given.given) == {"api", "dashboard/default/b"}


async def test_ports_are_open_to_this_machine_alone(given: Ports) -> None:
    server, _ = await given.listen("api", nobody)
    assert {found.getsockname()[0] for found in server.sockets} == {"127.0.0.1"}
    server.close()
