"""What users of this field reported, as inputs and what must come of them; the numbers are those of the list of reports.

The operator runs as a whole, on the embedded API and on a real control plane: real manager, hollow kubelet. Minutes pass on a swift clock.
"""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from rayfleet.api.meta import PODS, RAYCLUSTERS
from tests.parity.canonical import Json
from tests.parity.chronicle import chronicle, most_at_once
from tests.parity.cluster import applied, cluster, group
from tests.parity.ledger import counted
from tests.parity.stage import Opening, until
from tests.parity.swift import SwiftClock

MINUTES = 100.0  # a swift clock's rate


async def test_1_a_steady_cluster_is_not_written_to_for_ten_minutes(stage: Opening) -> None:
    async with stage() as calm:
        demo = await applied(calm, cluster(group(replicas=2)))
        await demo.ready(2)
        await demo.quiet()
        assert sum(counted(calm.written()).values()) <= 15
    async with stage(clock=SwiftClock(MINUTES)) as swift:
        demo = await applied(swift, cluster(group(replicas=2)))
        await demo.ready(2)
        await demo.quiet()
        before = len(swift.written())
        await demo.quiet(1.3 + 600 / MINUTES)
        assert len(swift.written()) == before


async def test_2_an_edit_of_a_template_is_acknowledged_and_the_totals_follow(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group()))
        assert (await demo.ready())["desiredCPU"] == "2"
        ray = "workerGroupSpecs/0/template/spec/containers/0"
        await demo.patch(
            (f"{ray}/env", [{"name": "NEW", "value": "1"}]), (f"{ray}/resources", {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}})
        )
        status = await demo.ready()
        assert status["desiredCPU"] == "4"
        assert {each["observedGeneration"] for each in status["conditions"]} == {status["observedGeneration"]}


async def test_3_a_quota_is_told_in_the_apis_words_and_asked_less_and_less_often(stage: Opening) -> None:
    clock = SwiftClock(MINUTES)
    async with stage(clock=clock) as place:
        await place.limit_pods(1)
        demo = await applied(place, cluster(group()))
        told = await demo.condition("ReplicaFailure")
        assert told["reason"] == "FailedCreateWorkerPod"
        assert "exceeded quota: small, requested: pods=1" in told["message"]
        start = clock.monotonic()

        def refusals() -> list[float]:
            """When each began: a back-off runs from the operator's hearing of the answer, which is later."""
            return [entry.began * MINUTES for entry in place.written() if entry.resource == "pods" and entry.code == 403]

        async def over() -> bool:
            return clock.monotonic() - start > 320 and len(refusals()) > 3

        await until(over)
        asked = refusals()
        gaps = [later - earlier for earlier, later in pairwise(each for each in asked if each <= asked[0] + 320)]
        assert len(gaps) <= 7
        assert all(gap > wait - 0.1 for gap, wait in zip(gaps, (5, 10, 20, 40, 80), strict=False))
        entries = place.written()
        assert counted(entries)["status"] < 10
        assert (await demo.status()).get("state", "") != "ready"
        await place.limit_pods(9)
        await demo.ready(1)


@pytest.mark.parametrize("loss", ["deleted", "evicted"])
async def test_5_a_lost_head_is_told_and_replaced_and_never_are_there_two(stage: Opening, loss: str) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group()))
        await demo.ready()
        old = await demo.head()
        async with (
            chronicle(place.client, PODS, place.namespace) as pods,
            chronicle(place.client, RAYCLUSTERS, place.namespace) as clusters,
        ):
            if loss == "deleted":
                await demo.delete_pod(old["metadata"]["name"])
            else:
                await demo.annotate_pod(old["metadata"]["name"], hollow="fail:137")

            async def replaced() -> bool:
                return (await demo.head())["metadata"]["uid"] != old["metadata"]["uid"]

            await until(replaced)
            await demo.condition("HeadPodReady")
            told = [each for _, found in clusters for each in found["status"]["conditions"] if each["type"] == "HeadPodReady"]
            assert [each["status"] for each in told][-2:] == ["False", "True"]
            assert most_at_once(pods, node_type="head") == 1
        assert (await demo.head())["metadata"]["name"] != old["metadata"]["name"]


async def test_6_exactly_the_named_worker_goes_and_naming_the_lost_does_no_harm(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group(replicas=10), enableInTreeAutoscaling=True))
        await demo.ready(10)
        names = [pod["metadata"]["name"] for pod in await demo.pods("small")]
        replicas, strategy = "workerGroupSpecs/0/replicas", "workerGroupSpecs/0/scaleStrategy"
        await demo.patch((replicas, 9), (strategy, {"workersToDelete": [names[3]]}))
        await demo.ready(9)
        await demo.quiet()
        assert {pod["metadata"]["name"] for pod in await demo.pods("small")} == set(names) - {names[3]}
        before = len(place.written())
        for again in ([names[3], "nobody"], []):
            await demo.patch((strategy, {"workersToDelete": again}))
            await demo.ready(9)
        await demo.quiet()
        assert [str(entry) for entry in place.written()[before:] if entry.resource == "pods"] == []
        assert {pod["metadata"]["name"] for pod in await demo.pods("small")} == set(names) - {names[3]}


async def test_6_a_named_worker_that_has_failed_is_removed_once(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group(replicas=3)))
        await demo.ready(3)
        lost = (await demo.pods("small"))[1]["metadata"]["name"]
        await demo.annotate_pod(lost, hollow="fail:1")
        await demo.patch(("workerGroupSpecs/0/replicas", 2), ("workerGroupSpecs/0/scaleStrategy", {"workersToDelete": [lost]}))
        await demo.ready(2)
        await demo.quiet()
        assert len(await demo.pods("small")) == 2
        entries = place.written()
        assert sum(entry.verb == "delete" and entry.name == lost for entry in entries) == 1
        assert [str(entry) for entry in entries if entry.code >= 400 and entry.resource == "pods"] == []  # ours may meet the test's patch


@pytest.mark.parametrize(("bounds", "wanted"), [({"replicas": 20, "maxReplicas": 5}, 5), ({"replicas": 1, "minReplicas": 2}, 2)])
async def test_9_replicas_are_taken_within_their_bounds(stage: Opening, bounds: Json, wanted: int) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group(**{"replicas": 1, **bounds})))
        await demo.ready(wanted)
        assert len(await demo.pods("small")) == wanted


async def test_9_pods_that_take_their_time_to_go_are_not_made_up_for_twice(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group(replicas=5, maxReplicas=5)))
        await demo.ready(5)
        slow = [pod["metadata"]["name"] for pod in (await demo.pods("small"))[:2]]
        async with chronicle(place.client, PODS, place.namespace) as seen:
            for name in slow:
                await place.client.patch(PODS, name, place.namespace, {"metadata": {"finalizers": ["example.test/slow"]}})
                await demo.delete_pod(name)
            await demo.ready(5)
            await demo.quiet()
            added = [obj for kind, obj in seen if kind == "ADDED"]
            assert len(added) == len(slow)
            for name in slow:
                await place.client.patch(PODS, name, place.namespace, {"metadata": {"finalizers": None}})
            await demo.ready(5)
            await demo.quiet()
            assert len([obj for kind, obj in seen if kind == "ADDED"]) == len(slow)
        assert len(await demo.pods("small")) == 5


async def test_11_hosts_count_suspended_groups_and_the_head_do_not(stage: Opening) -> None:
    async with stage() as place:
        hosts = group("slices", replicas=2, numOfHosts=2)
        demo = await applied(place, cluster(hosts, group("off", replicas=3, minReplicas=1, suspend=True)))
        status = await demo.ready(4)
        assert status["desiredWorkerReplicas"] == status["availableWorkerReplicas"] == 4
        assert status["maxWorkerReplicas"] == 20
        assert status.get("minWorkerReplicas", 0) == 0


async def test_13_quoted_json_reaches_ray_as_json(stage: Opening, tmp_path: Path) -> None:
    async with stage() as place:
        head = {"rayStartParams": {"resources": '{"NPU": 1}'}}
        wrapped = group(rayStartParams={"resources": '"{\\"a b\\": 2}"'})  # in the shell quotes that KubeRay's manifests need
        demo = await applied(place, cluster(wrapped, head=head))
        await demo.ready()
        assert resources_of(await demo.head(), tmp_path) == {"NPU": 1}
        assert resources_of((await demo.pods("small"))[0], tmp_path) == {"a b": 2}


def resources_of(pod: Json, directory: Path) -> Json:
    """What `ray start --resources` is given when the container's command runs; something in Ray's place tells its arguments."""
    told = directory / "told.json"
    ray = directory / "ray"
    ray.write_text(f"#!/usr/bin/env python3\nimport json, sys\njson.dump(sys.argv[1:], open({str(told)!r}, 'w'))\n")
    ray.chmod(0o755)
    container = pod["spec"]["containers"][0]
    environment = {"PATH": f"{directory}:/usr/bin:/bin", "RAY_START_ULIMIT_OPEN_FILES": "64"}
    subprocess.run([*container["command"], *container["args"]], env=environment, check=True, timeout=120)
    arguments = json.loads(told.read_text())
    found = next(each for each in arguments if each.startswith("--resources="))
    result: Json = json.loads(found.partition("=")[2])
    return result


async def test_15_a_name_of_53_characters_works_from_end_to_end(stage: Opening) -> None:
    name = "a" + "b" * 52
    async with stage() as place:
        groups = group("first-group-with-a-long-name"), group("second-group-with-a-long-name", numOfHosts=2)
        demo = await applied(place, cluster(*groups, name=name, enableInTreeAutoscaling=True, head={"enableIngress": True}))
        await demo.ready(3)
        service = (await demo.status())["head"]["serviceName"]
        assert service.startswith(name)
        (worker,) = await demo.pods("first-group-with-a-long-name")
        environment = {each["name"]: each.get("value") for each in worker["spec"]["containers"][0]["env"]}
        assert environment["RAY_ADDRESS"] == f"{service}.{place.namespace}.svc.cluster.local:6379"
        assert {child["kind"] for child in await place.children(place.namespace)} >= {"ServiceAccount", "Role", "RoleBinding", "Ingress"}
        assert all(len(child["metadata"]["name"]) <= 63 for child in await place.children(place.namespace))


@pytest.mark.parametrize("name", ["a" * 54, "1abc"])
async def test_15_a_name_that_cannot_work_is_refused_once_and_nothing_is_made(stage: Opening, name: str) -> None:
    async with stage(clock=SwiftClock(MINUTES)) as place:
        demo = await applied(place, cluster(group(), name=name))
        told = await demo.condition("Valid", "False")
        assert told["reason"] == "InvalidSpec"
        assert "metadata.name" in told["message"]
        await demo.quiet(1.3 + 300 / MINUTES)
        assert await place.children(place.namespace) == []
        assert counted(place.written()) == {"status": 1, "other": 0, "events": 1, "fences": 0}
