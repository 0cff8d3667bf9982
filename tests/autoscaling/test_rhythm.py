"""How often a head is asked, what is remembered of it, and what is told to it, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from itertools import pairwise
from typing import Any

import pytest

from rayfleet.api.meta import Key
from rayfleet.autoscaling.loop import Loop
from rayfleet.autoscaling.metrics import Measure
from rayfleet.autoscaling.observed import Settled
from rayfleet.autoscaling.values import Cause, Drain, Memory
from rayfleet.autoscaling.word import Word
from rayfleet.ray.gcs import Head, Refused, Unanswered
from rayfleet.ray.gcs_messages import message
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.gcs import BUSY, ScriptedGcs

ONE = Key("default", "one")
HEAD = Head(ONE, "10.0.0.1", pod="first")
CALL = 0.01  # seconds that a head takes to answer


class Heads:
    """Scripted heads without a network, by the UID of the head's Pod."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.gcs: dict[str, ScriptedGcs] = {}
        self.asked: list[float] = []
        self.fails: Exception | None = None
        self.left: list[str] = []

    def of(self, head: Head) -> ScriptedGcs:
        return self.gcs.setdefault(head.pod, ScriptedGcs(head.pod, clock=self.clock.time))

    async def state(self, head: Head) -> bytes:
        self.asked.append(self.clock.elapsed)
        await asyncio.sleep(CALL)
        if self.fails:
            raise self.fails
        return self.of(head)._GetClusterResourceState(b"")

    async def report(self, head: Head, request: bytes) -> None:
        if self.fails:
            raise self.fails
        self.of(head)._ReportAutoscalingState(request)

    async def drain(self, head: Head, request: bytes) -> bytes:
        if self.fails:
            raise self.fails
        return self.of(head)._DrainNode(request)

    def leave(self, head: Head) -> Coroutine[Any, Any, None]:
        async def gone() -> None:
            self.left.append(head.pod)

        return gone()


class Scene:
    """`few`: of how many clusters each is asked as often as ever."""

    def __init__(self, few: int = 0) -> None:
        self.clock = VirtualClock()
        self.heads = Heads(self.clock)
        self.loop = Loop(self.heads, self.clock, few=few)
        self.heard: list[Key] = []
        self.loop.subscribe(self.heard.append)

    def do(self, what: Callable[[], Any], seconds: float = 1.0) -> Any:
        """Inside the loop, and then so long goes by."""
        results: list[Any] = []
        self.clock.loop.call_soon(lambda: results.append(what()))
        self.clock.run(seconds)
        return results[0]

    def follow(self, head: Head = HEAD, uid: str = "1", seconds: float = 1.0) -> Any:
        return self.do(lambda: self.loop.follow(ONE, uid, head), seconds)

    def word(self, head: Head = HEAD, uid: str = "1") -> Word:
        answer = self.follow(head, uid, 0.0).answer
        assert isinstance(answer, Word)
        return answer

    def settle(self, memory: Memory = Memory(), report: bytes = b"", *, eager: bool = False) -> None:  # noqa: B008 (frozen)
        self.do(lambda: self.loop.send(ONE, HEAD, Settled(memory, report, eager), self.complain))

    def complain(self, why: str) -> None:
        raise AssertionError(why)


@pytest.fixture
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(getattr(request, "param", 0))
    yield made
    made.clock.close()


def pauses(scene: Scene) -> list[float]:
    return [later - earlier for earlier, later in pairwise(scene.heads.asked)]


def test_a_quiet_head_is_asked_ever_less_often_and_wakes_nobody(scene: Scene) -> None:
    scene.follow()
    scene.settle()
    scene.heard.clear()
    scene.clock.run(3600)
    found = pauses(scene)[1:]  # the first report is followed by a look at what it did
    assert all(4 < pause < 34 for pause in found)
    assert max(later - earlier for earlier, later in pairwise(scene.heads.asked) if later < 300) <= 5.5 + CALL
    assert sum(pause for pause in found if pause < 26) < 500, "after eight quiet minutes"
    assert sum(found[-5:]) / 5 > 26
    assert scene.heard == []


@pytest.mark.parametrize("scene", [2], indirect=True)
def test_of_few_clusters_a_quiet_one_is_asked_as_often_as_any(scene: Scene) -> None:
    def quiet(name: str) -> None:
        """One more cluster, of which nothing is expected."""
        key = Key("default", name)
        head = Head(key, "10.0.0.1", pod=name)
        scene.do(lambda: scene.loop.follow(key, name, head))
        scene.do(lambda: scene.loop.send(key, head, Settled(Memory(), b"", False), scene.complain))

    quiet("one")
    quiet("two")
    scene.clock.run(3600)
    assert len([at for at in scene.heads.asked if at > scene.clock.elapsed - 600]) > 2 * 600 / 6
    quiet("three")
    scene.clock.run(3600)
    assert len([at for at in scene.heads.asked if at > scene.clock.elapsed - 600]) < 3 * 600 / 20, "there are too many of them now"


@pytest.mark.parametrize("why", ["something waits", "something is on its way"])
def test_a_head_of_which_more_is_expected_is_asked_every_five_seconds(scene: Scene, why: str) -> None:
    scene.follow()
    if why == "something waits":
        scene.heads.of(HEAD).pending(1, CPU=1.0)
        scene.settle()
    else:
        scene.settle(eager=True)
    scene.clock.run(600)
    assert all(pause < 6 for pause in pauses(scene)[2:])


def test_new_demand_is_heard_and_brings_the_pace_back(scene: Scene) -> None:
    scene.follow()
    scene.settle()
    scene.clock.run(3600)
    scene.heard.clear()
    scene.heads.of(HEAD).pending(1, CPU=1.0)
    scene.clock.run(35)
    assert scene.heard == [ONE]
    scene.clock.run(60)
    assert all(pause < 6 for pause in pauses(scene)[-8:])


def test_what_another_head_said_is_not_this_ones_word(scene: Scene) -> None:
    scene.follow()
    assert scene.word().session == "first"
    second = Head(ONE, "10.0.0.2", pod="second")
    assert scene.follow(second) is None
    assert scene.word(second).session == "second"


def test_a_cluster_of_the_same_name_begins_with_nothing(scene: Scene) -> None:
    scene.follow()
    scene.settle(Memory(drains=(Drain("ab", "a", "small", Cause.IDLE, "idle", scene.clock.time()),)))
    assert scene.follow(uid="2") is None
    assert scene.loop.memory(ONE) == Memory()
    assert scene.heads.left == ["first"], "its channel is closed"


def test_a_connection_that_a_call_makes_to_a_head_that_was_left_meanwhile_is_not_kept(scene: Scene) -> None:
    scene.follow(seconds=CALL / 2)
    scene.do(lambda: scene.loop.forget(ONE))
    assert scene.heads.left == ["first", "first"], "when it was forgotten, and when the call was over"


def drain(scene: Scene) -> Drain:
    return Drain(b"a".hex(), "a", "small", Cause.IDLE, "idle for 60 s", scene.clock.time())


@pytest.mark.parametrize(("busy", "accepted", "answer"), [(False, True, ""), (True, False, BUSY)])
def test_what_ray_answers_to_a_drain_is_remembered_whenever_it_comes(scene: Scene, busy: bool, accepted: bool, answer: str) -> None:
    scene.follow()
    gcs = scene.heads.of(HEAD)
    node = gcs.node("a", "small", {"CPU": 1.0})
    if busy:
        gcs.busy(node)
    asked = drain(scene)
    scene.do(lambda: scene.loop.send(ONE, HEAD, asked, scene.complain))
    scene.settle(Memory(drains=(asked,)))  # made before the answer was known
    (found,) = scene.loop.memory(ONE).drains
    assert (found.accepted, found.answer) == (accepted, answer)


@pytest.mark.parametrize("failure", [Unanswered("timeout"), Refused("UNAUTHENTICATED", "InvalidAuthToken")])
def test_a_drain_that_is_not_answered_is_complained_of_and_not_remembered_as_answered(scene: Scene, failure: Exception) -> None:
    scene.follow()
    scene.heads.fails = failure
    complaints: list[str] = []
    asked = drain(scene)
    scene.do(lambda: scene.loop.send(ONE, HEAD, asked, complaints.append))
    scene.settle(Memory(drains=(asked,)))
    assert len(complaints) == 1
    assert scene.loop.memory(ONE).drains[0].accepted is None


def report_of(count: int) -> bytes:
    request = message("ReportAutoscalingStateRequest")
    request.autoscaling_state.pending_instance_requests.add(ray_node_type_name="small", count=count)
    return bytes(request.SerializeToString())


def test_a_report_is_sent_once_with_a_version_that_rises(scene: Scene) -> None:
    scene.follow()
    scene.heads.of(HEAD).state.last_seen_autoscaler_state_version = 41
    scene.clock.run(6)
    for count in (1, 1, 2, 2):
        scene.settle(report=report_of(count))
    reported = scene.heads.of(HEAD).reported
    assert [each.pending_instance_requests[0].count for each in reported] == [1, 2]
    assert [each.autoscaler_state_version for each in reported] == [42, 43]


def test_a_report_that_did_not_arrive_goes_with_the_next_decision(scene: Scene) -> None:
    scene.follow()
    scene.heads.fails = Refused("UNKNOWN", "later")
    scene.settle(report=report_of(1))
    scene.heads.fails = None
    scene.settle(report=report_of(1))
    scene.clock.run(10)
    scene.settle(report=report_of(1))
    assert len(scene.heads.of(HEAD).reported) == 1


def test_a_restarted_ray_is_told_again(scene: Scene) -> None:
    scene.follow()
    scene.settle(report=report_of(1))
    scene.heads.of(HEAD).session = "after a restart"
    scene.clock.run(10)
    scene.word()
    scene.settle(report=report_of(1))
    assert len(scene.heads.of(HEAD).reported) == 2


def counted(scene: Scene) -> dict[str, float]:
    """Metrics, without the seconds that things took."""
    gauges = Measure(scene.loop.tally, scene.loop.unmet)(())
    return {" ".join((gauge.name, *of)): value for gauge in gauges for of, value in gauge.samples if "seconds" not in gauge.name}


def test_what_is_asked_and_what_waits_is_counted(scene: Scene) -> None:
    gcs = scene.heads.of(HEAD)
    gcs.busy(gcs.node("a", "small", {"CPU": 1.0}))
    gcs.pending(3, CPU=1.0)
    gcs.pending(-1, CPU=2.0)
    gcs.state.pending_gang_resource_requests.add().requests.add(resources_bundle={"CPU": 1.0})
    scene.follow()
    scene.do(lambda: scene.loop.send(ONE, HEAD, Settled(Memory(), report_of(1), True, ("ScaledUp",), infeasible=2), scene.complain))
    scene.do(lambda: scene.loop.send(ONE, HEAD, drain(scene), scene.complain))
    found = counted(scene)
    assert {name: number for name, number in found.items() if name.startswith("rayfleet_autoscaling")} == {
        "rayfleet_autoscaling_waiting default one": 4,
        "rayfleet_autoscaling_infeasible default one": 2,
        "rayfleet_autoscaling_changes_total ScaledUp": 1,
        "rayfleet_autoscaling_drains_total refused": 1,
    }
    assert found["rayfleet_gcs_calls_total ReportAutoscalingState OK"] == found["rayfleet_gcs_calls_total DrainNode OK"] == 1
    scene.heads.fails = Refused("UNAUTHENTICATED", "InvalidAuthToken")
    scene.clock.run(60)
    scene.heads.fails = Unanswered("timeout")
    scene.do(lambda: scene.loop.send(ONE, HEAD, drain(scene), lambda why: None))
    found = counted(scene)
    assert found["rayfleet_gcs_calls_total GetClusterResourceState UNAUTHENTICATED"] >= 1
    assert found["rayfleet_gcs_calls_total DrainNode UNANSWERED"] == found["rayfleet_autoscaling_drains_total unanswered"] == 1
    assert "rayfleet_autoscaling_waiting default one" not in found, "nobody knows"


def test_who_leads_no_longer_asks_nobody(scene: Scene) -> None:
    scene.follow()
    scene.do(scene.loop.rest)
    before = len(scene.heads.asked)
    scene.clock.run(120)
    assert len(scene.heads.asked) == before
