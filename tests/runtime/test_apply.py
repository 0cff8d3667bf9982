from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from rayfleet.api.meta import PODS, Key, ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError
from rayfleet.permit import Shut
from rayfleet.planning.actions import Action, Create, Delete, Fence, Patch, Place
from rayfleet.planning.plan import Event, Plan, StatusWrite
from rayfleet.runtime.apply import FAN_OUT, Applier
from rayfleet.runtime.backoffs import Backoffs
from rayfleet.runtime.gate import Answer, Gate, Write
from rayfleet.runtime.visibility import PATIENCE, Visibility
from tests.kube.fakeapi import FakeApi, Fault, running, until
from tests.runtime.clocks import ManualClock
from tests.runtime.nouns import THINGS, Pod, pod, thing
from tests.runtime.test_visibility import Copy
from tests.runtime.things import POD

KEY = Key("default", "a")


class Hand:
    """An applier over HTTP, with an owner, and everything it may be asked about afterwards."""

    def __init__(self, api: FakeApi, client: Client) -> None:
        self.api = api
        self.clock = ManualClock()
        self.told: list[Event] = []
        self.backoffs = Backoffs()
        self.open = True
        self.copies = {THINGS: Copy(self.clock), PODS: Copy(self.clock, "0")}
        self.visibility = Visibility(lambda key: None, self.clock)
        self.meanwhile: Callable[[], object] | None = None
        meta = api.store.create("things", "default", thing("a"))["metadata"]
        self.owner = ObjectMeta(name="a", namespace="default", uid=meta["uid"], resource_version=meta["resourceVersion"])

        async def lookup(action: Create | Place) -> ObjectMeta:
            return (await client.get(action.resource, action.name, action.namespace, type=Answer)).metadata

        self.applier = Applier(
            THINGS,
            Gate(client, is_open=lambda: self.open, hook=self.hook),
            self.copies,
            self.visibility,
            self.backoffs,
            lambda resource, about, event: self.told.append(event),
            lookup,
            self.clock,
        )

    async def apply(self, *actions: Action, status: StatusWrite | None = None) -> Any:
        return await self.applier.apply(KEY, self.owner, Plan(actions, status))

    async def hook(self, when: str, write: Write) -> None:
        """Another process is quicker than our next write."""
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()

    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.api.store.items("pods", None)]

    def held(self) -> dict[str, int]:
        return {scope: backoff.attempts for scope, backoff in self.backoffs.of(KEY, self.clock.monotonic()).items()}

    def pod(self, name: str) -> str:
        return self.api.store.create("pods", "default", pod(name))["metadata"]["uid"]


@pytest.fixture
async def hand() -> AsyncIterator[Hand]:
    async with running() as api, Client(api.connection) as client:
        yield Hand(api, client)


def create(name: str, scope: str = "small") -> Create:
    return Create(PODS, "default", name, pod(name), scope, "it is missing", POD, "CreatedPod", "FailedToCreatePod")


def owned(hand: Hand, name: str) -> Create:
    return replace(create(name), manifest=pod(name, hand.owner.uid))


def delete(name: str, uid: str, scope: str = "small", setback: bool = False) -> Delete:
    return Delete(PODS, "default", name, uid, scope, "it failed", POD, "DeletedPod", "FailedToDeletePod", setback)


def fence(hand: Hand, version: str | None = None) -> Fence:
    version = version or hand.owner.resource_version
    return Fence(THINGS, "default", "a", version, {"lives": "1"}, "small", "a Pod is to go")


def status(hand: Hand, pods: int, urgent: bool) -> StatusWrite:
    version = hand.api.store.get("things", "default", "a")["metadata"]["resourceVersion"]
    return StatusWrite({"pods": pods}, version, urgent, f"pods={pods}")


async def test_creates_start_slowly_and_stop_where_they_are_refused(hand: Hand) -> None:
    hand.api.faults.append(Fault("POST", "/pods", 403, "Forbidden", "exceeded quota", times=100))
    outcome = await hand.apply(*(create(f"p{number}") for number in range(20)))
    assert len(hand.api.seen("POST")) == 1 and outcome.failed.keys() == {"small"}
    assert hand.held() == {"small": 1}
    assert [(event.type, event.reason, event.note) for event in hand.told] == [("Warning", "FailedToCreatePod", "Pod p0: exceeded quota")]
    hand.api.faults.clear()
    await hand.apply(*(create(f"p{number}") for number in range(20)))
    assert len(hand.names()) == 20 and hand.held() == {}
    assert hand.told[-1].note == "Created 20 Pods (p0, p1, p10, ...): it is missing"


async def test_one_scope_that_fails_does_not_stop_another(hand: Hand) -> None:
    hand.api.store.create("pods", "default", pod("head"))
    outcome = await hand.apply(create("head", "head"), *(create(f"p{number}") for number in range(5)))
    assert outcome.failed.keys() == {"head"} and len(hand.names()) == 6
    assert hand.held() == {"head": 1}
    assert [event.reason for event in hand.told] == ["NameConflict", "CreatedPod"]


async def test_no_more_than_so_many_at_once(hand: Hand) -> None:
    held = asyncio.Event()
    hand.api.faults.append(Fault("DELETE", "/pods", hold=held, times=1000))
    doomed = [delete(f"p{number}", hand.pod(f"p{number}"), scope=f"g{number % 3}") for number in range(40)]
    task = asyncio.create_task(hand.apply(*doomed))
    await until(lambda: len(hand.api.seen("DELETE")) == FAN_OUT)
    held.set()
    await task
    assert len(hand.api.seen("DELETE")) == 40 and not hand.names()


async def test_a_fence_that_is_refused_stops_everything_and_says_nothing(hand: Hand) -> None:
    uid = hand.pod("p0")
    hand.api.store.patch("things", "default", "a", {"spec": {"replicas": 5}}, False)
    outcome = await hand.apply(fence(hand), delete("p0", uid), create("p1"), status=status(hand, 1, True))
    assert outcome.stale and not outcome.done and not outcome.failed
    assert hand.names() == ["p0"] and not hand.told and not hand.held()


async def test_a_fence_comes_first_and_the_status_waits_for_the_next_look(hand: Hand) -> None:
    uid = hand.pod("p0")
    outcome = await hand.apply(delete("p0", uid), fence(hand), status=status(hand, 1, True))
    assert [verb for verb, _ in hand.api.requests] == ["PATCH", "DELETE"]
    assert len(outcome.done) == 2 and not outcome.status_written


async def test_what_is_gone_is_deleted_and_a_namesake_is_left_alone(hand: Hand) -> None:
    hand.pod("p1")
    outcome = await hand.apply(delete("p0", "uid-x"), delete("p1", "uid-of-an-earlier-p1"))
    assert [action.name for action in outcome.done] == ["p0"] and outcome.stale and hand.names() == ["p1"]
    assert not outcome.failed and not hand.held()


async def test_several_repairs_of_one_scope_are_one_setback(hand: Hand) -> None:
    for wait in (0, 5):
        doomed = [delete(f"p{number}", hand.pod(f"p{number}"), setback=True) for number in range(3)]
        await hand.apply(*doomed)
        now = hand.clock.monotonic()
        assert hand.backoffs.of(KEY, now)["small"].retry_at == now + wait
    assert hand.held() == {"small": 2}


@pytest.mark.parametrize("fault", [Fault("POST", "/pods", lost=True), Fault("POST", "/pods", status=504)], ids=["lost", "504"])
async def test_what_was_made_without_an_answer_is_waited_for_before_something_else_is_made(hand: Hand, fault: Fault) -> None:
    """The copy is behind, and the plan wants another one in its place, by another name."""
    asked, copy = replace(fence(hand), annotations={}), hand.copies[PODS]
    hand.api.faults.append(fault)
    await hand.apply(asked, owned(hand, "p0"))
    made = hand.names()
    outcome = await hand.apply(asked, owned(hand, "p1"))
    if made:
        assert outcome.stale and hand.visibility.blocks(KEY) and hand.names() == ["p0"]
        copy.reach("1000")
        assert not hand.visibility.blocks(KEY)
    else:
        assert not outcome.stale and hand.names() == ["p1"]
    assert len((await hand.apply(asked, owned(hand, "p2"))).done) == 2, "once it is known nobody is asked again"


@pytest.mark.parametrize("fault", [Fault("DELETE", "/pods", lost=True), Fault("DELETE", "/pods", status=504)], ids=["lost", "504"])
async def test_a_delete_without_an_answer_is_asked_about_and_waited_for(hand: Hand, fault: Fault) -> None:
    """The copy still shows what is gone: nothing may be decided on that."""
    uid, copy = hand.pod("child"), hand.copies[PODS]
    copy.objects[Key("default", "child")] = Pod(ObjectMeta(name="child", namespace="default", uid=uid))
    copy.reach(str(hand.api.store.version))
    hand.api.faults.append(fault)
    outcome = await hand.apply(delete("child", uid))
    if hand.names():
        assert not outcome.done and not hand.visibility.blocks(KEY) and hand.held() == {"small": 1}
    else:
        assert outcome.done and not outcome.failed and hand.visibility.blocks(KEY)
        assert [event.reason for event in hand.told] == ["DeletedPod"]
        copy.list("1000")
        assert not hand.visibility.blocks(KEY)


async def test_what_is_found_gone_is_waited_for_until_the_copy_shows_it(hand: Hand) -> None:
    hand.copies[PODS].objects[Key("default", "child")] = Pod(ObjectMeta(name="child", namespace="default", uid="u1"))
    await hand.apply(Patch(PODS, "default", "child", "u1", {"metadata": {"labels": {"a": "b"}}}, "small", "why", POD, "", ""))
    assert hand.visibility.blocks(KEY)
    hand.copies[PODS].list("1000")
    assert (await hand.apply(delete("child", "u1"))).done and hand.visibility.blocks(KEY)


@pytest.mark.parametrize("write", ["patch", "create", "fence", "status"])
async def test_any_write_without_an_answer_is_asked_about_and_waited_for(hand: Hand, write: str) -> None:
    uid = hand.pod("p0")
    actions = {
        "patch": Patch(PODS, "default", "p0", uid, {"metadata": {"labels": {"a": "b"}}}, "small", "why", POD, "", ""),
        "create": owned(hand, "p1"),
        "fence": fence(hand),
    }
    copy = hand.copies[PODS if write in ("patch", "create") else THINGS]
    copy.reach(str(hand.api.store.version))
    hand.api.faults.append(Fault("POST" if write == "create" else "PATCH", lost=True))
    if write == "status":
        with pytest.raises(ApiError):
            await hand.apply(status=status(hand, 1, urgent=True))
    else:
        await hand.apply(actions[write])
    assert hand.visibility.blocks(KEY)
    copy.reach(str(hand.api.store.version))
    assert not hand.visibility.blocks(KEY)


async def test_where_the_api_does_not_say_what_became_of_a_write_only_a_list_does(hand: Hand) -> None:
    copy = hand.copies[PODS]
    hand.api.faults += [Fault("DELETE", "/pods", status=504), Fault("GET", "/pods", status=500)]
    outcome = await hand.apply(delete("p0", hand.pod("p0")))
    assert outcome.failed.keys() == {"small"}
    copy.reach("1000")
    assert hand.visibility.blocks(KEY)
    await hand.clock.advance(PATIENCE)
    assert copy.relists == 1
    copy.list("1000")
    assert not hand.visibility.blocks(KEY)


async def test_a_refusal_that_leaves_no_doubt_is_not_asked_about(hand: Hand) -> None:
    hand.api.faults.append(Fault("DELETE", "/pods", status=403))
    await hand.apply(delete("p0", hand.pod("p0")))
    assert not hand.api.seen("GET") and not hand.visibility.blocks(KEY)


async def test_a_patch_insists_on_its_object(hand: Hand) -> None:
    uid = hand.pod("p0")
    right = Patch(PODS, "default", "p0", uid, {"metadata": {"labels": {"x": "y"}}}, "small", "r", POD, "UpdatedPod", "FailedToUpdatePod")
    wrong = Patch(PODS, "default", "p0", "other", {"spec": {"n": 1}}, "small", "r", POD, "UpdatedPod", "FailedToUpdatePod")
    assert len((await hand.apply(right)).done) == 1
    outcome = await hand.apply(wrong)
    assert outcome.stale and "spec" not in hand.api.store.get("pods", "default", "p0")


async def test_a_fence_is_not_written_while_something_exists_that_was_taken_for_gone(hand: Hand) -> None:
    hand.pod("p0")
    owner = hand.api.store.get("things", "default", "a")["metadata"]
    fence = Fence(THINGS, "default", "a", owner["resourceVersion"], {"lives": "1"}, "small", "r", (Place(PODS, "default", "p0"),))
    outcome = await hand.apply(fence, create("p1"))
    assert outcome.stale and not outcome.done and not hand.api.seen("PATCH") and not hand.api.seen("POST")
    leaving = Place(PODS, "default", "p0", hand.api.store.get("pods", "default", "p0")["metadata"]["uid"])
    gone = replace(fence, absent=(Place(PODS, "default", "nobody"), leaving))
    assert len((await hand.apply(gone, create("p1"))).done) == 2


async def test_what_appears_while_the_fence_is_written_stops_the_rest(hand: Hand) -> None:
    """Another operator's create of the name that was given up lands between the question and the write."""
    owner = hand.api.store.get("things", "default", "a")["metadata"]
    fence = Fence(THINGS, "default", "a", owner["resourceVersion"], {"lives": "1"}, "small", "r", (Place(PODS, "default", "p0"),))
    hand.meanwhile = lambda: hand.pod("p0")
    outcome = await hand.apply(fence, create("p1"))
    assert outcome.stale and hand.names() == ["p0"]


async def test_a_fence_without_annotations_asks_for_the_owner_and_writes_nothing(hand: Hand) -> None:
    version = hand.api.store.get("things", "default", "a")["metadata"]["resourceVersion"]
    asking = Fence(THINGS, "default", "a", version, {}, "lives", "r")
    assert len((await hand.apply(asking, create("p0"), status=status(hand, 1, urgent=True))).done) == 2
    assert hand.names() == ["p0"] and len(hand.api.seen("PATCH")) == len(hand.api.seen("PATCH", "/status")) == 1
    outcome = await hand.apply(asking, create("p1"))
    assert outcome.stale and not outcome.done and hand.names() == ["p0"], "the status has moved the version"


async def test_counters_wait_for_a_second_without_a_change_and_the_urgent_for_nothing(hand: Hand) -> None:
    first = await hand.apply(status=status(hand, 1, urgent=False))
    await hand.clock.advance(0.6)
    second = await hand.apply(status=status(hand, 2, urgent=False))
    assert (first.later, second.later) == (1.0, 1.0) and not hand.api.requests
    await hand.clock.advance(1.0)
    third = await hand.apply(status=status(hand, 2, urgent=False))
    assert third.status_written and third.later is None
    assert (await hand.apply(status=status(hand, 4, urgent=True))).status_written
    assert (await hand.apply(status=status(hand, 5, urgent=False))).later == 1.0
    await hand.apply()
    await hand.clock.advance(5)
    assert (await hand.apply(status=status(hand, 6, urgent=False))).later == 1.0
    assert len(hand.api.seen("PATCH", "/status")) == 2


async def test_counters_that_never_rest_are_written_every_five_seconds(hand: Hand) -> None:
    written = []
    for number in range(1, 25):
        written.append((await hand.apply(status=status(hand, number, urgent=False))).status_written)
        await hand.clock.advance(0.5)
    assert [index for index, did in enumerate(written) if did] == [10, 21]


async def test_a_status_that_was_refused_is_not_held_back_again(hand: Hand) -> None:
    await hand.apply(status=status(hand, 1, urgent=False))
    await hand.clock.advance(1)
    hand.api.faults.append(Fault("PATCH", "/status", status=500))
    with pytest.raises(ApiError):
        await hand.apply(status=status(hand, 1, urgent=False))
    assert (await hand.apply(status=status(hand, 1, urgent=False))).status_written
    assert (await hand.apply(status=status(hand, 2, urgent=False))).later == 1.0


@pytest.mark.parametrize("urgent", [True, False])
async def test_a_status_that_a_busy_server_put_off_is_written_when_it_said_and_not_before(hand: Hand, urgent: bool) -> None:
    await hand.apply(status=status(hand, 1, urgent=False))
    await hand.clock.advance(1.0)
    hand.api.faults.append(Fault("PATCH", "/status", 429, "TooManyRequests", headers={"Retry-After": "7"}))
    with pytest.raises(ApiError):
        await hand.apply(status=status(hand, 1, urgent))
    await hand.clock.advance(5.0)
    assert (await hand.apply(status=status(hand, 1, urgent))).later == 2.0
    await hand.clock.advance(2.0)
    assert (await hand.apply(status=status(hand, 1, urgent))).status_written
    assert len(hand.api.seen("PATCH", "/status")) == 2


async def test_a_status_of_which_the_server_makes_nothing_is_not_written_again_over_the_same_version(hand: Hand) -> None:
    hand.api.store.patch("things", "default", "a", {"status": {"pods": 1}}, True)
    for _ in range(3):
        assert not (await hand.apply(status=status(hand, 1, True))).status_written
    assert len(hand.api.seen("PATCH", "/status")) == 1
    hand.api.store.patch("things", "default", "a", {"metadata": {"labels": {"new": "1"}}}, False)
    await hand.apply(status=status(hand, 1, True))
    assert len(hand.api.seen("PATCH", "/status")) == 2


async def test_a_status_that_is_refused_is_raised_but_a_conflict_or_an_owner_that_is_gone_is_not(hand: Hand) -> None:
    hand.api.faults += [Fault("PATCH", "/status", 409, "Conflict"), Fault("PATCH", "/status", 404, "NotFound")]
    assert (await hand.apply(status=status(hand, 1, True))).stale
    assert not (await hand.apply(status=status(hand, 1, True))).stale
    hand.api.faults.append(Fault("PATCH", "/status", 422, "Invalid", "pods: must be a string"))
    with pytest.raises(ApiError, match="must be a string"):
        await hand.apply(status=status(hand, 1, True))


async def test_what_is_left_of_a_former_life_is_waited_for_without_blame(hand: Hand) -> None:
    former = pod("p0", owner="uid-of-a-former-life")
    former["metadata"]["ownerReferences"][0]["name"] = "a"
    hand.api.store.create("pods", "default", former)
    wanted = create("p0")
    wanted.manifest["metadata"]["ownerReferences"] = [{**former["metadata"]["ownerReferences"][0], "uid": hand.owner.uid}]
    outcome = await hand.apply(wanted)
    assert outcome.stale and not outcome.failed and not hand.told and not hand.held()
    assert hand.names() == ["p0"]


async def test_when_the_gate_shuts_nothing_more_is_written(hand: Hand) -> None:
    hand.open = False
    with pytest.raises(Shut):
        await hand.apply(create("p0"), create("p1", "other"))
    assert not hand.api.requests and not hand.held() and not hand.told
