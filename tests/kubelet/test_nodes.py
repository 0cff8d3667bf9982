"""Several nodes that are one machine: where Pods go, what they are told when they go nowhere, and what a lost node takes with it."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from rayfleet.api.meta import NODES, PODS
from rayfleet.kube.errors import NotFound
from rayfleet.kubelet.node import capacity
from tests.kubelet.namespaces import shims
from tests.kubelet.world import FOR_EVER, World, is_true, pod, until

pytestmark = pytest.mark.namespaces

AVAILABLE = "0/1 nodes are available: "
QUICK = 0.01  # of a node's patience: a silent one is lost after 2.4 s


@pytest_asyncio.fixture
async def pair(bare_world: World) -> World:
    """A kubelet of two nodes, `local` and `other`."""
    settings = bare_world.settings
    bare_world.settings = replace(settings, beside=("other",), stopped=settings.state / "stopped", patience=QUICK, overcommit={"cpu": 10})
    await bare_world.start_kubelet()
    return bare_world


def stop(world: World, *nodes: str) -> None:
    (world.settings.state / "stopped").write_text(json.dumps(nodes))
    os.kill(os.getpid(), signal.SIGHUP)


def asking(cpu: str, name: str = "a", **more: Any) -> dict[str, Any]:
    return pod(FOR_EVER, name, resources={"requests": {"cpu": cpu}}, **more)


async def taints(world: World, node: str = "other") -> set[tuple[str, str]]:
    found = (await world.client.get(NODES, node))["spec"].get("taints") or ()
    return {(taint["key"], taint["effect"]) for taint in found}


async def node_is_ready(world: World, node: str = "other") -> bool:
    return is_true("Ready", (await world.client.get(NODES, node))["status"])


async def test_what_a_node_has_no_room_for_waits_and_is_told_why(world: World) -> None:
    cores = os.cpu_count() or 1
    await world.apply(asking(str(cores), "first"))
    await world.becomes_ready("first")
    await world.apply(asking("1", "second"))

    async def refused() -> dict[str, Any] | None:
        conditions = (await world.status("second")).get("conditions") or ()
        return next((one for one in conditions if one["type"] == "PodScheduled"), None)

    told = await until("it is told why", refused)
    words = f"{AVAILABLE}1 Insufficient cpu. preemption: {AVAILABLE}1 No preemption victims found for incoming pod."
    assert (told["status"], told["reason"], told["message"]) == ("False", "Unschedulable", words)
    assert await until("an event", lambda: world.events("FailedScheduling")) == [words]
    await world.client.delete(PODS, "first", "default")
    await world.becomes_ready("second")
    assert is_true("PodScheduled", await world.status("second"))


async def test_nodes_share_the_machine_and_pods_spread_over_them(pair: World) -> None:
    for name in ("a", "b"):
        await pair.apply(asking("100m", name))
        await pair.becomes_ready(name)
    assert {(await pair.pod(name))["spec"]["nodeName"] for name in ("a", "b")} == {"local", "other"}
    node = (await pair.client.get(NODES, "other"))["status"]
    assert node["capacity"]["cpu"] == capacity(2)["cpu"]
    assert node["allocatable"]["cpu"] == str(5 * (os.cpu_count() or 1))
    assert node["allocatable"]["memory"] == node["capacity"]["memory"] == capacity(2)["memory"]
    assert await pair.log("a") == await pair.log("b") == ""


async def test_pods_that_shun_each_other_have_a_node_each_and_the_third_waits_for_one(pair: World) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, "labels": {"app": "x"}}
    for name in ("a", "b", "c"):
        await pair.apply(asking("100m", name, **apart))
    (words,) = await until("one is refused", lambda: pair.events("FailedScheduling"))
    assert words.startswith("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. preemption: ")
    placed = [name for name in ("a", "b", "c") if (await pair.pod(name))["spec"].get("nodeName")]
    assert {(await pair.pod(name))["spec"]["nodeName"] for name in placed} == {"local", "other"}
    await pair.client.delete(PODS, placed[0], "default", grace=0)
    for name in {"a", "b", "c"} - {placed[0]}:
        await pair.becomes_ready(name)


async def test_a_stopped_node_is_lost_and_its_pods_are_evicted(pair: World) -> None:
    there = {"nodeSelector": {"kubernetes.io/hostname": "other"}}
    stays = {"tolerations": [{"operator": "Exists"}]}
    await pair.apply(asking("100m", "evicted", **there))
    await pair.apply(asking("100m", "patient", **there, **stays))
    await pair.apply(asking("100m", "elsewhere", nodeSelector={"kubernetes.io/hostname": "local"}))
    for name in ("evicted", "patient", "elsewhere"):
        await pair.becomes_ready(name)
    before = await pair.pod("patient")
    alive = shims(pair.settings.state)
    stop(pair, "other")
    await until("its Pods' processes are killed", lambda: len(shims(pair.settings.state)) < len(alive))

    async def lost() -> bool:
        return len(await taints(pair)) == 2

    await until("the node is lost", lost)
    assert await taints(pair) == {("node.kubernetes.io/unreachable", "NoSchedule"), ("node.kubernetes.io/unreachable", "NoExecute")}
    node = (await pair.client.get(NODES, "other"))["status"]
    assert {(one["status"], one["reason"]) for one in node["conditions"]} == {("Unknown", "NodeStatusUnknown")}

    async def evicted() -> dict[str, Any] | None:
        found = await pair.pod("evicted")
        return found if found["metadata"].get("deletionTimestamp") else None

    assert is_true("DisruptionTarget", (await until("it is evicted", evicted))["status"])
    assert not is_true("Ready", await pair.status("patient"))
    assert is_true("Ready", await pair.status("elsewhere"))

    stop(pair)
    await until("the evicted Pod is gone", lambda: pair.gone("evicted"))
    await pair.becomes_ready("patient")
    after = await pair.pod("patient")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 1

    async def back() -> bool:
        return await node_is_ready(pair) and not await taints(pair)

    await until("the node is back", back)


async def test_pods_of_a_node_that_is_given_up_go_without_it(pair: World) -> None:
    await pair.apply(asking("100m", nodeSelector={"kubernetes.io/hostname": "other"}))
    await pair.becomes_ready()
    stop(pair, "other")

    async def lost() -> bool:
        return not await node_is_ready(pair)

    await until("the node is lost", lost)
    found = (await pair.client.get(NODES, "other"))["spec"]["taints"]
    given_up = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    await pair.client.patch(NODES, "other", None, {"spec": {"taints": [*found, given_up]}})
    await until("the Pod is gone", pair.gone)


async def test_a_node_that_is_deleted_comes_back_if_it_is_there_and_takes_its_pods_along_if_it_is_not(pair: World) -> None:
    await pair.apply(asking("100m", "here", nodeSelector={"kubernetes.io/hostname": "local"}))
    await pair.apply(asking("100m", nodeSelector={"kubernetes.io/hostname": "other"}, tolerations=[{"operator": "Exists"}]))
    before = await pair.becomes_ready("here")
    await pair.becomes_ready()
    stop(pair, "other")
    assert pair.kubelet
    await until("it is stopped", lambda: pair.kubelet and "other" not in pair.kubelet.nodes.beats)
    for node in ("local", "other"):
        await pair.client.delete(NODES, node)
    await until("the Pod of the dead node is gone", pair.gone)

    async def back() -> bool:
        return [one["metadata"]["name"] for one in await pair.client.list(NODES)] == ["local"] and await node_is_ready(pair, "local")

    await until("the living node is back", back)
    assert (await pair.status("here"))["containerStatuses"] == before["containerStatuses"]


async def test_a_machine_that_is_started_with_fewer_nodes_forgets_the_others(pair: World) -> None:
    await pair.apply(asking("100m", nodeSelector={"kubernetes.io/hostname": "other"}))
    await pair.becomes_ready()
    assert pair.kubelet
    await pair.kubelet.close()
    pair.settings = replace(pair.settings, beside=(), stopped=None)
    await pair.start_kubelet()
    assert await pair.gone()
    with pytest.raises(NotFound):
        await pair.client.get(NODES, "other")


async def test_a_living_node_that_is_called_lost_says_that_it_is_ready(bare_world: World) -> None:
    world = bare_world
    world.settings = replace(world.settings, bind=False)
    await world.start_kubelet()
    conditions = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "by a node controller"}]
    await world.client.patch(NODES, "local", None, {"status": {"conditions": conditions}}, subresource="status")

    async def ready() -> bool:
        return await node_is_ready(world, "local")

    await until("it says so", ready)
