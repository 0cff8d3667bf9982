"""What was acknowledged survives: a restart, and kill -9 at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sqlite3
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from rayfleet.apiserver.journal import Damaged, Journal, Row, copy_of
from rayfleet.apiserver.server import ApiServer, ApiServerSettings, serve
from rayfleet.apiserver.store import Store
from tests.apiserver.manifests import BOATS, CONFIGMAPS, DEFINITIONS, boats, configmap, owner
from tests.apiserver.peer import Peer, take, until
from tests.kube.certificates import Authority

TOKEN = "let-me-in"
PROGRAM = """
import asyncio, sys
from pathlib import Path
from rayfleet.apiserver.server import ApiServerSettings, serve
state, port = Path(sys.argv[1]), int(sys.argv[2])
tls = [Path(name) for name in sys.argv[3:]] or [None, None]
settings = ApiServerSettings(state, (("127.0.0.1", port),), state / "api.sock", *tls, tokens={"let-me-in": ("me", ("system:masters",))})
asyncio.run(serve(settings, ready=lambda: print("ready", flush=True)))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running(state: Path, port: int, *tls: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(state), str(port), *map(str, tls), stdout=asyncio.subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 120) == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_no_acknowledged_write_is_lost_to_kill_9(tmp_path: Path) -> None:
    port, acknowledged, deleted = free_port(), {}, set()

    async def write(peer: Peer, worker: int) -> None:
        for number in range(10_000):
            name = f"w{worker}-{number}"
            created = await peer.create(CONFIGMAPS, configmap(name))
            acknowledged[name] = created.meta["resourceVersion"]
            if number % 3 == 0:
                await peer.delete(f"{CONFIGMAPS}/{name}")
                deleted.add(name)

    async with running(tmp_path, port) as process:
        peer = Peer(f"http://127.0.0.1:{port}", TOKEN)
        writers = [asyncio.create_task(write(peer, worker)) for worker in range(8)]

        async def enough() -> bool:
            return len(acknowledged) > 300

        await until(enough)
        process.send_signal(signal.SIGKILL)
        ends = await asyncio.gather(*writers, return_exceptions=True)
        await process.wait()
        assert all(isinstance(end, (aiohttp.ClientError, ConnectionError)) for end in ends)
        await peer.close()
    async with running(tmp_path, port):
        peer = Peer(f"http://127.0.0.1:{port}", TOKEN)
        answer = await peer.get(CONFIGMAPS)
        kept = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in answer.body["items"]}
        lost = {name for name, version in acknowledged.items() if name not in deleted and kept.get(name) != version}
        # A deletion under way when the process died may have happened without an answer.
        assert {name for name in lost if int(name.split("-")[1]) % 3} == set()
        assert deleted.isdisjoint(kept)
        assert int(answer.meta["resourceVersion"]) >= max(int(version) for version in acknowledged.values())
        await peer.close()


async def test_after_a_restart_garbage_is_still_collected_and_old_watches_must_list_again(tmp_path: Path) -> None:
    port = free_port()
    async with running(tmp_path, port) as process:
        peer = Peer(f"http://127.0.0.1:{port}", TOKEN)
        parent = (await peer.create(CONFIGMAPS, configmap("parent"))).body
        await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))
        old = (await peer.create(CONFIGMAPS, configmap("other"))).meta["resourceVersion"]
        await peer.close()
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 120) == 0
    store = Store(tmp_path / "state.sqlite")
    store.load(lambda resource, obj: {})
    record = store.get("configmaps", "default", "parent")
    assert record is not None
    store.remove(record)
    store.flush()
    store.close()
    async with running(tmp_path, port):
        peer = Peer(f"http://127.0.0.1:{port}", TOKEN)

        async def collected() -> bool:
            return (await peer.get(f"{CONFIGMAPS}/child")).status == 404

        await until(collected)
        (event,) = await take(peer.watch(f"{CONFIGMAPS}?watch=1&resourceVersion={old}"), 1)
        assert event["object"]["code"] == 410
        await peer.close()


async def test_strangers_are_turned_away_on_every_listener(tmp_path: Path) -> None:
    port = free_port()
    async with running(tmp_path, port):
        for token in ("", "wrong"):
            stranger = Peer(f"http://127.0.0.1:{port}", token)
            refused = await stranger.get("/api/v1/pods")
            assert (refused.status, refused.body["reason"]) == (401, "Unauthorized")
            assert (await stranger.get("/readyz")).status == 200
            await stranger.close()
        connector = aiohttp.UnixConnector(str(tmp_path / "api.sock"))
        async with aiohttp.ClientSession("http://unix", connector=connector) as session:
            assert (await session.get("/api/v1/pods")).status == 401
            allowed = await session.get("/api/v1/pods", headers={"Authorization": f"Bearer {TOKEN}"})
            assert allowed.status == 200
        assert (tmp_path / "api.sock").stat().st_mode & 0o077 == 0


async def test_https_is_spoken_with_the_given_certificate(tmp_path: Path) -> None:
    port, authority = free_port(), Authority(tmp_path)
    context = ssl.create_default_context(cafile=str(authority.file))
    async with running(tmp_path, port, *authority.issue("localhost")), aiohttp.ClientSession() as session:
        url = f"https://localhost:{port}/api/v1/namespaces/default"
        answer = await session.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, ssl=context)
        assert (await answer.json())["metadata"]["name"] == "default"


class FullDisk(Journal):
    """Refuses to write where `full` says: when rows are put in, or when they are to be made durable."""

    full = ""

    def stage(self, rows: Sequence[Row], version: int) -> None:
        if self.full == "stage":
            raise sqlite3.OperationalError("database or disk is full")
        super().stage(rows, version)

    def commit(self) -> None:
        if self.full == "commit":
            raise sqlite3.OperationalError("database or disk is full")
        super().commit()


@pytest.mark.parametrize("moment", ["stage", "commit"])
async def test_a_full_disk_refuses_writes_and_nothing_else(tmp_path: Path, moment: str) -> None:
    store = Store(tmp_path / "state.sqlite")
    assert store.journal is not None
    store.journal.__class__ = FullDisk
    host = TestServer(ApiServer(store).app())
    await host.start_server()
    peer = Peer(str(host.make_url("/")))
    before = await peer.create(CONFIGMAPS, configmap("before", {"k": "1"}))
    service = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.96.0.77", "ports": [{"port": 80}]}}
    events = peer.watch(f"{CONFIGMAPS}?watch=1&resourceVersion={before.meta['resourceVersion']}")
    store.journal.full = moment
    for refused in (
        await peer.create(CONFIGMAPS, configmap("a")),
        await peer.patch(f"{CONFIGMAPS}/before", {"data": {"k": "2"}}),
        await peer.delete(f"{CONFIGMAPS}/before"),
        await peer.create("/api/v1/namespaces/default/services", service),
        await peer.create(DEFINITIONS, boats()),
    ):
        assert (refused.status, refused.body["reason"]) == (500, "InternalError")
        assert "database or disk is full" in refused.body["message"]
    assert (await peer.get(f"{CONFIGMAPS}/before")).body == before.body
    assert (await peer.get(f"{CONFIGMAPS}/a")).status == 404
    assert (await peer.get(BOATS)).status == 404
    store.journal.full = ""
    assert (await peer.patch(f"{CONFIGMAPS}/before", {"data": {"k": "3"}})).status == 200
    assert (await peer.create("/api/v1/namespaces/default/services", service)).status == 201  # its address was given back
    assert (await peer.create(DEFINITIONS, boats())).status == 201
    # Nobody was told of what did not come to be.
    (event,) = await take(events, 1)
    assert event["object"]["data"] == {"k": "3"}
    kept = {record.name: record.version for record in store.select("configmaps", "default")}
    await peer.close()
    await host.close()
    again = Store(tmp_path / "state.sqlite")
    again.load(lambda resource, obj: {})
    assert {record.name: record.version for record in again.select("configmaps", "default")} == kept
    again.close()


def of_rubbish(path: Path) -> None:
    path.write_bytes(b"this is no database " * 500)


def without_its_middle(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


def with_an_object_that_is_none(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE objects SET data = ? WHERE name = 'a'", (b'{"metadata":',))


@pytest.mark.parametrize("damage", [of_rubbish, without_its_middle, with_an_object_that_is_none])
async def test_a_damaged_file_is_not_served_and_its_copy_restores_it(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    file, port = tmp_path / "state.sqlite", free_port()
    store = Store(file)
    record = store.put("configmaps", "default", "a", {"metadata": {"name": "a", "uid": "1"}})
    store.flush()
    store.close()
    async with running(tmp_path, port) as process:  # makes the copy
        process.terminate()
        await asyncio.wait_for(process.wait(), 120)
    damage(file)
    damaged = file.read_bytes()
    with pytest.raises(Damaged, match=r"is damaged.*mv .*state.sqlite.copy .*--delete-data"):
        await asyncio.wait_for(serve(ApiServerSettings(tmp_path)), 120)
    if damage is not with_an_object_that_is_none:
        assert file.read_bytes() == damaged
    for name in ("state.sqlite-wal", "state.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    copy_of(file).replace(file)
    again = Store(file)
    again.load(lambda resource, obj: {})
    assert again.get("configmaps", "default", "a") == record
    again.close()


def test_two_servers_cannot_share_one_state(tmp_path: Path) -> None:
    first = Store(tmp_path / "state.sqlite")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        Store(tmp_path / "state.sqlite")
    first.close()
