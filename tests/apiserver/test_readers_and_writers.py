"""Many writers at once, and readers who come and go between them, over a store on disk."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from tests.apiserver.manifests import CONFIGMAPS, configmap
from tests.apiserver.peer import Peer


@pytest.fixture
async def peer(tmp_path: Path) -> AsyncIterator[Peer]:
    server = TestServer(ApiServer(Store(tmp_path / "state.sqlite")).app())
    await server.start_server()
    client = Peer(str(server.make_url("/")))
    yield client
    await client.close()
    await server.close()


async def write(peer: Peer, dice: random.Random, steps: int) -> None:
    for _ in range(steps):
        name = f"n{dice.randrange(12)}"
        match dice.choice(["create", "patch", "delete"]):
            case "create":
                await peer.create(CONFIGMAPS, configmap(name))
            case "patch":
                await peer.patch(f"{CONFIGMAPS}/{name}", {"data": {"k": str(dice.random())}})
            case "delete":
                await peer.delete(f"{CONFIGMAPS}/{name}")


async def follow(peer: Peer, dice: random.Random, version: int, known: dict[str, int], until: asyncio.Future[int]) -> None:
    """Watches, is cut after a few events, and begins again from the last version seen."""
    while not (until.done() and version >= until.result()):
        left = dice.randrange(1, 8)
        async for event in peer.watch(f"{CONFIGMAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1"):
            seen, name = int(event["object"]["metadata"]["resourceVersion"]), event["object"]["metadata"]["name"]
            assert seen > version, "an event came twice or out of order"
            assert (name in known) == (event["type"] != "ADDED")
            version = seen
            if event["type"] == "DELETED":
                del known[name]
            else:
                known[name] = seen
            left -= 1
            if not left:
                break


@pytest.mark.parametrize("seed", range(3))
async def test_a_watch_that_is_cut_again_and_again_misses_nothing(peer: Peer, seed: int) -> None:
    until: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    known: dict[str, int] = {}
    start = int((await peer.get(CONFIGMAPS)).meta["resourceVersion"])
    follower = asyncio.create_task(follow(peer, random.Random(seed), start, known, until))
    await asyncio.gather(*(write(peer, random.Random(seed * 100 + writer), 25) for writer in range(6)))
    # One more change of the kind, so that the follower has a last version to reach.
    until.set_result(int((await peer.create(CONFIGMAPS, configmap("last"))).meta["resourceVersion"]))
    await asyncio.wait_for(follower, 120)
    listed = (await peer.get(CONFIGMAPS)).body["items"]
    assert known == {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in listed}


async def test_a_watch_that_begins_with_what_exists_says_nothing_twice(peer: Peer) -> None:
    done = asyncio.Event()

    async def begin() -> None:
        while not done.is_set():
            seen: dict[str, int] = {}
            async for event in peer.watch(f"{CONFIGMAPS}?watch=1&timeoutSeconds=1"):
                name, version = event["object"]["metadata"]["name"], int(event["object"]["metadata"]["resourceVersion"])
                assert version > seen.get(name, 0)
                seen[name] = version
                if len(seen) > 6:
                    break

    readers = [asyncio.create_task(begin()) for _ in range(4)]
    await asyncio.gather(*(write(peer, random.Random(writer), 25) for writer in range(6)))
    done.set()
    await asyncio.gather(*readers)


@pytest.mark.parametrize("seed", range(3))
async def test_pages_of_any_size_add_up_to_one_moment(peer: Peer, seed: int) -> None:
    dice = random.Random(seed)
    for name in dice.sample([f"n{number}" for number in range(12)], dice.randrange(4, 12)):
        await peer.create(CONFIGMAPS, configmap(name))
    whole = (await peer.get(CONFIGMAPS)).body
    writing = asyncio.create_task(write(peer, dice, 40))
    page = (await peer.get(f"{CONFIGMAPS}?limit={dice.randrange(1, 5)}")).body
    moment, items = page["metadata"]["resourceVersion"], list(page["items"])
    while token := page["metadata"].get("continue"):
        page = (await peer.get(f"{CONFIGMAPS}?limit={dice.randrange(1, 5)}&continue={token}")).body
        items += page["items"]
        assert page["metadata"]["resourceVersion"] == moment
    await writing
    names = [item["metadata"]["name"] for item in items]
    assert names == sorted(set(names))
    assert all(int(item["metadata"]["resourceVersion"]) <= int(moment) for item in items)
    if moment == whole["metadata"]["resourceVersion"]:
        assert items == whole["items"]
