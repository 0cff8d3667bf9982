"""The operator as it is, on the embedded API, beside a Serve that only pretends: what reaches the API server and Ray, counted."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.crds import crds
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYSERVICES, SERVICES
from rayfleet.sim.serve import FakeServe
from rayfleet.sim.service_specs import cluster_spec, document
from tests.parity.grounds import embedded_with
from tests.parity.peer_definitions import peer_crds
from tests.parity.stage import Stage, operator, stage, until

Json = dict[str, Any]


class Play:
    """A service on a stage."""

    def __init__(self, place: Stage, serve: FakeServe) -> None:
        self.place = place
        self.serve = serve
        self.mark = 0

    async def apply(self, **given: Any) -> None:
        made = document(**given)
        made["metadata"] = {"name": "shop", "namespace": self.place.namespace, "annotations": made["metadata"]["annotations"]}
        await self.place.client.create(RAYSERVICES, made)

    async def edit(self, **spec: Any) -> None:
        self.mark = len(self.place.written())
        await self.place.client.patch(RAYSERVICES, "shop", self.place.namespace, {"spec": spec})

    async def service(self) -> Json:
        found: Json = await self.place.client.get(RAYSERVICES, "shop", self.place.namespace)
        return found

    async def condition(self, type: str) -> tuple[str, str]:
        listed = (await self.service()).get("status", {}).get("conditions", ())
        return next(((each["status"], each["reason"]) for each in listed if each["type"] == type), ("", ""))

    async def await_ready(self, seconds: float = 30.0) -> None:
        await until(lambda: self.says("Ready", "True"), seconds)

    async def says(self, type: str, status: str) -> bool:
        return (await self.condition(type))[0] == status

    async def clusters(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in await self.place.client.list(RAYCLUSTERS, self.place.namespace))

    async def led_to(self) -> str:
        found = await self.place.client.get(SERVICES, "shop-serve-svc", self.place.namespace)
        return str(found["spec"]["selector"][labels.CLUSTER])

    def writes(self) -> Counter[str]:
        """By the operator since the last edit: verb, kind and subresource."""
        entries = self.place.written()[self.mark :]
        return Counter(f"{each.verb} {each.resource}{'/' if each.subresource else ''}{each.subresource}" for each in entries)

    async def quiet(self, seconds: float = 3.0) -> None:
        await self.place.quiet(seconds)


@asynccontextmanager
async def playing(definitions: Callable[[], Iterable[Json]] = crds) -> AsyncIterator[Play]:
    serve = FakeServe(time.time, deploys=1.5)
    async with stage(ray=serve, on=embedded_with(definitions)) as place:
        yield Play(place, serve)


@pytest.mark.parametrize("definitions", [crds, peer_crds], ids=["ours", "kuberays"])
async def test_two_applications_come_up_with_three_status_writes_and_one_put_and_then_all_is_silent(
    definitions: Callable[[], Iterable[Json]],
) -> None:
    async with playing(definitions) as play:
        await play.apply()
        await play.await_ready()
        (name,) = await play.clusters()
        assert [cluster for cluster, _ in play.serve.puts] == [name]
        assert await play.led_to() == name
        writes = play.writes()
        assert writes["patch rayservices/status"] <= 3, writes
        assert (writes["create rayclusters"], writes["create services"], writes["patch rayservices"]) == (1, 3, 1)
        await play.quiet()
        assert (await play.service())["status"]["numServeEndpoints"] == 2


async def test_an_upgrade_moves_the_traffic_with_few_writes_and_ends_with_one_cluster() -> None:
    async with playing() as play:
        await play.apply(rayClusterDeletionDelaySeconds=1)
        await play.await_ready()
        (first,) = await play.clusters()
        await play.edit(rayClusterConfig=cluster_spec(env="2"))
        await until(lambda: play.says("UpgradeInProgress", "True"))
        assert await play.led_to() == first

        async def over() -> bool:
            return await play.clusters() != [first] and len(await play.clusters()) == 1

        await until(over, 30.0)
        (second,) = await play.clusters()
        assert await play.led_to() == second and await play.says("Ready", "True")
        await until(lambda: play.says("UpgradeInProgress", "False"))
        assert [cluster for cluster, _ in play.serve.puts] == [first, second]
        assert play.writes()["patch rayservices/status"] <= 8, play.writes()
        await play.quiet()


async def test_a_new_head_pod_without_fault_tolerance_gets_the_config_again() -> None:
    async with playing() as play:
        await play.apply()
        await play.await_ready()
        heads = await play.place.client.list(PODS, play.place.namespace, labels="ray.io/node-type=head")
        await play.place.client.delete(PODS, heads[0]["metadata"]["name"], play.place.namespace)

        async def sent_again() -> bool:
            return len(play.serve.puts) == 2

        await until(sent_again, 30.0)
        await play.await_ready()


async def test_another_operator_process_writes_and_sends_nothing() -> None:
    async with playing() as play:
        await play.apply()
        await play.await_ready()
        await play.quiet(1.0)
        before, puts = len(play.place.written()), len(play.serve.puts)
        play.place.manager.stop()
        async with operator(play.place.connection, Configuration(), ray=play.serve):
            await asyncio.sleep(4.0)
        assert [str(each) for each in play.place.written()[before:]] == []
        assert len(play.serve.puts) == puts


async def test_deleted_nothing_is_left() -> None:
    async with playing() as play:
        await play.apply()
        await play.await_ready()
        await play.place.client.delete(RAYSERVICES, "shop", play.place.namespace)

        async def gone() -> bool:
            rest = [await play.place.client.list(kind, play.place.namespace) for kind in (RAYSERVICES, RAYCLUSTERS, SERVICES, PODS)]
            return not any(rest)

        await until(gone, 30.0)
