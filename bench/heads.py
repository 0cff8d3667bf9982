"""Ray's dashboards of all hollow heads in one process: the Jobs and the Serve API at every address that a hollow Pod may have.

usage: python -m bench.heads [SECONDS]      SECONDS is how long each answer takes

A head is known by the address at which it is asked: the range is local to the machine (see `bench.ground.reachable`). Port 8265
answers, 8266 takes connections and never does. At 127.0.0.1 the bench itself asks: GET gives the calls so far by kind, POST /STATUS ends
all jobs so.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter

from aiohttp import web

from rayfleet.api.meta import Key
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.serve import HEALTH
from rayfleet.sim.ray_jobs import FakeRay
from rayfleet.sim.serve import FakeServe

DASHBOARD, DEAF, SERVE = 8265, 8266, 8000
BACKLOG = 4096
SPAN = "10.128.0.0/10"
"""Addresses of hollow Pods (`rayfleet.kubelet.hollow`)."""


class Heads:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.serve = FakeServe(time.time)
        self.jobs: dict[str, FakeRay] = {}
        self.counts: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.Response:
        address = request.transport.get_extra_info("sockname")[0] if request.transport else ""
        if address == "127.0.0.1":
            return self.obey(request)
        self.counts[kind(request)] += 1
        await asyncio.sleep(self.seconds)
        body = await request.read()
        if request.path.startswith("/api/serve") or request.path == HEALTH:
            status, content = await self.serve(Target(Key("default", address), "", address, pod=address), call(request, body))
        else:
            status, content = self.of_jobs(address, request, body)
        return web.Response(status=status, body=content, content_type="application/json")

    def obey(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            for ray in self.jobs.values():
                ray.turn(request.path.rpartition("/")[2])
        return web.json_response(self.counts)

    def of_jobs(self, address: str, request: web.Request, body: bytes) -> tuple[int, bytes]:
        """A job runs as soon as it is taken."""
        ray = self.jobs.setdefault(address, FakeRay(f"session_{len(self.jobs)}"))
        if request.method == "GET":
            return ray.get(request.path)
        answer = ray.post(Act(request.method, request.path, body))
        ray.turn("RUNNING")
        return answer


def call(request: web.Request, body: bytes) -> Question | Act:
    return Question(request.path, None) if request.method == "GET" else Act(request.method, request.path, body)


def kind(request: web.Request) -> str:
    """`GET /api/jobs`, `PUT /api/serve` ..."""
    return f"{request.method} {'/'.join(request.path.split('/')[:3])}"


async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the other side has had enough."""
    while await reader.read(4096):
        pass
    writer.close()


async def main(seconds: float) -> None:
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", Heads(seconds).answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    for port in (DASHBOARD, SERVE):
        await web.TCPSite(runner, "0.0.0.0", port, backlog=BACKLOG).start()
    await asyncio.start_server(deaf, "0.0.0.0", DEAF, backlog=BACKLOG)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
