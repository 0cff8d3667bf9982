from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
import pytest

from rayfleet.api.meta import LEASES, PODS, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from rayfleet.kube.warnings import collected
from tests.kube.fakeapi import FakeApi, Fault, running

THINGS = Resource("example.com", "v1", "things", "Thing")


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with running() as server:
        yield server


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    async with Client(api.connection, timeout=5) as made:
        yield made


def pod(name: str, **labels: str) -> dict:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": {"a": 1}}


async def test_an_object_from_creation_to_deletion(client: Client) -> None:
    made = await client.create(PODS, pod("one"))
    assert made["metadata"]["uid"]
    assert (await client.get(PODS, "one", "default"))["spec"] == {"a": 1}
    patched = await client.patch(PODS, "one", "default", {"spec": {"a": 2}})
    assert patched["metadata"]["generation"] == 2
    await client.patch(PODS, "one", "default", {"status": {"phase": "Running"}}, subresource="status")
    replaced = await client.replace(PODS, pod("one") | {"spec": {"a": 3}})
    assert replaced["spec"] == {"a": 3} and replaced["status"] == {"phase": "Running"}
    with pytest.raises(Conflict):
        await client.delete(PODS, "one", "default", uid="another")
    await client.delete(PODS, "one", "default", uid=made["metadata"]["uid"])
    with pytest.raises(NotFound):
        await client.get(PODS, "one", "default")


async def test_bytes_go_out_as_they_are_and_come_back_as_asked(client: Client) -> None:
    class Named(msgspec.Struct):
        metadata: dict

    raw = await client.create(PODS, msgspec.json.encode(pod("raw")), "default", type=bytes)
    assert isinstance(raw, bytes)
    assert (await client.get(PODS, "raw", "default", type=Named)).metadata["name"] == "raw"


async def test_a_list_is_gathered_from_pages_and_selected_by_label(api: FakeApi, client: Client) -> None:
    for number in range(1203):
        api.store.create("pods", "default", pod(f"pod-{number:04}", odd=str(number % 2)))
    assert len(await client.list(PODS, "default")) == 1203
    assert len(api.seen("GET", "continue=")) == 2
    assert len(await client.list(PODS, labels="odd=1")) == 601
    assert all("resourceVersion" not in path for path in api.seen("GET"))


async def test_a_list_whose_pages_expire_is_begun_again(api: FakeApi, client: Client) -> None:
    for number in range(600):
        api.store.create("pods", "default", pod(f"pod-{number:04}"))
    api.faults.append(Fault("GET", "continue=", 410, "Expired"))
    assert len(await client.list(PODS)) == 600


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (400, "BadRequest", BadRequest),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Expired),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerError),
        (504, "Timeout", ServerError),
        (418, "Teapot", ApiError),
    ],
)
async def test_a_status_becomes_its_own_error(api: FakeApi, client: Client, status: int, reason: str, error: type[ApiError]) -> None:
    api.faults.append(Fault("POST", "pods", status, reason, "the server's own words", {"Retry-After": "7"}))
    with pytest.raises(error) as caught:
        await client.create(PODS, pod("one"))
    assert type(caught.value) is error
    assert (caught.value.status, caught.value.reason, caught.value.message) == (status, reason, "the server's own words")
    assert caught.value.retry_after == 7.0
    assert len(api.seen("POST")) == 1


async def test_a_busy_server_is_asked_again_but_not_to_create(api: FakeApi, client: Client) -> None:
    api.store.create("pods", "default", pod("one"))
    api.faults.append(Fault("GET", "pods", 429, "TooManyRequests", headers={"Retry-After": "0"}, times=2))
    api.faults.append(Fault("DELETE", "pods", 503, "ServiceUnavailable", headers={"Retry-After": "0"}))
    found = await client.get(PODS, "one", "default")
    await client.delete(PODS, "one", "default", uid=found["metadata"]["uid"])
    assert len(api.seen("GET")) == 3 and len(api.seen("DELETE")) == 2
    api.faults.append(Fault("POST", "pods", 429, "TooManyRequests", headers={"Retry-After": "0"}))
    api.faults.append(Fault("DELETE", "pods", 503, "ServiceUnavailable", headers={"Retry-After": "0"}))
    with pytest.raises(TooManyRequests):
        await client.create(PODS, pod("two"))
    with pytest.raises(ServerError):
        await client.delete(PODS, "one", "default")


async def test_retries_are_bounded_and_a_pause_beyond_the_deadline_is_the_callers(api: FakeApi, client: Client) -> None:
    api.faults.append(Fault("GET", "pods", 503, headers={"Retry-After": "0"}, times=100))
    with pytest.raises(ServerError):
        await client.get(PODS, "one", "default")
    assert len(api.seen("GET")) == 4
    api.faults[:] = [Fault("GET", "pods", 429, headers={"Retry-After": "3600"}, times=100)]
    with pytest.raises(TooManyRequests) as caught:
        await client.get(PODS, "one", "default")
    assert caught.value.retry_after == 3600 and len(api.seen("GET")) == 5


async def test_no_answer_is_an_error_of_its_own(api: FakeApi) -> None:
    async with Client(api.connection, timeout=0.1) as client:
        api.faults.append(Fault("POST", "pods", hold=asyncio.Event()))
        with pytest.raises(Unreachable, match="POST /api/v1/namespaces/default/pods") as caught:
            await client.create(PODS, pod("one"))
        assert (caught.value.status, caught.value.reason) == (0, "Timeout")
        api.faults.append(Fault("POST", "pods", lost=True))
        with pytest.raises(Unreachable):
            await client.create(PODS, pod("one"))
        assert (await client.get(PODS, "one", "default"))["metadata"]["name"] == "one"
        api.faults.append(Fault("GET", "pods", raw=b'{"metadata": {"na'))
        with pytest.raises(Unreachable, match="no JSON"):
            await client.get(PODS, "one", "default")
    async with Client(Connection("http://127.0.0.1:1")) as nobody:
        with pytest.raises(Unreachable):
            await nobody.get(PODS, "one", "default")


async def test_warnings_are_told_once_or_to_whoever_collects_them(api: FakeApi) -> None:
    told: list[tuple[str, str]] = []
    api.warnings = ['unknown field \\"spec.containers[0].imagee\\"', "old"]
    async with Client(api.connection, on_warning=lambda path, text: told.append((path, text))) as client:
        await client.create(PODS, pod("one"))
        await client.create(PODS, pod("two"))
        path = "/api/v1/namespaces/default/pods"
        assert told == [(path, 'unknown field "spec.containers[0].imagee"'), (path, "old")]
        with collected() as texts:
            await client.create(PODS, pod("three"))
        assert texts == ['unknown field "spec.containers[0].imagee"', "old"] and len(told) == 2


async def test_the_bearer_token_and_the_user_agent_are_sent(api: FakeApi) -> None:
    async with Client(Connection(api.url, token=lambda: "s3cret"), user_agent="me/1") as client:
        await client.list(PODS)
    sent = api.headers[-1]
    assert (sent["Authorization"], sent["User-Agent"]) == ("Bearer s3cret", "me/1")
    assert "Accept-Encoding" not in sent


async def test_discovery_says_what_is_served(api: FakeApi, client: Client) -> None:
    assert await client.serves(THINGS) and not await client.serves(LEASES)
    api.faults.append(Fault("GET", "/apis/example.com/v1", 404, "NotFound"))
    assert not await client.serves(THINGS)


async def test_a_watch_gives_lines_until_the_server_ends_it(api: FakeApi, client: Client) -> None:
    api.store.create("pods", "default", pod("one"))
    lines = []
    async with aclosing(client.watch(PODS, resource_version="100")) as watch:
        async for line in watch:
            lines.append(msgspec.json.decode(line)["type"])
            if len(lines) == 1:
                api.bookmark("pods")
                api.tell("pods", None)
    assert lines == ["ADDED", "BOOKMARK"]


@pytest.mark.parametrize("how", ["cut", b'{"type":"ADDED","obj'])
async def test_a_watch_that_is_cut_raises(api: FakeApi, client: Client, how: bytes | str) -> None:
    api.store.create("pods", "default", pod("one"))
    with pytest.raises(Unreachable):
        async with aclosing(client.watch(PODS, resource_version="100")) as watch:
            async for _ in watch:
                api.tell("pods", how)
                api.tell("pods", None)


async def test_a_watch_that_is_silent_or_too_old_raises(api: FakeApi, client: Client) -> None:
    with pytest.raises(Unreachable) as caught:
        async with aclosing(client.watch(PODS, resource_version="100", idle=0.1)) as watch:
            async for _ in watch:
                pass
    assert caught.value.reason == "Timeout"
    api.store.compact()
    with pytest.raises(Expired):
        async with aclosing(client.watch(PODS, resource_version="100")) as watch:
            async for _ in watch:
                pass


async def test_a_stream_gives_what_comes(api: FakeApi, client: Client) -> None:
    api.faults.append(Fault("GET", "/log", raw=b"line 1\nline 2\n"))
    async with aclosing(client.stream("/api/v1/namespaces/default/pods/one/log?follow=true")) as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"line 1\nline 2\n"
