"""The faults that the recordings show of the peer, where they concern a RayCluster: each as a test that ours has it right.

In brackets the recording. Some are shown by test_steps as well, where the difference is named; here the right behaviour is spelled out.
"""

from __future__ import annotations

import pytest

from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES
from tests.parity.canonical import Json
from tests.parity.chronicle import chronicle
from tests.parity.cluster import applied, cluster, group
from tests.parity.ledger import counted
from tests.parity.stage import Opening, Stage, until
from tests.parity.swift import SwiftClock

MINUTES = 100.0
SLOW = {"metadata": {"finalizers": ["example.test/slow"]}}
FREE = {"metadata": {"finalizers": None}}


async def test_a_cluster_applied_again_counts_no_pod_of_its_predecessor(stage: Opening) -> None:
    """[raycluster-delete-reapply]"""
    async with stage() as place:
        demo = await applied(place, cluster(group()))
        await demo.ready()
        old = [pod["metadata"]["name"] for pod in await place.client.list(PODS, place.namespace)]
        for name in old:
            await place.client.patch(PODS, name, place.namespace, SLOW)
        async with chronicle(place.client, RAYCLUSTERS, place.namespace) as told:
            uid = (await demo.get())["metadata"]["uid"]
            await place.client.delete(RAYCLUSTERS, "demo", place.namespace, propagation="Background")
            await until(lambda: gone(place, uid))
            await place.apply(demo.manifest)
            await demo.ready()
            mine = {pod["metadata"]["name"] for pod in await place.client.list(PODS, place.namespace)} - set(old)
            assert len(mine) == 2
            heads = {found["status"]["head"].get("podName") for _, found in told if renewed(found, uid)}
            assert heads <= mine | {None}
        for name in old:
            await place.client.patch(PODS, name, place.namespace, FREE)


async def gone(place: Stage, uid: str) -> bool:
    found = await place.cluster(place.namespace, "demo")
    return found is None or found["metadata"]["uid"] != uid


def renewed(found: Json, old_uid: str) -> bool:
    return found["metadata"]["uid"] != old_uid and "status" in found


async def test_a_service_with_a_wrong_selector_is_mended_and_follows_its_type(stage: Opening) -> None:
    """[raycluster-service-edited]"""
    async with stage() as place:
        demo = await applied(place, cluster(group()))
        await demo.ready()
        broken = {"spec": {"selector": {"ray.io/cluster": "zzz"}}}
        await place.client.patch(SERVICES, "demo-head-svc", place.namespace, broken)

        async def mended() -> bool:
            return bool((await head_service(place))["spec"]["selector"]["ray.io/cluster"] == "demo")

        await until(mended)
        await demo.patch(("headGroupSpec/serviceType", "NodePort"))

        async def moved() -> bool:
            services = await place.client.list(SERVICES, place.namespace)
            return [each["spec"]["type"] for each in services] == ["NodePort"]

        await until(moved)
        await demo.ready()


async def head_service(place: Stage) -> Json:
    found: Json = await place.client.get(SERVICES, "demo-head-svc", place.namespace)
    return found


async def test_a_foreign_service_is_named_and_left_alone_and_the_name_is_taken_once_it_is_free(stage: Opening) -> None:
    """[raycluster-foreign-service]"""
    async with stage(clock=SwiftClock(MINUTES)) as place:
        foreign = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "demo-head-svc", "namespace": place.namespace}}
        await place.apply({**foreign, "spec": {"ports": [{"port": 80}]}})
        before = await head_service(place)
        demo = await applied(place, cluster(group()))
        told = await demo.condition("ReplicaFailure")
        assert told["reason"] == "NameConflict"
        assert "demo-head-svc" in told["message"]
        await demo.quiet(1.3 + 120 / MINUTES)
        assert await head_service(place) == before
        tries = [entry for entry in place.written() if entry.resource == "services"]
        assert sum(each.began <= tries[0].began + 120 / MINUTES for each in tries) <= 7
        await place.client.delete(SERVICES, "demo-head-svc", place.namespace)

        async def over() -> bool:
            return "ReplicaFailure" not in await demo.conditions()

        await until(over, 30)
        assert (await demo.ready())["head"]["serviceName"] == "demo-head-svc"


async def test_a_refused_creation_is_one_status_and_few_attempts(stage: Opening) -> None:
    """[raycluster-quota, raycluster-group-name-underscore]: eleven attempts in five seconds, each with a status and an event."""
    async with stage() as place:
        await place.limit_pods(2)
        demo = await applied(place, cluster(group(replicas=3)))
        told = await demo.condition("ReplicaFailure")
        assert 'pods "demo-small-worker-*" is forbidden: exceeded quota' in told["message"]
        await demo.quiet(3.0)
        entries = place.written()
        assert sum(entry.code == 403 for entry in entries) <= 2
        assert counted(entries)["status"] <= 3, "the refusal, the head ready, the worker ready"
        await place.limit_pods(9)
        await demo.ready(3)


async def test_a_group_that_cannot_name_a_pod_is_refused_before_anything_is_made(stage: Opening) -> None:
    """[raycluster-group-name-underscore]"""
    async with stage() as place:
        demo = await applied(place, cluster(group("not_a_name")))
        told = await demo.condition("Valid", "False")
        assert "spec.workerGroupSpecs[0].groupName" in told["message"]
        await demo.quiet()
        assert await place.children(place.namespace) == []


async def test_a_name_in_workers_to_delete_is_deleted_once(stage: Opening) -> None:
    """[raycluster-workers-to-delete]"""
    async with stage() as place:
        demo = await applied(place, cluster(group(replicas=3)))
        await demo.ready(3)
        named = (await demo.pods("small"))[0]["metadata"]["name"]
        await demo.patch(("workerGroupSpecs/0/replicas", 2), ("workerGroupSpecs/0/scaleStrategy", {"workersToDelete": [named]}))
        await demo.ready(2)
        await demo.patch(("workerGroupSpecs/0/replicas", 4))
        await demo.ready(4)
        await demo.quiet()
        assert sum(entry.verb == "delete" for entry in place.written()) == 1
        assert named not in {pod["metadata"]["name"] for pod in await demo.pods("small")}


async def test_changed_ports_reach_service_metrics_and_workers(stage: Opening) -> None:
    """[raycluster-start-params-ports]"""
    ports = {"port": "7379", "dashboard-port": "8365", "ray-client-server-port": "20001", "metrics-export-port": "8181"}
    async with stage() as place:
        demo = await applied(place, cluster(group(), head={"rayStartParams": ports}))
        status = await demo.ready()
        wanted = {"gcs-server": "7379", "dashboard": "8365", "client": "20001", "metrics": "8181"}
        assert wanted.items() <= status["endpoints"].items()
        service = {each["name"]: (each["port"], each["targetPort"]) for each in (await head_service(place))["spec"]["ports"]}
        assert {name: str(service[name][1]) for name in wanted} == wanted
        (worker,) = await demo.pods("small")
        assert ":7379" in {each["name"]: each.get("value", "") for each in worker["spec"]["containers"][0]["env"]}["RAY_ADDRESS"]


@pytest.mark.parametrize("edit", [("workerGroupSpecs/0/template/spec/containers/0/env", [{"name": "NEW", "value": "1"}])])
async def test_an_edit_that_moves_no_pod_is_acknowledged(stage: Opening, edit: tuple[str, object]) -> None:
    """[raycluster-template-change]"""
    async with stage() as place:
        demo = await applied(place, cluster(group()))
        await demo.ready()
        pods = {pod["metadata"]["uid"] for pod in await place.client.list(PODS, place.namespace)}
        await demo.patch(edit)
        assert (await demo.ready())["observedGeneration"] == 2
        await demo.quiet()
        assert {pod["metadata"]["uid"] for pod in await place.client.list(PODS, place.namespace)} == pods


async def test_two_groups_of_a_long_name_share_no_pod(stage: Opening) -> None:
    """[raycluster-name-53]: the group's name vanishes from the names of its Pods."""
    name = "a" * 53
    async with stage() as place:
        demo = await applied(place, cluster(group("one", replicas=2), group("two", replicas=2), name=name))
        await demo.ready(4)
        names = [pod["metadata"]["name"] for each in ("one", "two") for pod in await demo.pods(each)]
        assert len(set(names)) == 4
        assert [str(entry) for entry in place.written() if entry.code >= 400] == []


async def test_long_names_that_end_alike_take_nothing_from_each_other(stage: Opening) -> None:
    """[raycluster-name-53]: names of accounts are cut at the front, so that two clusters want the same one."""
    first, second = (f"{letter}bc{'x' * 50}" for letter in "az")
    async with stage() as place:
        one = await applied(place, cluster(name=first, enableInTreeAutoscaling=True))
        await one.ready()
        other = await applied(place, cluster(name=second, enableInTreeAutoscaling=True))
        await other.ready()
        assert "ReplicaFailure" not in await other.conditions()
        roles = [child["metadata"] for child in await place.children(place.namespace) if child["kind"] == "Role"]
        names = {role["ownerReferences"][0]["name"]: role["name"] for role in roles}
        assert names[first] == "x" * 50, "as KubeRay calls it"
        await place.client.delete(RAYCLUSTERS, first, place.namespace)
        await place.client.delete(PODS, (await other.head())["metadata"]["name"], place.namespace)
        await other.ready()
        assert (await other.head())["spec"]["serviceAccountName"] == names[second] != "x" * 50
