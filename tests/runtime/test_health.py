from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest

from rayfleet.api.meta import Key
from rayfleet.runtime.health import BEAT, STUCK, Health
from rayfleet.runtime.metrics import Metrics
from rayfleet.runtime.queue import Dispenser, WorkQueue
from tests.runtime.clocks import ManualClock, settle


async def ask(health: Health, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as browser, browser.get(f"http://127.0.0.1:{health.port}/{path}") as answer:
        return answer.status, (await answer.text()).strip()


async def test_a_loop_that_was_stuck_is_told_of_for_a_minute() -> None:
    clock = ManualClock()
    health = Health(Metrics(), clock)
    await health.start("127.0.0.1", 0)
    task = asyncio.create_task(health.beat())
    await clock.advance(3 * BEAT)
    assert await ask(health, "healthz") == (200, "ok")
    clock.now += STUCK + 2 * BEAT
    assert (await ask(health, "healthz"))[0] == 503
    await clock.advance(BEAT)
    await settle()
    status, text = await ask(health, "healthz")
    assert status == 503 and "stuck" in text
    await clock.advance(61)
    assert await ask(health, "healthz") == (200, "ok")
    task.cancel()
    await health.stop()


async def test_each_check_has_its_say() -> None:
    health = Health(Metrics())
    wrong = ["not listed yet: pods"]
    health.ready_if(lambda: wrong[0])
    health.ready_if(lambda: "")
    await health.start("127.0.0.1", 0)
    assert await ask(health, "readyz") == (503, "not listed yet: pods")
    assert (await ask(health, "healthz"))[0] == 200
    wrong[0] = ""
    assert await ask(health, "readyz") == (200, "ok")
    await health.stop()


async def test_a_port_that_is_taken_is_an_error_and_leaks_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        health = Health(Metrics())
        with pytest.raises(OSError, match="address already in use"):
            await health.start("127.0.0.1", taken.getsockname()[1])


def queue(depth: int) -> Dispenser:
    made = Dispenser(WorkQueue())
    for number in range(depth):
        made.add(Key("default", f"t{number}"))
    return made


async def test_metrics_are_exposed() -> None:
    metrics = Metrics()
    health = Health(metrics)
    metrics.answered("GET", 200, 0.01)
    metrics.answered("GET", 200, 0.01)
    metrics.of_kind("Thing", queue(7)).looked("done", 0.002)
    await health.start("127.0.0.1", 0)
    _, text = await ask(health, "metrics")
    for line in (
        'rayfleet_requests_total{code="200",verb="GET"} 2.0',
        'rayfleet_queue_depth{kind="Thing"} 7.0',
        'rayfleet_reconciles_total{kind="Thing",result="done"} 1.0',
        'rayfleet_reconcile_seconds_count{kind="Thing"} 1.0',
    ):
        assert line in text
    await health.stop()


def test_what_boards_for_controller_runtime_read_is_told_under_its_names() -> None:
    metrics = Metrics(host="api:6443", lease="rayfleet")
    for depth in (3, 4):  # two namespaces of one kind are one controller
        kind = metrics.of_kind("Thing", queue(depth))
        kind.watch(lambda depth=depth: float(depth), lambda: 1, 16)
        kind.looked("done", 0.002)
    kind.looked("failed", 0.002)
    metrics.answered("GET", 0, 0.1)
    metrics.lead(True)
    told = metrics.text().decode().splitlines()
    for line in (
        'controller_runtime_reconcile_total{controller="thing",result="success"} 2.0',
        'controller_runtime_reconcile_total{controller="thing",result="error"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="thing"} 1.0',
        'controller_runtime_reconcile_time_seconds_count{controller="thing"} 3.0',
        'controller_runtime_active_workers{controller="thing"} 2.0',
        'controller_runtime_max_concurrent_reconciles{controller="thing"} 32.0',
        'workqueue_depth{controller="thing",name="thing"} 7.0',
        'workqueue_adds_total{name="thing",controller="thing"} 7',
        'workqueue_retries_total{name="thing",controller="thing"} 0',
        'workqueue_work_duration_seconds_count{controller="thing",name="thing"} 3.0',
        'rest_client_request_duration_seconds_count{host="api:6443",verb="GET"} 1.0',
        'workqueue_longest_running_processor_seconds{controller="thing",name="thing"} 4.0',
        'leader_election_master_status{name="rayfleet"} 1.0',
        'rest_client_requests_total{code="<error>",host="api:6443",method="GET"} 1.0',
        "rayfleet_leading 1.0",
    ):
        assert line in told
