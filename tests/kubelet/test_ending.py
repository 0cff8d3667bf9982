"""How Pods end."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kubelet.kept_logs import listed
from tests.kubelet.namespaces import NOTHING, remains
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces


async def test_a_process_is_asked_first_and_the_hook_before_it(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("place")
    script = "trap 'echo term >> /out/order; exit 0' TERM; touch /out/up; while :; do sleep 0.05; done"
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /out/order"]}}}
    volumes = [{"name": "out", "hostPath": {"path": str(place)}}]
    await world.apply(pod(script, lifecycle=hook, volumes=volumes, volumeMounts=[{"name": "out", "mountPath": "/out"}]))
    await until("the trap is set", (place / "up").exists)
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert (place / "order").read_text() == "hook\nterm\n"


async def test_a_hook_runs_after_the_start_and_its_failure_ends_the_container(world: World) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo greeted > /proc/1/fd/1; test -e /home/ray/absent"]}}}
    await world.apply(pod(FOR_EVER, lifecycle=hook, restartPolicy="Never"))
    await world.reaches("Succeeded")  # asked to end, it ends well
    assert await world.log() == "greeted\n"
    assert await until("an event", lambda: world.events("FailedPostStartHook")) == ["postStart hook of container main failed: exit code 1"]


async def test_a_hook_may_be_a_request_to_a_named_port_or_a_pause(world: World) -> None:
    serves = pod(
        "exec python3 -um http.server 8000 2>&1",
        ports=[{"name": "web", "containerPort": 8000}],
        readinessProbe={"tcpSocket": {"port": "web"}, "periodSeconds": 1},
        lifecycle={"preStop": {"httpGet": {"path": "/?farewell", "port": "web"}}},
        restartPolicy="Never",
    )
    await world.apply(serves)
    await world.apply(pod(FOR_EVER, "pauses", lifecycle={"preStop": {"sleep": {"seconds": 1}}}))
    for name in ("a", "pauses"):
        await world.becomes_ready(name)
        await world.client.delete(PODS, name, "default")
    for name in ("a", "pauses"):
        await until("the Pod is gone", lambda name=name: world.gone(name))
    (kept,) = listed(world.settings.kept_logs)
    assert "GET /?farewell" in kept.logs("main")[0].read_text()
    assert await world.events("FailedPreStopHook") == []


@pytest.mark.parametrize(
    ("script", "own", "message"),
    [
        ("printf why > /dev/termination-log; exit 3", {}, "why"),
        ("printf why > /tmp/own/words; exit 0", {"terminationMessagePath": "/tmp/own/words"}, "why"),
        ("echo said; exit 3", {}, None),
        ("echo said; exit 3", {"terminationMessagePolicy": "FallbackToLogsOnError"}, "said\n"),
        ("echo said; exit 0", {"terminationMessagePolicy": "FallbackToLogsOnError"}, None),
    ],
)
async def test_the_last_words_of_a_container_are_told(world: World, script: str, own: dict[str, Any], message: str | None) -> None:
    body = pod(script, restartPolicy="Never")
    body["spec"]["containers"][0] |= own
    await world.apply(body)
    await until("it has ended", lambda: ended(world))
    assert (await ended(world)).get("message") == message


async def ended(world: World) -> dict[str, Any]:
    return ((await world.container()).get("state") or {}).get("terminated") or {}


async def test_who_does_not_listen_is_killed_after_the_grace(world: World) -> None:
    await world.apply(pod("trap '' TERM; while :; do sleep 0.05; done", terminationGracePeriodSeconds=1))
    await world.becomes_ready()
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert remains(world.settings.state) == NOTHING


async def test_a_forced_deletion_does_not_wait(world: World) -> None:
    await world.apply(pod("trap '' TERM; while :; do sleep 0.05; done", terminationGracePeriodSeconds=600))
    await world.becomes_ready()
    await world.client.delete(PODS, "a", "default", grace=0)
    await until("nothing is left", lambda: remains(world.settings.state) == NOTHING)


async def test_a_finalizer_holds_the_object_and_not_the_processes(world: World) -> None:
    body = pod(FOR_EVER)
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await world.apply(body)
    await world.becomes_ready()
    await world.client.delete(PODS, "a", "default")
    await until("nothing is left", lambda: remains(world.settings.state) == NOTHING)
    status = await world.reaches("Succeeded")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    await world.client.patch(PODS, "a", "default", {"metadata": {"finalizers": None}})
    await until("the Pod is gone", world.gone)


async def test_a_finished_pod_holds_nothing_but_its_log(world: World) -> None:
    await world.apply(pod("echo done", restartPolicy="Never"))
    await world.reaches("Succeeded")
    left = remains(world.settings.state)
    assert {key: left[key] for key in ("processes", "links", "mounts")} == {"processes": [], "links": [], "mounts": []}
    assert await world.log() == "done\n"


async def test_one_name_ten_times_in_a_row(world: World) -> None:
    uids: set[str] = set()
    for _ in range(10):
        uids.add((await world.apply(pod(FOR_EVER)))["metadata"]["uid"])
        await world.client.delete(PODS, "a", "default")
        await until("the Pod is gone", world.gone)
    assert len(uids) == 10
    await until("nothing is left", lambda: remains(world.settings.state) == NOTHING)


async def test_a_second_container_goes_with_the_first(world: World) -> None:
    body: dict[str, Any] = pod(FOR_EVER)
    body["spec"]["containers"].append({"name": "side", "image": "i", "command": ["sh", "-c", FOR_EVER]})
    await world.apply(body)
    status = await world.becomes_ready()
    assert len(status["containerStatuses"]) == 2
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert remains(world.settings.state) == NOTHING


async def test_sidecars_start_first_and_end_last(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("place")
    mounts = [{"name": "out", "mountPath": "/out"}]

    def told(name: str) -> dict[str, Any]:
        script = f"trap 'echo {name} ends >> /out/order; exit 0' TERM; echo {name} starts >> /out/order; while :; do sleep 0.05; done"
        return {"name": name, "image": "i", "command": ["sh", "-c", script], "volumeMounts": mounts}

    ready = {"exec": {"command": ["grep", "-q", "starts", "/out/order"]}, "periodSeconds": 1}
    sidecars = [told(name) | {"restartPolicy": "Always", "startupProbe": ready} for name in ("one", "two")]
    body = pod(FOR_EVER, initContainers=sidecars, volumes=[{"name": "out", "hostPath": {"path": str(place)}}])
    body["spec"]["containers"] = [told("main")]
    await world.apply(body)
    await world.becomes_ready()
    await until("all have started", lambda: len((place / "order").read_text().splitlines()) == 3)
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    lines = (place / "order").read_text().splitlines()
    assert lines == ["one starts", "two starts", "main starts", "main ends", "two ends", "one ends"]
