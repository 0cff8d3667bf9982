"""The reports about Pods, load and restarts; see test_black_box."""

from __future__ import annotations

import asyncio
import shlex
from itertools import pairwise

from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS
from tests.parity.canonical import Json
from tests.parity.chronicle import chronicle
from tests.parity.cluster import Cluster, applied, cluster, group, template
from tests.parity.slow_watches import slow_watches
from tests.parity.stage import Opening, operator, until
from tests.parity.swift import SwiftClock

MINUTES = 100.0


async def test_8_late_and_shuffled_news_make_no_pod_too_many(stage: Opening) -> None:
    """Watches of different kinds lag behind by different, changing times."""
    async with stage(through=slow_watches(0.4)) as place:
        async with chronicle(place.client, PODS, place.namespace) as seen:
            many = [await applied(place, cluster(group(replicas=2), name=f"c{number}")) for number in range(50)]
            await asyncio.gather(*(demo.ready(2) for demo in many))
            await many[0].quiet()
        assert sum(kind == "ADDED" for kind, _ in seen) == 150
        assert [entry for entry in place.written() if entry.verb == "delete"] == []


async def test_16_what_is_injected_asks_for_its_share_and_mounts_nothing_of_the_user(stage: Opening) -> None:
    mounted = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    pod = template(container=mounted, volumes=[{"name": "data", "csi": {"driver": "fuse.example.test"}}])
    async with stage() as place:
        moved = {"rayStartParams": {"dashboard-agent-listen-port": "52999", "metrics-export-port": "9999", "dashboard-port": "8999"}}
        demo = await applied(place, cluster(group(**moved, template=pod), head={**moved, "template": pod}, enableInTreeAutoscaling=True))
        await demo.ready()
        head, (worker,) = await demo.head(), await demo.pods("small")
        injected = [*head["spec"]["containers"][1:], *worker["spec"]["initContainers"]]
        assert [each["name"] for each in injected] == ["autoscaler", "wait-gcs-ready"]
        for container in injected:
            for kind in ("requests", "limits"):
                assert container["resources"][kind].keys() >= {"cpu", "memory"}, container["name"]
            assert "data" not in {each["name"] for each in container.get("volumeMounts") or ()}
        for each in (head, worker):
            ray = each["spec"]["containers"][0]
            for probe in ("livenessProbe", "readinessProbe"):
                assert ray[probe]["timeoutSeconds"] >= longest_wait(ray[probe])
                assert "52999" in str(ray[probe])
            assert {port["containerPort"] for port in ray["ports"] if port["name"] == "metrics"} == {9999}
        assert "8999" in str(head["spec"]["containers"][0]["livenessProbe"])


def longest_wait(probe: Json) -> int:
    """The seconds that the probe's own command may take: those of its time-outs, one after another."""
    words = shlex.split(probe["exec"]["command"][-1])
    return sum(int(after) for word, after in pairwise(words) if word == "-T")


async def test_17_another_version_of_the_operator_makes_no_pod_anew(stage: Opening) -> None:
    async with stage(Configuration(kuberay_version="v1.7.0")) as place:
        demo = await applied(place, cluster(group(replicas=2), upgradeStrategy={"type": "Recreate"}))
        await demo.ready(2)
        await demo.quiet()
        place.manager.stop()
        before = {child["metadata"]["uid"] for child in await place.children(place.namespace)}
        written = len(place.written())
        async with operator(place.connection, Configuration(kuberay_version="v1.8.0")):
            await demo.patch(("workerGroupSpecs/0/maxReplicas", 11))
            await demo.ready(2)
            await demo.quiet()
            assert {child["metadata"]["uid"] for child in await place.children(place.namespace)} == before
            later = place.written()[written:]
            assert [str(entry) for entry in later if entry.verb in ("create", "delete") and entry.resource != "events"] == []


async def test_24_a_cluster_with_a_serve_service_is_ready_without_an_application(stage: Opening) -> None:
    """Nobody answers at Serve's port then, and nobody's readiness depends on it: report B6, 103 (k#1826), too."""
    async with stage() as place:
        demo = await applied(place, cluster(group(), annotations={"ray.io/enable-serve-service": "true"}))
        await demo.ready()
        (worker,) = await demo.pods("small")
        for pod in (worker, await demo.head()):
            ray = pod["spec"]["containers"][0]
            assert "8000" not in str((ray["livenessProbe"], ray["readinessProbe"]))
        assert "demo-serve-svc" in {child["metadata"]["name"] for child in await place.children(place.namespace)}


async def test_28_a_worker_that_always_fails_is_made_ever_more_seldom_and_the_reason_is_told(stage: Opening) -> None:
    clock = SwiftClock(MINUTES)
    async with stage(clock=clock) as place:
        doomed = template(metadata={"annotations": {"rayfleet.dev/hollow": "fail:42"}}, restartPolicy="Never")
        demo = await applied(place, cluster(group(template=doomed)))
        start = clock.monotonic()

        def made() -> list[float]:
            return [entry.began * MINUTES for entry in place.written() if entry.verb == "create" and entry.resource == "pods"][1:]

        async def over() -> bool:
            return clock.monotonic() - start > 200 and len(made()) > 3

        await until(over)
        gaps = [later - earlier for earlier, later in pairwise(each for each in made() if each <= made()[0] + 200)]
        assert len(gaps) <= 7
        assert all(gap >= 0.9 * wait for gap, wait in zip(gaps[1:], (5, 10, 20, 40, 80), strict=False))
        assert any("exit code 42" in event["note"] for event in await demo.events())


async def test_30_two_large_clusters_grow_side_by_side(stage: Opening) -> None:
    async with stage() as place:
        async with chronicle(place.client, PODS, place.namespace) as seen:
            two = [await applied(place, cluster(group(replicas=150, maxReplicas=150), name=name)) for name in ("one", "two")]
            await asyncio.gather(*(demo.ready(150) for demo in two))
        owners = [pod["metadata"]["labels"]["ray.io/cluster"] for kind, pod in seen if kind == "ADDED"]
        half = owners[: len(owners) // 2]
        assert min(half.count("one"), half.count("two")) >= 50


async def test_30_clusters_that_are_gone_leave_nothing_behind_in_the_metrics(stage: Opening) -> None:
    async with stage() as place:
        before = len(place.manager.metrics.text().splitlines())
        first = await applied(place, cluster(group(), name="first"))
        await first.ready()
        await place.client.delete(RAYCLUSTERS, "first", place.namespace)
        await gone(first)
        known = len(place.manager.metrics.text().splitlines())
        many = [await applied(place, cluster(name=f"c{number}")) for number in range(40)]
        await asyncio.gather(*(demo.ready() for demo in many))
        await asyncio.gather(*(place.client.delete(RAYCLUSTERS, demo.name, place.namespace) for demo in many))
        await asyncio.gather(*(gone(demo) for demo in many))
        await first.quiet()
        assert before < known
        assert len(place.manager.metrics.text().splitlines()) <= known * 1.1


async def gone(demo: Cluster) -> None:
    async def is_gone() -> bool:
        return await demo.stage.cluster(demo.namespace, demo.name) is None

    await until(is_gone)


async def test_another_domain_reaches_the_workers(stage: Opening) -> None:
    async with stage(Configuration(cluster_domain="corp.test")) as place:
        demo = await applied(place, cluster(group()))
        await demo.ready()
        (worker,) = await demo.pods("small")
        assert f"demo-head-svc.{place.namespace}.svc.corp.test" in str(worker["spec"]["containers"][0]["env"])


async def test_sums_beyond_32_bits_are_cut_off(stage: Opening) -> None:
    async with stage() as place:
        most = 2**31 - 1
        demo = await applied(place, cluster(group("a", maxReplicas=most), group("b", maxReplicas=most)))
        assert (await demo.ready(2))["maxWorkerReplicas"] == most


async def test_annotations_for_the_head_reach_its_service(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(headServiceAnnotations={"example.test/balancer": "internal"}))
        await demo.ready()
        services = [child for child in await place.children(place.namespace) if child["kind"] == "Service"]
        assert [each["metadata"]["annotations"] for each in services] == [{"example.test/balancer": "internal"}]


async def test_a_suspension_that_a_restart_interrupts_is_carried_out(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group(replicas=2)))
        await demo.ready(2)
        for pod in await place.client.list(PODS, place.namespace):
            await place.client.patch(PODS, pod["metadata"]["name"], place.namespace, {"metadata": {"finalizers": ["example.test/slow"]}})
        await demo.merge({"suspend": True})
        await demo.condition("RayClusterSuspending")
        place.manager.stop()
        async with operator(place.connection, Configuration()):
            for pod in await place.client.list(PODS, place.namespace):
                await place.client.patch(PODS, pod["metadata"]["name"], place.namespace, {"metadata": {"finalizers": None}})
            await demo.condition("RayClusterSuspended")
            assert (await demo.status())["state"] == "suspended"
            await demo.merge({"suspend": None})
            await demo.ready(2)
