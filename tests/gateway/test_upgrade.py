"""A whole upgrade, step by step, on the embedded API: the real operator, a Serve that pretends, a gateway that follows the route."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.crds import crds
from rayfleet.api.meta import ENDPOINTSLICES, GATEWAYS, HTTPROUTES, PODS, RAYCLUSTERS, RAYSERVICES
from rayfleet.sim.serve import FakeServe
from rayfleet.sim.service_specs import cluster_spec, document, incremental
from tests.gateway.controller import FakeGateway, heeding
from tests.gateway.definitions import DEFINITIONS
from tests.parity.grounds import embedded_with
from tests.parity.stage import Stage, found, stage, until

WITH_ROADS = embedded_with(lambda: (*crds(), *DEFINITIONS))
SHARES = {"targetCapacity": 100, "trafficRoutedPercent": 100}


def spec(rev: str | None = None) -> dict[str, Any]:
    return cluster_spec(env=rev, enableInTreeAutoscaling=True)


async def open_shop(place: Stage, **given: Any) -> str:
    """With one cluster, whose name is given."""
    strategy = {"rayClusterConfig": spec(), "upgradeStrategy": incremental(50, 25, 1), "rayClusterDeletionDelaySeconds": 1}
    made = document(**strategy, **given)
    made["metadata"] = {"name": "shop", "namespace": place.namespace}
    await place.client.create(RAYSERVICES, made)
    await until(lambda: is_settled(place, 1), 40.0, what="the first cluster never served")
    return (await clusters(place))[0]


async def is_settled(place: Stage, generation: int) -> bool:
    status = (await found(place.client, RAYSERVICES, "shop", place.namespace) or {}).get("status", {})
    told = {each["type"]: each["status"] for each in status.get("conditions", ())}
    active = status.get("activeServiceStatus", {})
    over = told.get("Ready") == told.get("GatewayReady") == "True" and told.get("UpgradeInProgress") == "False"
    return over and status["observedGeneration"] == generation and active.items() >= SHARES.items() and len(await clusters(place)) == 1


async def clusters(place: Stage) -> list[str]:
    return [each["metadata"]["name"] for each in await place.client.list(RAYCLUSTERS, place.namespace)]


async def requests(place: Stage, gateway: FakeGateway, serve: FakeServe, counts: Counter[str]) -> None:
    """Fifty a second, each to an endpoint of the Service whose turn it is; what became of them is counted."""
    while True:
        heads = {}
        for pod in await place.client.list(PODS, place.namespace, labels="ray.io/node-type=head"):
            heads[pod["metadata"]["labels"]["ray.io/cluster"]] = pod["metadata"]["name"]
        slices = await place.client.list(ENDPOINTSLICES, place.namespace)
        for _ in range(5):
            counts[fate(gateway.turn(), slices, heads, serve)] += 1
        await asyncio.sleep(0.1)


def fate(service: str, slices: list[dict[str, Any]], heads: dict[str, str], serve: FakeServe) -> str:
    """The cluster that answered, or why none did."""
    cluster = service.removesuffix("-serve-svc")
    own = [each for each in slices if each["metadata"]["labels"].get("kubernetes.io/service-name") == service]
    if not any(end["conditions"].get("ready") for each in own for end in each.get("endpoints") or ()):
        return f"failed: {service or 'no route'} has no endpoint"
    head = heads.get(cluster, "")
    if not serve.running(cluster, head):
        return f"failed: nothing runs on {cluster}"
    config = serve.heads[head].config
    return cluster if config and config.get("target_capacity") else f"failed: {cluster} has no replicas"


async def test_no_request_is_lost_and_the_status_is_written_twice_a_step_at_most() -> None:
    serve = FakeServe(time.time, deploys=2.0)
    async with stage(Configuration(), ray=serve, on=WITH_ROADS) as place, heeding(place.client) as gateway:
        first = await open_shop(place)
        counts: Counter[str] = Counter()
        load = asyncio.create_task(requests(place, gateway, serve, counts))
        before = len(place.written())
        await place.client.patch(RAYSERVICES, "shop", place.namespace, {"spec": {"rayClusterConfig": spec("2")}})
        await until(lambda: is_settled(place, 2), 90.0, what="the upgrade never ended")
        load.cancel()
        (second,) = await clusters(place)
        assert first != second and counts.keys() == {first, second}, counts
        written = Counter(f"{each.verb} {each.resource}/{each.subresource}" for each in place.written()[before:])
        told = [(name, config["target_capacity"]) for name, config in serve.puts]
        assert told == [(first, 100), (second, 50), (first, 50), (second, 100), (first, 0)]
        steps = written["patch httproutes/"] + len(told) - 1
        assert written["patch rayservices/status"] <= 2 * steps, written
        await rests(place, serve)
        await everything_goes(place)


async def rests(place: Stage, serve: FakeServe) -> None:
    puts = len(serve.puts)
    await place.quiet(3.0)
    assert len(serve.puts) == puts


async def everything_goes(place: Stage) -> None:
    await place.client.delete(RAYSERVICES, "shop", place.namespace)

    async def gone() -> bool:
        left = [await place.client.list(resource, place.namespace) for resource in (RAYSERVICES, RAYCLUSTERS, GATEWAYS, HTTPROUTES)]
        return not any(left)

    await until(gone, 30.0, what="something is left")


async def test_the_gateway_api_may_come_later() -> None:
    serve = FakeServe(time.time, deploys=0.5)
    async with stage(Configuration(), ray=serve) as place:
        made = document(rayClusterConfig=spec(), upgradeStrategy=incremental(100, 100, 1))
        made["metadata"] = {"name": "shop", "namespace": place.namespace}
        await place.client.create(RAYSERVICES, made)

        async def said(condition: str, status: str, reason: str) -> bool:
            status_ = (await found(place.client, RAYSERVICES, "shop", place.namespace) or {}).get("status", {})
            return (condition, status, reason) in {(each["type"], each["status"], each["reason"]) for each in status_.get("conditions", ())}

        await until(lambda: said("Ready", "True", "NonZeroServeEndpoints"), 30.0)
        assert await said("GatewayReady", "False", "GatewayAPIMissing")
