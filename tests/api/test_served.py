"""The CRDs on an API server: accepted, then served, with defaults, pruning, rules and columns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from rayfleet.api.crds import crds
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from tests.api.manifests import TEMPLATE, cluster, head_group, recorded_objects, worker_group
from tests.api.test_acceptance import BAD, GOOD, REFUSED_BY_SCHEMA
from tests.apiserver.peer import TABLE, Peer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = {crd["spec"]["names"]["kind"]: crd["spec"]["names"]["plural"] for crd in crds()}


@pytest.fixture
async def ray() -> AsyncIterator[Peer]:
    """An API server that serves our kinds."""
    server = TestServer(ApiServer(Store()).app())
    await server.start_server()
    peer = Peer(str(server.make_url("/")))
    for crd in crds():
        assert (await peer.create(DEFINITIONS, crd)).status == 201
    yield peer
    await peer.close()
    await server.close()


def collection(document: dict[str, Any], namespace: str = "default") -> str:
    return f"/apis/{document['apiVersion']}/namespaces/{namespace}/{PLURALS[document['kind']]}"


def placed(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "namespace": "default"}}


async def test_both_versions_are_served_and_the_old_one_warns(ray: Peer) -> None:
    created = await ray.create(collection(cluster()), placed(cluster()))
    assert (created.status, created.warnings) == (201, [])
    old = await ray.get("/apis/ray.io/v1alpha1/namespaces/default/rayclusters/demo")
    assert old.body["spec"] == created.body["spec"] and old.body["apiVersion"] == "ray.io/v1alpha1"
    assert "v1alpha1 RayCluster is deprecated" in old.warnings[0]


async def test_defaults_come_and_nulls_and_unknown_fields_go(ray: Peer) -> None:
    group = worker_group(replicas=None, maxReplicas=None, rayStartParams=None, colour="red")
    created = await ray.create(collection(cluster()), placed(cluster(workerGroupSpecs=[group])))
    found = created.body["spec"]["workerGroupSpecs"][0]
    assert (found["replicas"], found["maxReplicas"], found["numOfHosts"], found["priority"]) == (0, 2147483647, 1, 0)
    assert "rayStartParams" not in found and "colour" not in found
    assert any("spec.workerGroupSpecs[0].colour" in warning for warning in created.warnings)


async def test_templates_keep_fields_of_tomorrow(ray: Peer) -> None:
    head = head_group({"fieldOfTomorrow": {"deep": [1, None]}})
    created = await ray.create(collection(cluster()), placed(cluster(headGroupSpec=head)))
    assert created.body["spec"]["headGroupSpec"]["template"] == head["template"]
    assert created.body["spec"]["workerGroupSpecs"][0]["template"] == TEMPLATE


async def test_immutable_fields_stay(ray: Peer) -> None:
    await ray.create(collection(cluster()), placed(cluster(managedBy="ray.io/kuberay-operator")))
    changed = await ray.patch(f"{collection(cluster())}/demo", {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
    assert changed.status == 422 and "managedBy is immutable" in changed.body["message"]


async def test_a_status_is_written_and_shown(ray: Peer) -> None:
    await ray.create(collection(cluster()), placed(cluster()))
    status = {"state": "ready", "desiredWorkerReplicas": 2, "desiredCPU": 3, "lastUpdateTime": None, "head": {"podIP": "10.88.0.2"}}
    assert (await ray.patch(f"{collection(cluster())}/demo/status", {"status": status})).status == 200
    table = (await ray.get(collection(cluster()), Accept=TABLE)).body
    shown = dict(zip([column["name"].lower() for column in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert (shown["name"], shown["desired workers"], shown["status"], shown["head pod ip"]) == ("demo", 2, "ready", "10.88.0.2")


async def test_good_and_bad_objects(ray: Peer) -> None:
    for index, document in enumerate(GOOD + BAD):
        body = placed({**document, "metadata": {"name": f"a{index}"}})
        answer = await ray.create(collection(document), body)
        assert answer.status == (201 if document in GOOD else 422), (document, answer.body)


async def test_recorded_inputs(ray: Peer) -> None:
    recorded = recorded_objects()
    if not recorded[0].values[0]:
        pytest.skip("no recordings beside the checkout")
    for index, (case, document) in enumerate(each.values for each in recorded):
        answer = await ray.create(collection(document), placed({**document, "metadata": {"name": f"a{index}"}}))
        assert answer.status == (422 if case in REFUSED_BY_SCHEMA else 201), (case, answer.body)
        assert not any("unknown field" in warning for warning in answer.warnings), (case, answer.warnings)
