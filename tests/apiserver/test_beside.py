"""Large writes are thought out beside the loop: others are answered before them, and nothing is lost between the two."""

from __future__ import annotations

import asyncio

import pytest

from tests.apiserver.manifests import BOATS, CONFIGMAPS, DEFINITIONS, Obj, boats, configmap
from tests.apiserver.peer import APPLY, MERGE, Peer
from tests.apiserver.place import ADMIN, Place, place

MANY = 10_000
KEYED: Obj = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
}


APPLIED = f"{BOATS}/b?fieldManager=me"


def boat(crew: list[Obj]) -> Obj:
    return {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"crew": crew}}


async def answered_before(there: Place, hostile: asyncio.Task[object]) -> int:
    """How often another client is answered until the hostile one is."""
    other, count = Peer(f"http://127.0.0.1:{there.port}", ADMIN), 0
    while not hostile.done():
        assert (await other.get("/api/v1/namespaces/default")).status == 200
        count += 1
    await other.close()
    return count


@pytest.mark.parametrize(
    ("size", "status"),
    [(MANY, 201), (1, 200)],
    ids=["a large body", "a large object"],
)
async def test_others_are_answered_while_a_large_one_is_worked_on(size: int, status: int) -> None:
    crew = [{"name": f"n{number}"} for number in range(MANY)]
    async with place() as there:
        await there.peer.create(DEFINITIONS, boats({"type": "object", "properties": {"crew": KEYED}}))
        if size == 1:
            assert (await there.peer.patch(APPLIED, boat(crew), APPLY)).status == 201
        hostile = asyncio.create_task(there.peer.patch(APPLIED, boat(crew[:size]), APPLY))
        # On the loop, one or two could be answered before the whole body is there, and none after it.
        assert await answered_before(there, hostile) > 4
        assert (await hostile).status == status


async def test_what_others_write_meanwhile_is_kept() -> None:
    large = {"data": {f"k{number}": "" for number in range(MANY)}}
    async with place() as there:
        await there.peer.create(CONFIGMAPS, configmap("a"))
        slow = asyncio.create_task(there.peer.patch(f"{CONFIGMAPS}/a", large, MERGE))
        for number in range(3):
            assert (await there.peer.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {f"l{number}": "x"}}}, MERGE)).status == 200
        assert (await slow).status == 200
        found = (await there.peer.get(f"{CONFIGMAPS}/a")).body
        assert sorted(found["metadata"]["labels"]) == ["l0", "l1", "l2"]
        assert len(found["data"]) == MANY + 1


async def test_a_large_write_that_is_too_late_too_often_is_a_conflict_and_leaves_nothing() -> None:
    async with place() as there:
        await there.peer.create(CONFIGMAPS, configmap("a", {f"k{number}": "" for number in range(10_000)}))
        done, count = asyncio.Event(), 0

        async def hurry(which: int) -> None:
            nonlocal count
            while not done.is_set():
                assert (await there.peer.patch(f"{CONFIGMAPS}/a", {"data": {f"n{which}": str(count)}}, MERGE)).status in (200, 409)
                count += 1

        others = [asyncio.create_task(hurry(which)) for which in range(3)]
        statuses = [(await there.peer.patch(f"{CONFIGMAPS}/a", {"data": {f"m{number}": ""}}, MERGE)).status for number in range(5)]
        done.set()
        await asyncio.gather(*others)
        kept = (await there.peer.get(f"{CONFIGMAPS}/a")).body["data"]
        assert set(statuses) <= {200, 409}
        assert [f"m{number}" in kept for number in range(5)] == [status == 200 for status in statuses]


async def test_a_refusal_tells_a_thousand_faults() -> None:
    async with place() as there:
        await there.peer.create(DEFINITIONS, boats({"type": "object", "properties": {"crew": KEYED}}))
        answer = await there.peer.create(BOATS, boat([{"name": number} for number in range(MANY)]))
        assert answer.status == 422
        causes = answer.body["details"]["causes"]
        assert [cause["field"] for cause in causes] == [f"spec.crew[{number}].name" for number in range(1000)]
        assert causes[7]["message"] == 'Invalid value: "integer": spec.crew[7].name in body must be of type string: "integer"'


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"metadata: {name: a}\nx: &x {a: '1', b: '2'}\ny: &y {b: '3'}\ndata: {c: '4', <<: [*x, *y]}\n", 201),
        (b"a: &a {" + b",".join(b"k%d: 1" % n for n in range(1000)) + b"}\nb:\n" + b"- {<<: *a}\n" * 2000, 400),
        (b"a0: &a0 {x: 1}\n" + b"".join(b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (n, n, n - 1, n - 1) for n in range(1, 60)), 400),
    ],
    ids=["merged", "a thousand keys, often", "each twice the one before"],
)
async def test_merge_keys_of_yaml_cannot_grow_without_an_end(text: bytes, status: int) -> None:
    async with place() as there:
        answer = await there.peer.ask("POST", CONFIGMAPS, text, "application/yaml")
        assert answer.status == status, answer
        if status == 201:
            assert answer.body["data"] == {"a": "1", "b": "2", "c": "4"}
        else:
            assert "excessive aliasing" in answer.body["message"]
