"""RayServices as the peer was recorded to start them, on the embedded API with a Serve that pretends: children, writes, calls to Ray."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES
from rayfleet.sim.serve import FakeServe
from tests.parity.canonical import Json
from tests.parity.compare import compared, grouped
from tests.parity.named import unnamed
from tests.parity.recording import recording
from tests.parity.stage import Stage, found, stage, until

CASES = ("rayservice-minimal", "rayservice-serve-port-9000", "rayservice-upgrade-none", "rayservice-suspend")
KINDS = ("RayCluster", "RayService")


@pytest.mark.parametrize("name", CASES)
async def test_started_its_children_are_the_peer_s_and_it_writes_no_more(name: str, tmp_path: Path) -> None:
    case = recording(name)
    serve = FakeServe(time.time, deploys=3.0)
    async with stage(Configuration(kuberay_version="nightly"), ray=serve) as place:
        service = {**case.cluster, "metadata": {**case.cluster["metadata"], "namespace": place.namespace}}
        await place.client.create(RAYSERVICES, service)
        await until(lambda: is_ready(place), 40.0)
        (cluster,) = await place.client.list(RAYCLUSTERS, place.namespace)
        mine = grouped((named(each, cluster["metadata"]["name"]) for each in await children(place)), place.namespace)
        assert unnamed(name, list(compared(case.children[0], mine))) == []
        written = place.written()
        statuses = sum(entry.subresource == "status" for entry in written)
        assert statuses <= case.writes[0]["status"], [str(entry) for entry in written]
        assert len(serve.puts) == 1


async def is_ready(place: Stage) -> bool:
    listed = await place.client.list(RAYSERVICES, place.namespace)
    conditions = listed[0].get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def children(place: Stage) -> list[Json]:
    """What belongs to the service or to its cluster."""
    clusters = [{"apiVersion": "ray.io/v1", "kind": "RayCluster", **each} for each in await place.client.list(RAYCLUSTERS, place.namespace)]
    assert await found(place.client, RAYSERVICES, "shop", place.namespace)
    return [*clusters, *await place.children(place.namespace)]


def named(body: Json, cluster: str) -> Json:
    """The recordings call the cluster's hashed name `rrrrr`."""
    renamed: Json = json.loads(re.sub(rf"\b{re.escape(cluster)}\b", "shop-rrrrr", json.dumps(body)))
    return renamed
