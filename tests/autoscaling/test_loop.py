"""Hosted autoscaling from a head's word to Pods, with everything between as it is."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICEACCOUNTS
from rayfleet.autoscaling import drains, judge, observe
from rayfleet.autoscaling.loop import Mind
from rayfleet.kube.errors import Conflict
from rayfleet.ray.gcs import Line
from rayfleet.ray.lane import Follower
from rayfleet.runtime.gate import Write
from tests.autoscaling.world import Ray, World, sizing, small, world
from tests.parity.stage import until
from tests.raycluster.vocabulary import template

SOON = {"autoscalerOptions": {"idleTimeoutSeconds": 1}}


async def test_two_clusters_grow_with_their_own_demand_and_shrink_when_they_are_idle() -> None:
    async with world() as seen:
        wanted = {"one": 2, "two": 3}
        rays = {name: await seen.ray(name) for name in wanted}
        for name, ray in rays.items():
            await seen.cluster(name, small(), **SOON)
            ray.gcs.pending(wanted[name], CPU=1.0)
        for name, count in wanted.items():
            await seen.becomes(name, small=count)
        for name, ray in rays.items():
            await joined(ray, wanted[name])
            del ray.gcs.state.pending_resource_requests[:]
        for name, ray in rays.items():
            await seen.becomes(name, small=0)
            await emptied(seen, name)
            assert len(ray.gcs.drained) == wanted[name]
            await seen.says(name, "Working")
            assert any("small" in note and "-> " in note for note in await seen.notes(name))
        assert not {*rays["one"].gcs.drained} & {*rays["two"].gcs.drained}


async def test_at_rest_nothing_is_written_and_reports_are_not_repeated() -> None:
    async with world() as seen:
        ray = await seen.ray("one")
        await seen.cluster("one", small(replicas=1, minReplicas=1))
        await joined(ray, 1)
        await until(lambda: polled(ray, 5))
        before, reports = len(seen.stage.written()), len(ray.gcs.reported)
        await until(lambda: polled(ray, 12))
        assert len(seen.stage.written()) == before
        assert len(ray.gcs.reported) == reports


async def test_a_head_that_keeps_silent_delays_no_other() -> None:
    async with world() as seen:
        dumb, quick = await seen.ray("dumb"), await seen.ray("quick")
        dumb.gcs.silence = True
        for name, ray in (("dumb", dumb), ("quick", quick)):
            ray.gcs.pending(1, CPU=1.0)
            await seen.cluster(name, small())
        await until(lambda: called(dumb))
        await seen.becomes("quick", small=1)
        assert await seen.replicas("dumb") == {"small": 0}


async def test_a_busy_node_is_not_ended_and_an_idle_one_is() -> None:
    async with world() as seen:
        ray = await seen.ray("one")
        ray.gcs.pending(2, CPU=1.0)
        await seen.cluster("one", small(), **SOON)
        await joined(ray, 2)
        busy, idle = ray.nodes("small")
        ray.gcs.busy(busy)
        del ray.gcs.state.pending_resource_requests[:]
        await seen.becomes("one", small=1)
        await until(lambda: only(seen, "one", busy.instance_id))
        assert ray.gcs.drained == [idle.instance_id]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_write_nothing_is_lost_and_nothing_is_doubled(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drains, "DEAD_FOR", 0.2)  # whoever comes after a kill does not know that a dead node was drained, and waits
    async with world(sized=False) as seen:
        ray = await seen.ray("one")
        ray.gcs.pending(2, CPU=1.0)
        await seen.cluster("one", small(), **SOON)
        assert await killed_until(seen, when, joined(ray, 2)) > 0
        assert len(await seen.pods("one")) == 2
        del ray.gcs.state.pending_resource_requests[:]
        assert await killed_until(seen, when, emptied(seen, "one")) > 0
        assert sorted(ray.gcs.drained) == sorted({*ray.gcs.drained})
        assert len(ray.nodes("small")) == 2, "no Pod was made that nothing asked for"


async def killed_until(seen: World, when: str, done: object) -> int:
    """Kills whoever sizes at each of its writes in turn until it is done; gives how often. What is written is done by then, or never."""
    goal = asyncio.ensure_future(done)  # type: ignore[call-overload]
    kills = 0
    while not goal.done():
        struck = asyncio.Event()

        left = iter(range(kills % 3))

        async def strike(at: str, write: Write, struck: asyncio.Event = struck, left: Iterator[int] = left) -> None:
            """The first, second, third write of a life, in turn: else no life would get anywhere."""
            if at == when and write.resource == RAYCLUSTERS and next(left, None) is None:
                struck.set()
                await asyncio.Event().wait()

        async with sizing(seen, strike):
            waiting = asyncio.create_task(struck.wait())
            await asyncio.wait([goal, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        kills += struck.is_set()
    await goal
    return kills


async def test_groups_that_change_places_are_met_by_name() -> None:
    async with world() as seen:
        ray = await seen.ray("one", big=4.0)
        big = small(groupName="big", replicas=1, maxReplicas=3, template=template(resources={"limits": {"cpu": "4"}}))
        await seen.cluster("one", small(), big)
        await until(lambda: called(ray))
        ray.gcs.pending(2, CPU=3.0)
        while (await seen.replicas("one"))["big"] < 2:
            cluster = await seen.get("one")
            turned = cluster["spec"]["workerGroupSpecs"][::-1]
            meta = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
            with suppress(Conflict):
                await seen.stage.client.patch(RAYCLUSTERS, "one", seen.namespace, {"metadata": meta, "spec": {"workerGroupSpecs": turned}})
        await until(lambda: joined_any(ray, 2))
        assert await seen.replicas("one") == {"small": 0, "big": 2}


async def test_turned_on_for_a_living_cluster_nothing_is_recreated_and_the_next_head_is_ours() -> None:
    async with world() as seen:
        ray = await seen.ray("one")
        ray.gcs.pending(1, CPU=1.0)
        await seen.cluster("one", small(), annotations={labels.AUTOSCALING: "sidecar"})
        head = await seen.head("one")
        assert [container["name"] for container in head["spec"]["containers"]] == ["ray", "autoscaler"]
        await seen.stage.client.patch(RAYCLUSTERS, "one", seen.namespace, {"metadata": {"annotations": {labels.AUTOSCALING: "hosted"}}})
        await seen.says("one", "SidecarPresent")
        assert (await seen.head("one"))["metadata"]["uid"] == head["metadata"]["uid"]
        assert ray.gcs.calls == [], "the two never act together"
        assert await seen.stage.client.list(SERVICEACCOUNTS, seen.namespace, labels="ray.io/cluster=one")

        await seen.stage.client.delete(PODS, head["metadata"]["name"], seen.namespace)
        await seen.becomes("one", small=1)
        assert [container["name"] for container in (await seen.head("one"))["spec"]["containers"]] == ["ray"]
        await until(lambda: without_account(seen))
        await seen.says("one", "Working")


async def without_account(seen: World) -> bool:
    return not await seen.stage.client.list(SERVICEACCOUNTS, seen.namespace, labels="ray.io/cluster=one")


async def test_a_group_that_is_removed_while_its_nodes_drain_takes_nobody_with_it() -> None:
    async with world() as seen:
        ray = await seen.ray("one")
        await seen.cluster("one", small(replicas=1, minReplicas=1), small(groupName="other", replicas=2), **SOON)
        await until(lambda: joined_any(ray, 3))
        await until(lambda: drained(ray))
        groups = (await seen.get("one"))["spec"]["workerGroupSpecs"]
        await seen.stage.client.patch(RAYCLUSTERS, "one", seen.namespace, {"spec": {"workerGroupSpecs": groups[:1]}})
        (kept,) = [node.instance_id for node in ray.nodes("small")]
        await until(lambda: only(seen, "one", kept))
        ray.gcs.pending(3, CPU=1.0)
        await seen.becomes("one", small=3)


async def drained(ray: Ray) -> bool:
    return bool(ray.gcs.drained)


async def test_a_name_that_is_used_again_is_another_cluster_and_leaves_nothing_behind() -> None:
    of_others = kept()

    async def forgotten() -> bool:
        return kept() <= of_others

    async with world() as seen:
        for life in range(5):
            ray = await seen.ray("one")
            ray.gcs.session = f"session_{life}"
            ray.gcs.pending(1 + life % 2, CPU=1.0)
            await seen.cluster("one", small())
            await joined(ray, 1 + life % 2)
            await seen.becomes("one", small=1 + life % 2)
            await seen.stage.client.delete(RAYCLUSTERS, "one", seen.namespace)
            await until(lambda: nothing_left(seen))
            await ray.gcs.stop()
        await until(forgotten, what="something of it is kept")


def kept() -> int:
    """How much there is that was made for one cluster: memories, connections, those who wait for an answer."""
    gc.collect()
    return sum(isinstance(each, Mind | Line | Follower) for each in gc.get_objects())


async def test_a_decision_on_much_demand_is_made_beside() -> None:
    async with world() as seen:
        ray = await seen.ray("one")
        for index in range(250):
            ray.gcs.pending(1, **{f"nowhere-{index}": 1.0})
        ray.gcs.pending(1, CPU=1.0)
        await seen.cluster("one", small())
        await seen.becomes("one", small=1)
        await seen.says("one", "DemandInfeasible")


async def test_what_takes_too_long_to_weigh_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "DEADLINE", 0.0)
    monkeypatch.setattr(observe, "RESTS", 0.5)
    async with world() as seen:
        for name in ("much", "little"):
            ray = await seen.ray(name)
            ray.gcs.pending(1, CPU=1.0)
            for index in range(250 if name == "much" else 0):
                ray.gcs.pending(1, **{f"nowhere-{index}": 1.0})
            await seen.cluster(name, small())
        await seen.says("much", "TooMuchToWeigh")
        await seen.becomes("little", small=1)
        assert await seen.replicas("much") == {"small": 0}
        monkeypatch.setattr(judge, "DEADLINE", 600.0)
        await seen.becomes("much", small=1)


async def joined(ray: Ray, count: int) -> None:
    async def so() -> bool:
        return len(ray.nodes("small")) == count

    await until(so, what=f"{len(ray.nodes('small'))} nodes, not {count}")


async def joined_any(ray: Ray, count: int) -> bool:
    return len([node for node in ray.gcs.state.node_states if node.ray_node_type_name != "headgroup"]) >= count


async def emptied(seen: World, name: str) -> None:
    async def so() -> bool:
        return not await seen.pods(name)

    await until(so, what=f"{name} still has {await seen.pods(name)}")


async def only(seen: World, name: str, pod: str) -> bool:
    return await seen.pods(name) == [pod]


async def nothing_left(seen: World) -> bool:
    return await seen.stage.cluster(seen.namespace, "one") is None and not await seen.pods("one")


async def called(ray: Ray) -> bool:
    return bool(ray.gcs.calls)


async def polled(ray: Ray, times: int) -> bool:
    return ray.gcs.calls.count("GetClusterResourceState") >= times
