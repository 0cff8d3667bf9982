"""What is made of a head's answer, however strange."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rayfleet.autoscaling.amounts import LARGEST, resources
from rayfleet.autoscaling.values import Gang, Request, Requirement, State, Strategy
from rayfleet.autoscaling.word import LONGEST_IDLE, MOST_OF_A_SHAPE, MOST_SHAPES, Word
from rayfleet.ray.gcs_messages import message
from rayfleet.sim.gcs import ScriptedGcs

NOW = 1_800_000_000.0


def said(gcs: ScriptedGcs, at: float = NOW) -> Word:
    """Its next answer."""
    return Word(gcs._GetClusterResourceState(b""), at)


def gcs_at(now: list[float]) -> ScriptedGcs:
    return ScriptedGcs(clock=lambda: now[0])


def test_an_answer_that_says_nothing_new_is_the_same_word() -> None:
    now = [NOW]
    gcs = gcs_at(now)
    gcs.node("a", "small", {"CPU": 1.0})
    first = said(gcs, now[0])
    now[0] += 30
    assert said(gcs, now[0]) == first


@pytest.mark.parametrize("change", ["demand", "node", "work", "session", "worked meanwhile"])
def test_an_answer_that_says_something_is_another_word(change: str) -> None:
    now = [NOW]
    gcs = gcs_at(now)
    node = gcs.node("a", "small", {"CPU": 1.0})
    gcs.idle(node, seconds=20)
    first = said(gcs, now[0])
    now[0] += 5
    match change:
        case "demand":
            gcs.pending(1, CPU=1.0)
        case "node":
            gcs.node("b", "small", {"CPU": 1.0})
        case "work":
            gcs.busy(node)
        case "session":
            gcs.session = "session_2"
        case _:
            gcs.idle(node, seconds=1)
    assert said(gcs, now[0]) != first


def test_nodes_are_read_without_trust() -> None:
    gcs = ScriptedGcs()
    strange = gcs.node("a", "small", {"CPU": -2.0, "GPU": math.nan, "memory": math.inf, "TPU": 1.0}, status=77, node_id=b"\x01")
    gcs.node("a-again", "small", {"CPU": 1.0}, node_id=b"\x01")
    gcs.state.node_states.add(instance_id="nameless")
    gcs.node("dead", "small", {"CPU": 1.0}, status=2, node_id=b"\x02")
    content = gcs._GetClusterResourceState(b"")
    first, dead = Word(content, NOW).nodes({"a", "dead"})
    assert (first.pod, first.state, first.node) == (strange.instance_id, State.RUNNING, "01")
    assert first.total == (("TPU", 10_000), ("memory", LARGEST))
    assert dead.state == State.DEAD


@pytest.mark.parametrize("order", [(1, 3, 2), (2, 1, 3), (3, 2, 1)])
def test_of_nodes_under_one_id_the_one_with_more_to_lose_counts(order: tuple[int, ...]) -> None:
    gcs = ScriptedGcs()
    for status in order:
        gcs.node("a", "small", {"CPU": 1.0}, status=status, node_id=b"\x01")
    assert [node.state for node in said(gcs).nodes({"a"})] == [State.RUNNING]


def test_a_node_in_a_pod_of_nobody_here_counts_only_under_an_id_of_ours() -> None:
    gcs = ScriptedGcs()
    for pod, status, node in (("a", 3, b"\x01"), ("strange", 1, b"\x01"), ("other", 1, b"\x02"), ("b", 1, b"")):
        gcs.node(pod, "small", {"CPU": 1.0}, status=status).node_id = node
    word = said(gcs)
    assert [(node.pod, node.state) for node in word.nodes({"a", "b", "c"})] == [("strange", State.RUNNING)]
    assert (word.lists("other"), word.lists("b"), word.lists("c")) == (True, False, False)


@pytest.mark.parametrize(("milliseconds", "seconds"), [(-5_000, 0.0), (2**62, LONGEST_IDLE), (1_500, 1.5)])
def test_idle_times_are_bounded(milliseconds: int, seconds: float) -> None:
    reply = message("GetClusterResourceStateReply")
    reply.cluster_resource_state.node_states.add(node_id=b"a", instance_id="a", status=3, idle_duration_ms=milliseconds)
    assert Word(reply.SerializeToString(), NOW).nodes({"a"})[0].idle == seconds


def test_demand_is_read_without_trust() -> None:
    gcs = ScriptedGcs()
    gcs.pending(2, CPU=1.0)
    gcs.pending(-3, CPU=1.0)
    gcs.pending(2**60, CPU=0.5, GPU=math.nan)
    assert said(gcs).demand.requests == (
        Request(resources({"CPU": 1.0}), 2),
        Request(resources({"CPU": 0.5}), MOST_OF_A_SHAPE),
    )


def test_of_shapes_without_end_the_first_are_weighed() -> None:
    gcs = ScriptedGcs()
    for index in range(MOST_SHAPES + 5):
        gcs.pending(1, **{f"kind-{index}": 1.0})
    assert len(said(gcs).demand.requests) == MOST_SHAPES


def test_placement_groups_constraints_and_selectors() -> None:
    gcs = ScriptedGcs()
    gang = gcs.state.pending_gang_resource_requests.add(details="abc:STRICT_SPREAD|PENDING")
    for _ in range(2):
        bundle = gang.requests.add(resources_bundle={"CPU": 1.0})
        bundle.placement_constraints.add().anti_affinity.label_name = "_PG_abc"
    unnamed = gcs.state.pending_gang_resource_requests.add(details="")
    unnamed.requests.add(resources_bundle={"CPU": 1.0}).placement_constraints.add().affinity.label_name = "_PG_def"
    floor = gcs.state.cluster_resource_constraints.add().resource_requests.add(count=4)
    floor.request.resources_bundle["CPU"] = 2.0
    chosen = gcs.pending(1, CPU=1.0).request.label_selectors.add()
    chosen.label_constraints.add(label_key="zone", operator=1, label_values=["a", "b"])
    chosen.label_constraints.add(label_key="arch", operator=2, label_values=["arm"])
    chosen.label_constraints.add(label_key="later", operator=9, label_values=["x"])
    demand, one = said(gcs).demand, Request(resources({"CPU": 1.0}))
    assert demand.gangs == (
        Gang("_PG_abc", Strategy.STRICT_SPREAD, (one, one), "abc:STRICT_SPREAD|PENDING"),
        Gang("", Strategy.STRICT_PACK, (one,), ""),
    )
    assert demand.floor == (Request(resources({"CPU": 2.0}), 4),)
    terms = (Requirement("zone", ("a", "b")), Requirement("arch", ("arm",), excluded=True), Requirement("later"))
    assert demand.requests[0].selectors == (terms,)


@pytest.mark.parametrize("content", [b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x0f", bytes(1000)])
def test_bytes_that_are_no_answer_are_none(content: bytes) -> None:
    with pytest.raises(ValueError, match="no GetClusterResourceStateReply"):
        Word(content, NOW)


def test_an_empty_answer_is_of_nobody() -> None:
    word: Any = Word(b"", NOW)
    assert (word.nodes({"", "a"}), word.demand.requests, word.waits) == ((), (), False)
