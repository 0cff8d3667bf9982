"""exec, attach and port-forward as the kubelet's own port serves them, whoever asks: plain WebSockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, STATUS, CLOSE = b"\0", b"\1", b"\2", b"\3", b"\xff"


class Caller:
    """One WebSocket, and what came through it by channels."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.heard: dict[bytes, bytes] = {}

    async def hear_until(self, channel: bytes, text: bytes) -> None:
        while text not in self.heard.get(channel, b""):
            message = await self.socket.receive_bytes(timeout=120)
            self.heard[message[:1]] = self.heard.get(message[:1], b"") + message[1:]

    async def status(self) -> dict[str, Any]:
        await self.hear_until(STATUS, b"}")
        return msgspec.json.decode(self.heard[STATUS])


@asynccontextmanager
async def calling(path: str, protocol: str = V5, token: str = "") -> AsyncIterator[Caller]:
    async with (
        aiohttp.ClientSession("http://10.88.0.1:10250", headers={"Authorization": f"Bearer {token}"}) as session,
        session.ws_connect(path, protocols=(protocol,)) as socket,
    ):
        assert socket.protocol == protocol
        yield Caller(socket)


def command(*words: str, **flags: str) -> str:
    query = "&".join(f"command={word}" for word in words) + "".join(f"&{name}={value}" for name, value in flags.items())
    return f"/exec/default/a/main?{query}&output=1&error=1"


async def test_a_command_speaks_through_channels_in_either_version(world: World) -> None:
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    for protocol in (V4, V5):
        async with calling(command("sh", "-c", "echo out;echo err>%262;exit 3"), protocol) as caller:
            status = await caller.status()
            assert (caller.heard[STDOUT], caller.heard[STDERR]) == (b"out\n", b"err\n")
            assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
    async with calling(command("cat", input="1")) as caller:
        await caller.socket.send_bytes(STDIN + b"hello")
        await caller.hear_until(STDOUT, b"hello")
        await caller.socket.send_bytes(CLOSE + STDIN)
        assert (await caller.status())["status"] == "Success"


async def test_a_terminal_whose_caller_goes_hangs_up(world: World) -> None:
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()

    async def sleeps() -> bool:
        async with calling(command("ps", "ax", "-o", "args=")) as caller:
            await caller.status()
        return b"sleep 12345" in caller.heard[STDOUT]

    async with calling(command("sh", input="1", tty="1")) as caller:
        await caller.socket.send_bytes(STDIN + b"sleep 12345\n")
        await until("the command runs", sleeps)

    async def ended() -> bool:
        return not await sleeps()

    await until("the terminal has hung up", ended)


async def test_an_input_that_may_be_attached_to_again_stays_open_across_kubelets(bare_world: World) -> None:
    world = bare_world
    await world.start_kubelet_process()
    body = pod("while read line; do echo got $line; done")
    body["spec"]["containers"][0]["stdin"] = True
    await world.apply(body)
    await world.becomes_ready()
    async with calling("/attach/default/a/main?input=1&output=1") as caller:
        await caller.socket.send_bytes(STDIN + b"one\n")
        await caller.hear_until(STDOUT, b"got one\n")
    assert world.process
    world.process.kill()
    await world.process.wait()
    await world.start_kubelet_process()
    async with calling("/attach/default/a/main?input=1&output=1") as caller:
        await caller.socket.send_bytes(STDIN + b"two\n")
        await caller.hear_until(STDOUT, b"got two\n")
    assert (await world.container())["restartCount"] == 0


async def test_a_stranger_is_turned_away(bare_world: World) -> None:
    bare_world.settings = replace(bare_world.settings, token="right")
    await bare_world.start_kubelet()
    await bare_world.apply(pod(FOR_EVER))
    await bare_world.becomes_ready()
    with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
        async with calling(command("true"), token="wrong"):
            pass
    async with calling(command("true"), token="right") as caller:
        assert (await caller.status())["status"] == "Success"
    for path, code in (("/exec/default/a/other", 404), ("/exec/default/nobody/main", 404)):
        with pytest.raises(aiohttp.WSServerHandshakeError, match=str(code)):
            async with calling(path, token="right"):
                pass


async def test_a_forwarding_caller_that_talks_nonsense_is_let_go(world: World) -> None:
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    async with calling("/portForward/default/a", "SPDY/3.1+portforward.k8s.io") as caller:
        await caller.socket.send_bytes(b"\x80\x02\x00\x01\x00\x00\x00\x00")
        assert (await caller.socket.receive(timeout=120)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
