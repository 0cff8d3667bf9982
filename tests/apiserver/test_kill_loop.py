"""kill -9 again and again, in the middle of writes. RAYFLEET_KILLS says how often (40)."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp

from tests.apiserver.manifests import CONFIGMAPS, configmap
from tests.apiserver.peer import Peer, until
from tests.apiserver.test_durability import TOKEN, free_port

KILLS = int(os.environ.get("RAYFLEET_KILLS", "40"))
WRITERS, NAMES = 4, 12
ABSENT = "absent"

# The modules are loaded once; each server is a fork, so that a start takes a tenth of a second. The end of our input ends the last one.
NURSERY = """
import asyncio, os, signal, sys
from pathlib import Path
from rayfleet.apiserver.server import ApiServerSettings, serve
state, port, token = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
settings = ApiServerSettings(state, (("127.0.0.1", port),), tokens={token: ("me", ("system:masters",))})
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = 0
for line in sys.stdin:
    child = os.fork()
    if not child:
        asyncio.run(serve(settings, ready=lambda: print(os.getpid(), flush=True)))
        os._exit(0)
if child:
    os.kill(child, signal.SIGKILL)
"""


class Book:
    """What was acknowledged, and what was asked for without an answer: that may have happened or not."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.asked: dict[str, str] = {}
        self.version = 0
        self.acknowledged = 0

    def check(self, listed: dict[str, Any]) -> None:
        kept = {item["metadata"]["name"]: item["data"]["k"] for item in listed["items"] if item["metadata"]["name"].startswith("w")}
        assert int(listed["metadata"]["resourceVersion"]) >= self.version
        for name in self.known.keys() | self.asked.keys():
            found = kept.get(name, ABSENT)
            assert found in (self.known.get(name, ABSENT), self.asked.get(name)), f"{name}: {found}"
            self.known[name] = found
        assert kept.keys() <= self.known.keys()
        self.asked.clear()


async def write(peer: Peer, book: Book, worker: int) -> None:
    """Creates, changes and deletes until the server is gone."""
    while True:
        name = f"w{worker}-{random.randrange(NAMES)}"
        path, value = f"{CONFIGMAPS}/{name}", str(random.random())
        if book.known.get(name, ABSENT) == ABSENT:
            book.asked[name] = value
            answer = await peer.create(CONFIGMAPS, configmap(name, {"k": value}))
        elif random.random() < 0.3:
            book.asked[name] = value = ABSENT
            answer = await peer.delete(path)
        else:
            book.asked[name] = value
            answer = await peer.patch(path, {"data": {"k": value}})
        assert answer.status in (200, 201), answer
        book.known[name] = book.asked.pop(name)
        book.version = max(book.version, int(answer.body["metadata"].get("resourceVersion") or 0))
        book.acknowledged += 1


async def test_every_acknowledged_write_outlives_every_kill(tmp_path: Path) -> None:
    port, book = free_port(), Book()
    command = [sys.executable, "-c", NURSERY, str(tmp_path), str(port), TOKEN]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = asyncio.subprocess.PIPE
    nursery = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=environment)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    try:
        for _ in range(KILLS):
            nursery.stdin.write(b"another\n")
            server = int(await asyncio.wait_for(nursery.stdout.readline(), 120))
            peer = Peer(f"http://127.0.0.1:{port}", TOKEN)
            book.check((await peer.get(CONFIGMAPS)).body)
            writers = [asyncio.create_task(write(peer, book, worker)) for worker in range(WRITERS)]
            enough = book.acknowledged + random.randrange(1, 60)

            async def written(enough: int = enough) -> bool:
                return book.acknowledged >= enough

            await until(written, 120)
            os.kill(server, signal.SIGKILL)
            ends = await asyncio.gather(*writers, return_exceptions=True)
            assert all(isinstance(end, (aiohttp.ClientError, ConnectionError)) for end in ends), ends
            await peer.close()
    finally:
        nursery.stdin.close()
        await nursery.wait()
