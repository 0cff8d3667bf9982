"""Probes against real processes."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.meta import LEASES, PODS, SECRETS
from tests.kubelet.namespaces import command_line, shims
from tests.kubelet.world import FOR_EVER, TOLD, World, is_true, pod, until

pytestmark = pytest.mark.namespaces

WEB = "python -m http.server 8000 --directory /tmp"
SWIFT = {"periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 60}


async def unready(world: World) -> bool:
    status = await world.status()
    return status.get("phase") == "Running" and not is_true("Ready", status)


@pytest.mark.parametrize(
    "action",
    [
        {"httpGet": {"path": "/", "port": "web"}},
        {"tcpSocket": {"port": 8000}},
        {
            "exec": {
                "command": ["sh", "-c", "test -e /proc/1 && python -c 'import socket; socket.create_connection((\"127.0.0.1\", 8000))'"]
            }
        },
    ],
    ids=["http", "tcp", "exec"],
)
async def test_a_pod_is_ready_when_its_probe_says_so(world: World, action: dict[str, Any]) -> None:
    probe = {**action, "periodSeconds": 1, "timeoutSeconds": 60}
    await world.apply(pod(f"{TOLD}; exec {WEB}", readinessProbe=probe, ports=[{"name": "web", "containerPort": 8000}]))
    await until("the Pod runs unready", lambda: unready(world))
    world.tell()
    await world.becomes_ready()


async def test_a_pod_at_rest_costs_no_requests(world: World) -> None:
    await world.apply({"metadata": {"name": "s"}, "data": {"k": "eA=="}}, SECRETS)
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    probe = {"exec": {"command": ["sh", "-c", "test $X = x && echo probed >> /tmp/count"]}, "periodSeconds": 1, "timeoutSeconds": 60}
    await world.apply(pod(FOR_EVER, env=env, readinessProbe=probe, livenessProbe=probe))
    await world.becomes_ready()
    await until("the Events are written", lambda: world.kubelet and not world.kubelet.house.events.tasks)
    before = (world.reads, list(world.writes))
    (count,) = world.settings.pods.glob("*/containers/main/scratch-0/tmp/count")
    probed = len(count.read_text())
    await until("the probes have gone on", lambda: len(count.read_text()) >= probed + 3 * len("probed\n"))
    assert (world.reads, world.writes) == before


async def test_a_pod_costs_few_writes_until_it_is_ready(world: World) -> None:
    await until("the node's lease is there", lambda: world.client.list(LEASES, "kube-node-lease"))
    before = len(world.writes)
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    await until("the Events are written", lambda: world.kubelet and not world.kubelet.house.events.tasks)
    assert sorted(world.writes[before:]) == ["PATCH", "POST", "POST", "POST"]  # the status; this test's own, the binding, one Event


async def test_readiness_comes_and_goes(world: World) -> None:
    probe = {"exec": {"command": ["test", "-e", "/tmp/good"]}, **SWIFT}
    await world.apply(pod(f"touch /tmp/good; {TOLD}; rm /tmp/good; {FOR_EVER}", readinessProbe=probe))
    await world.becomes_ready()
    world.tell()
    await until("the Pod is unready", lambda: unready(world))
    assert (await world.container())["restartCount"] == 0
    assert any("Readiness probe failed" in note for note in await until("an event", lambda: world.events("Unhealthy")))


async def test_a_failed_liveness_probe_restarts_the_container(world: World) -> None:
    probe = {"exec": {"command": ["test", "-e", "/tmp/good"]}, **SWIFT}
    await world.apply(pod(f"touch /tmp/good; {TOLD}; rm /tmp/good; {FOR_EVER}", livenessProbe=probe))
    await world.becomes_ready()
    world.tell()

    async def restarted() -> bool:
        return (await world.container()).get("restartCount", 0) >= 1

    await until("the container has been restarted", restarted)
    assert any("failed liveness probe, will be restarted" in note for note in await until("an event", lambda: world.events("Killing")))


async def test_other_probes_wait_for_the_startup_probe(world: World) -> None:
    startup = {"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1, "failureThreshold": 300, "timeoutSeconds": 60}
    liveness = {"exec": {"command": ["test", "-e", "/tmp/up"]}, **SWIFT}
    await world.apply(pod(f"{TOLD}; touch /tmp/up; {FOR_EVER}", startupProbe=startup, livenessProbe=liveness))
    await until("the startup probe has failed", lambda: world.events("Unhealthy"))
    world.tell()
    await world.becomes_ready()
    told = await world.container()
    assert (told["started"], told["restartCount"]) == (True, 0)


async def test_a_port_that_nobody_has_is_told_and_holds_up_no_end(world: World) -> None:
    hook = {"preStop": {"httpGet": {"port": "nowhere"}}}
    await world.apply(pod(FOR_EVER, readinessProbe={"tcpSocket": {"port": "nowhere"}, "periodSeconds": 1}, lifecycle=hook))
    words = 'no port of the container is named "nowhere"'
    assert await until("the probe's failure is told", lambda: world.events("Unhealthy")) == [f"Readiness probe failed: {words}"]
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert await until("the hook's failure is told", lambda: world.events("FailedPreStopHook")) == [
        f"preStop hook of container main failed: {words}"
    ]


DEAF = "import socket, time; s = socket.socket(); s.bind(('', 80)); s.listen(); time.sleep(1000)"


async def test_a_probe_that_takes_too_long_has_failed_and_leaves_no_process(world: World) -> None:
    await world.apply(pod(FOR_EVER, readinessProbe={"exec": {"command": ["sleep", "77"]}, "timeoutSeconds": 1}))
    await world.apply(
        pod(["python", "-S", "-c", DEAF], "b", readinessProbe={"httpGet": {"port": 80}, "timeoutSeconds": 1, "periodSeconds": 1})
    )

    async def told() -> bool:
        words = await world.events("Unhealthy")
        return {"Readiness probe failed: command timed out after 1 s", "Readiness probe failed: no answer within 1 s"} <= set(words)

    await until("both are told", told)
    await until("the command is gone", lambda: not any(command_line(pid).startswith(b"sleep\x0077") for pid in shims(world.settings.state)))
    assert not is_true("Ready", await world.status())
