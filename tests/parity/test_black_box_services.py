"""The reports about RayServices; see test_black_box. What recordings show is in `owners`."""

from __future__ import annotations

import json

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import EVENTS, SERVICES
from tests.parity.chronicle import chronicle
from tests.parity.cluster import group
from tests.parity.owners.alone import alone, cluster_spec, config, service
from tests.parity.stage import operator, until

MINUTES = 150.0


async def test_1_a_steady_service_is_not_written_to_for_ten_minutes() -> None:
    async with alone(MINUTES) as shop:
        await shop.apply(service())
        await shop.ready()
        await shop.place.quiet(1.3)
        before = len(shop.place.written())
        assert sum(entry.name == "shop" for entry in shop.place.written()) <= 15
        await shop.clock.sleep(600)
        assert [str(entry) for entry in shop.place.written()[before:]] == []


async def test_2_an_edit_is_acknowledged_in_each_phase() -> None:
    async with alone() as shop:
        shop.ray.stuck = "DEPLOYING"
        await shop.apply(service(rayClusterDeletionDelaySeconds=30))
        await shop.handled()
        for delay in (31, 32):
            await shop.edit(rayClusterDeletionDelaySeconds=delay)
            await shop.handled()
            shop.ray.stuck, shop.ray.serve.stuck = "", {}
            await shop.ready()
        await shop.edit(suspend=True)
        await until(lambda: shop.says("Suspended", "True"))
        await shop.edit(rayClusterDeletionDelaySeconds=33)
        await shop.handled()


async def test_15_a_name_of_47_characters_serves_with_autoscaling() -> None:
    async with alone() as shop:
        spec = cluster_spec(group(), enableInTreeAutoscaling=True)
        await shop.apply(service("s" * 47, rayClusterConfig=spec))
        await shop.ready()


@pytest.mark.parametrize("name", ["s" * 48, "1shop"])
async def test_15_a_name_that_cannot_work_is_refused_once_and_nothing_is_made(name: str) -> None:
    async with alone(30.0) as shop:
        await shop.apply(service(name))
        await until(lambda: shop.says("Ready", "False", "ValidationFailed"))
        await shop.clock.sleep(30)
        assert await shop.clusters() == []
        assert sum(entry.subresource == "status" for entry in shop.place.written()) == 1
        assert len(await shop.place.client.list(EVENTS, shop.place.namespace)) == 1


@pytest.mark.parametrize("restarts", [False, True])
async def test_19_a_new_config_beside_a_new_image_reaches_only_the_new_cluster(restarts: bool) -> None:
    async with alone() as shop:
        await shop.apply(service())
        await shop.ready()
        (old,) = await shop.clusters()
        await shop.edit(serveConfigV2=config(3), rayClusterConfig=cluster_spec(group(), env="2"))
        await until(lambda: shop.says("UpgradeInProgress", "True"))
        if restarts:
            shop.place.manager.stop()
            async with operator(shop.place.connection, Configuration(), shop.clock, shop.rays):
                await until(lambda: shop.says("UpgradeInProgress", "False"))
        await until(lambda: shop.says("UpgradeInProgress", "False"))
        told = [(name == old, each["applications"][0]["deployments"][0]["num_replicas"]) for name, each in shop.puts]
        assert told == [(True, 1), (False, 3)]


async def test_20_traffic_moves_when_the_applications_run_and_not_before() -> None:
    async with alone(30.0) as shop:
        await shop.apply(service())
        await shop.ready()
        old = await shop.led_to()
        shop.ray.stuck = "DEPLOYING"
        async with chronicle(shop.place.client, SERVICES, shop.place.namespace) as seen:
            await shop.edit(rayClusterConfig=cluster_spec(group(), env="2"))
            await until(lambda: shop.says("UpgradeInProgress", "True"))
            await shop.clock.sleep(60)
            assert await shop.led_to() == old and await shop.says("Ready", "True")
            assert [kind for kind, each in seen if each["metadata"]["name"] == "shop-serve-svc"] == []
            shop.ray.stuck, shop.ray.serve.stuck = "", {}
            await until(lambda: shop.says("UpgradeInProgress", "False"))
        assert await shop.led_to() != old


async def test_22_applications_that_take_their_time_make_no_further_cluster() -> None:
    """An hour, which is longer than every threshold that anybody can set."""
    async with alone(600.0) as shop:
        shop.ray.stuck = "DEPLOYING"
        thresholds = {"serviceUnhealthySecondThreshold": 10, "deploymentUnhealthySecondThreshold": 10}
        await shop.apply(service(**thresholds))
        await until(lambda: shop.says("Ready", "False", "Initializing"))
        await shop.clock.sleep(3600)
        made = [entry for entry in shop.place.written() if (entry.verb, entry.resource) == ("create", "rayclusters")]
        assert len(made) == 1


async def test_24_workers_are_ready_and_no_endpoints_where_only_the_head_has_a_proxy() -> None:
    async with alone() as shop:
        document = json.loads(config())
        await shop.apply(service(serveConfigV2=json.dumps({"proxy_location": "HeadOnly", **document})))
        await shop.ready()
        assert (await shop.status())["numServeEndpoints"] == 1
        (worker,) = await shop.place.pods(shop.place.namespace)
        assert "8000" not in str(worker["spec"]["containers"][0].get("readinessProbe"))
