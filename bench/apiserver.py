"""The embedded API alone: writes, memory, lists, watches, its start. The client runs on the same cores.

usage: python -m bench apiserver
"""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figure import show
from bench.process import cpu_of, memory_of

TOKEN, PODS = "bench", "/api/v1/namespaces/default/pods"
COUNT, WRITERS, SIZE = 20_000, 32, 9_000
RATE, SECONDS = 500, 10
PROGRAM = """
import asyncio, sys
from pathlib import Path
from rayfleet.apiserver.server import ApiServerSettings, serve
settings = ApiServerSettings(Path(sys.argv[1]), (("127.0.0.1", int(sys.argv[2])),), tokens={"bench": ("me", ("system:masters",))})
asyncio.run(serve(settings, ready=lambda: print("ready", flush=True)))
"""


class Server:
    """A process of its own, with a state of its own on disk."""

    def __init__(self, state: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        began = time.monotonic()
        command = [sys.executable, "-c", PROGRAM, str(state), str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the server did not start")
        self.boot = time.monotonic() - began

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Line:
    """One kept connection, as plain as possible: what is measured is the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Line:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))

    def send(self, method: str, path: str, body: bytes = b"", media: str = "application/json") -> None:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        head += f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n" if body else "\r\n"
        self._writer.write(head.encode() + body)

    async def answer(self) -> tuple[int, int]:
        """Status code and the length of the body, which is read to its end."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        await self._reader.readexactly(length)
        return int(head[9:12]), length

    async def events(self, count: int, met: list[tuple[str, float]] | None = None) -> None:
        """Reads a watch until so many events were there; `met` gets each one's data.n and the time."""
        await self._reader.readuntil(b"\r\n\r\n")
        while count > 0:
            line = await self._reader.readuntil(b"\n")
            if line.startswith(b'{"type"'):
                count -= 1
                if met is not None:
                    met.append((json.loads(line)["object"]["data"]["n"], time.monotonic()))


def pod(number: int) -> bytes:
    containers = [{"name": "ray", "image": "ray", "env": [{"name": "X", "value": "x" * SIZE}]}]
    return json.dumps({"metadata": {"name": f"pod-{number}", "labels": {"app": "bench"}}, "spec": {"containers": containers}}).encode()


async def create(port: int) -> float:
    """Seconds until all Pods are acknowledged and seen by one watcher."""
    bodies = [pod(number) for number in range(COUNT)]
    watcher = await Line.open(port)
    watcher.send("GET", f"{PODS}?watch=1")
    seen = asyncio.create_task(watcher.events(COUNT))
    numbers = iter(range(COUNT))

    async def write() -> None:
        line = await Line.open(port)
        for number in numbers:
            line.send("POST", PODS, bodies[number])
            code, _ = await line.answer()
            assert code == 201, code

    began = time.monotonic()
    await asyncio.gather(*(write() for _ in range(WRITERS)), seen)
    return time.monotonic() - began


async def read(port: int) -> tuple[float, int]:
    """Seconds for a list of all, and its bytes."""
    line = await Line.open(port)
    began = time.monotonic()
    line.send("GET", PODS)
    code, length = await line.answer()
    assert code == 200, code
    return time.monotonic() - began, length


async def follow(port: int) -> list[float]:
    """Milliseconds from the sending of each write to its event, at a steady rate."""
    maps, sent = "/api/v1/namespaces/default/configmaps", {}
    line, watcher = await Line.open(port), await Line.open(port)
    line.send("POST", maps, b'{"metadata":{"name":"m"},"data":{"n":""}}')
    await line.answer()
    watcher.send("GET", f"{maps}?watch=1&fieldSelector=metadata.name=m")
    met: list[tuple[str, float]] = []
    lines = [await Line.open(port) for _ in range(8)]
    seen = asyncio.create_task(watcher.events(RATE * SECONDS + 1, met))
    begin = time.monotonic() + 0.5

    async def write(which: int) -> None:
        for number in range(which, RATE * SECONDS, len(lines)):
            await asyncio.sleep(max(0.0, begin + number / RATE - time.monotonic()))
            sent[str(number)] = time.monotonic()
            body = f'{{"data":{{"n":"{number}"}}}}'.encode()
            lines[which].send("PATCH", f"{maps}/m", body, "application/merge-patch+json")
            await lines[which].answer()

    await asyncio.gather(*(write(which) for which in range(len(lines))), seen)
    return [1000 * (when - sent[number]) for number, when in met if number]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        boots = []
        for number in range(3):
            server = Server(Path(directory) / f"boot-{number}")
            boots.append(server.boot)
            server.stop()
        show("boot, with the interpreter, best of 3", min(boots), 0.8, "s")
        state = Path(directory) / "state"
        server = Server(state)
        try:
            spent = cpu_of(server.process.pid)
            took = asyncio.run(create(server.port))
            spent = cpu_of(server.process.pid) - spent
            print(f"  creates of 9 KB Pods, durable, one watcher: {COUNT / took:.0f} a second (bound: at least 1000)")
            show("CPU of the server for each, event included", 1e6 * spent / COUNT, 0, "us")
            show("20,000 Pods: resident memory", memory_of(server.process.pid), 600, "MB")
            seconds, length = asyncio.run(read(server.port))
            show(f"list of 20,000 ({length / 1e6:.0f} MB)", seconds, 3, "s")
            delays = asyncio.run(follow(server.port))
            show(f"a write to its watch event at {RATE} writes a second, p50", statistics.median(delays), 2, "ms")
            show("the same, p99", sorted(delays)[len(delays) * 99 // 100], 0, "ms")
        finally:
            server.stop()
        server = Server(state)
        show("boot with 20,000 Pods", server.boot, 0, "s")
        server.stop()


if __name__ == "__main__":
    main()
