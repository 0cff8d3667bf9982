"""Logs, asked for as kubectl does: from the API server, which asks the kubelet."""

from __future__ import annotations

import re
from contextlib import aclosing

import pytest

from rayfleet.kube.errors import ApiError
from tests.kubelet.world import FOR_EVER, TOLD, World, pod, until

pytestmark = pytest.mark.namespaces


async def test_parts_of_a_log(world: World) -> None:
    await world.apply(pod("for i in 1 2 3 4 5; do echo line $i; done; printf rest", restartPolicy="Never"))
    await world.reaches("Succeeded")
    assert await world.log() == "line 1\nline 2\nline 3\nline 4\nline 5\nrest"
    assert await world.log(query="?tailLines=2") == "line 5\nrest"
    assert await world.log(query="?tailLines=0") == ""
    assert await world.log(query="?limitBytes=9") == "line 1\nli"
    assert await world.log(query="?sinceSeconds=3600&tailLines=3") == "line 4\nline 5\nrest"
    stamped = (await world.log(query="?timestamps=true&limitBytes=40")).splitlines()[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line 1", stamped)


async def test_a_long_line_comes_back_whole(world: World) -> None:
    await world.apply(pod("head -c 100000 /dev/zero | tr '\\0' x; echo; echo end", restartPolicy="Never"))
    await world.reaches("Succeeded")
    assert await world.log() == "x" * 100_000 + "\nend\n"


async def test_following_ends_with_the_container(world: World) -> None:
    await world.apply(pod(f"echo first; {TOLD}; echo second", restartPolicy="Never"))
    await world.reaches("Running")
    found = b""
    async with aclosing(world.client.stream("/api/v1/namespaces/default/pods/a/log?follow=true")) as pieces:
        async for piece in pieces:
            found += piece
            world.tell()
    assert found == b"first\nsecond\n"


async def test_a_reader_who_leaves_is_no_fault(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.apply(pod("while true; do echo line; sleep 0.01; done"))
    await world.reaches("Running")
    async with aclosing(world.client.stream("/api/v1/namespaces/default/pods/a/log?follow=true")) as pieces:
        assert b"line" in await anext(pieces)
    assert world.kubelet and world.kubelet.server.runner.server
    server = world.kubelet.server.runner.server
    await until("the kubelet has seen it", lambda: not server.connections)
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_container_that_has_not_started_has_no_log(world: World) -> None:
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k"}}}]
    await world.apply(pod("true", env=env))
    await until("the Pod is known", world.container)
    with pytest.raises(ApiError, match=r"waiting to start: CreateContainerConfigError"):
        await world.log()
    with pytest.raises(ApiError, match=r"previous terminated container"):
        await world.log(query="?previous=true")


async def test_the_log_stays_readable_while_the_pod_runs(world: World) -> None:
    await world.apply(pod(f"echo out; echo err >&2; {FOR_EVER}"))
    assert await until("both lines", lambda: two_lines(world)) == "out\nerr\n"


async def two_lines(world: World) -> str | None:
    try:
        found = await world.log()
    except ApiError:
        return None
    return found if found.count("\n") == 2 else None
