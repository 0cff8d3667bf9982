"""One Pod from its creation to its end, with real processes."""

from __future__ import annotations

import pytest

from rayfleet.api.meta import NODES, PODS
from tests.kubelet.namespaces import NOTHING, remains
from tests.kubelet.world import FOR_EVER, World, is_true, pod, until

pytestmark = pytest.mark.namespaces


async def test_a_pod_is_bound_started_and_told_to_be_ready(world: World) -> None:
    await world.apply(pod(f"hostname; echo $HOSTNAME; ip -4 -o addr show eth0 | tr -s ' ' | cut -d' ' -f4; {FOR_EVER}"))
    status = await world.becomes_ready()
    assert (await world.pod())["spec"]["nodeName"] == "local"
    assert status["phase"] == "Running"
    assert all(is_true(kind, status) for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready"))
    assert status["hostIP"] == "10.88.0.1"
    assert status["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert await until("three lines", lambda: lines(world, 3)) == ["a", "a", f"{status['podIP']}/16"]


async def lines(world: World, count: int) -> list[str] | None:
    found = (await world.log()).splitlines()
    return found if len(found) >= count else None


async def test_a_deleted_pod_leaves_nothing(world: World) -> None:
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    assert remains(world.settings.state) != NOTHING
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert remains(world.settings.state) == NOTHING


async def test_the_node_is_registered(world: World) -> None:
    node = await world.client.get(NODES, "local")
    assert node["metadata"]["annotations"]["rayfleet.dev/kubelet-scheme"] == "http"
    assert node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250
    assert is_true("Ready", node["status"])
