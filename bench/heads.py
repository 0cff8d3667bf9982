"""Ray's dashboards of all hollow heads in one process: the Jobs and the Serve API at every address that a hollow Pod may have.

usage: python -m bench.heads [SECONDS]      SECONDS is how long each answer takes

A head is known by the address at which it is asked: the range is local to the machine (see `bench.ground.reachable`). Port 8265
answers, 8266 takes connections and never does. At 127.0.0.1 the bench itself asks: GET gives the calls so far by kind, POST /STATUS ends
all jobs so. As it shares the processors with what is measured, it speaks no more HTTP than it hears.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter

from rayfleet.api.meta import Key
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.serve import HEALTH
from rayfleet.sim.ray_jobs import FakeRay
from rayfleet.sim.serve import FakeServe

DASHBOARD, DEAF, SERVE = 8265, 8266, 8000
BACKLOG = 4096
LENGTH = "content-length:"
SPAN = "10.128.0.0/10"
"""Addresses of hollow Pods (`rayfleet.kubelet.hollow`)."""


class Heads:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.serve = FakeServe(time.time)
        self.jobs: dict[str, FakeRay] = {}
        self.counts: Counter[str] = Counter()

    async def answer(self, address: str, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if address == "127.0.0.1":
            return self.obey(method, path)
        self.counts[f"{method} {'/'.join(path.split('/')[:3])}"] += 1
        await asyncio.sleep(self.seconds)
        call = Question(path, None) if method == "GET" else Act(method, path, body)
        if path.startswith("/api/serve") or path == HEALTH:
            return await self.serve(Target(Key("default", address), "", address, pod=address), call)
        return self.of_jobs(address, call)

    def obey(self, method: str, path: str) -> tuple[int, bytes]:
        if method == "POST":
            for ray in self.jobs.values():
                ray.turn(path.rpartition("/")[2])
        return 200, json.dumps(self.counts).encode()

    def of_jobs(self, address: str, call: Question | Act) -> tuple[int, bytes]:
        """A job runs as soon as it is taken."""
        ray = self.jobs.setdefault(address, FakeRay(f"session_{len(self.jobs)}"))
        if isinstance(call, Question):
            return ray.get(call.path)
        answer = ray.post(call)
        ray.turn("RUNNING")
        return answer


class Wire(asyncio.Protocol):
    """One connection: one request after the other, each with its length or without a body."""

    def __init__(self, heads: Heads) -> None:
        self.heads = heads
        self.heard = b""
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.address = transport, transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self.heard += data
        head, found, rest = self.heard.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        length = next((int(line[len(LENGTH) :]) for line in lines if line.lower().startswith(LENGTH)), 0)
        if not found or len(rest) < length:
            return
        self.heard = b""
        method, path, _ = lines[0].split(" ", 2)
        task = asyncio.create_task(self.reply(method, path.partition("?")[0], rest))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def reply(self, method: str, path: str, body: bytes) -> None:
        status, content = await self.heads.answer(self.address, method, path, body)
        self.transport.write(
            b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(content)) + content
        )


class Deaf(asyncio.Protocol):
    """A connection on which nothing is ever said."""


async def main(seconds: float) -> None:
    heads, loop = Heads(seconds), asyncio.get_running_loop()
    for port in (DASHBOARD, SERVE):
        await loop.create_server(lambda: Wire(heads), "0.0.0.0", port, backlog=BACKLOG)
    await loop.create_server(Deaf, "0.0.0.0", DEAF, backlog=BACKLOG)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
