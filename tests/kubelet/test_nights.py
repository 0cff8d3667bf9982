"""What a machine does when nobody looks: its disk fills, it sleeps, its power is cut, a process hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kubelet import ending, sandbox
from rayfleet.kubelet.attempt import Attempt, read_histories
from rayfleet.kubelet.worker import Worker
from tests.kubelet.namespaces import command_line, shims
from tests.kubelet.trouble import disk, held
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces

MOUNT = [{"name": "v", "mountPath": "/v"}]


async def test_a_disk_that_is_full_starts_nothing_twice_and_loses_no_end(bare_world: World) -> None:
    """The record of what runs does not fit on the disk: a later kubelet hears of it, and of its end, from the shim."""
    world = bare_world
    with disk(world.settings.state, "size=2m"):
        process = await world.start_kubelet_process()
        fill = {"name": "i", "image": "i", "command": ["sh", "-c", "cat /dev/zero > /v/f; exit 0"], "volumeMounts": MOUNT}
        outside = world.settings.state / "outside"
        outside.mkdir()
        volumes = [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {"path": str(outside)}}]
        mounts = [{"name": "h", "mountPath": "/h"}]
        command = "echo started >> /h/said; until test -e /h/end; do sleep 0.05; done; exit 7"
        await world.apply(pod(command, initContainers=[fill], volumes=volumes, volumeMounts=mounts, restartPolicy="Never"))
        await until("it runs", lambda: (outside / "said").exists())
        await world.reaches("Running")
        assert not [path for path in world.settings.pods.glob("*/containers/main/*.json") if path.stat().st_size]
        for ends in (False, True):
            process.kill()
            await process.wait()
            if ends:
                alive = shims(world.settings.state)
                (outside / "end").touch()
                await until("it has ended", lambda alive=alive: len(shims(world.settings.state)) < len(alive))
            process = await world.start_kubelet_process()
        told = (await world.reaches("Failed"))["containerStatuses"][0]
        assert (told["restartCount"], told["state"]["terminated"]["exitCode"]) == (0, 7)
        assert (outside / "said").read_text() == "started\n"
        await world.client.delete(PODS, "a", "default", grace=0)
        await until("nothing of it is left", lambda: not list(world.settings.pods.iterdir()))


async def test_what_is_asked_for_again_as_the_answer_was_late_starts_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    start = sandbox.Sandbox.start

    async def twice(self: sandbox.Sandbox, request: dict[str, Any]) -> Attempt:
        first, second = await start(self, request), await start(self, {**request, "uid": "another"})
        assert first == second
        return second

    monkeypatch.setattr(sandbox.Sandbox, "start", twice)
    await world.apply(pod(f"echo started; {FOR_EVER}"))
    await world.becomes_ready()
    await until("it has begun", lambda: world.log_has("started"))
    assert await world.log() == "started\n"
    (only,) = [pid for pid in shims(world.settings.state) if b"started" in command_line(pid)]
    assert only


async def test_a_damaged_record_keeps_no_kubelet_from_starting(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(FOR_EVER))
    before = await world.becomes_ready()
    process.kill()
    await process.wait()
    (record,) = world.settings.pods.glob("*/containers/main/*.json")
    record.write_bytes(b"")
    await world.start_kubelet()
    await world.apply(pod("true", "b", restartPolicy="Never"))
    await world.reaches("Succeeded", "b")
    assert (await world.status())["containerStatuses"] == before["containerStatuses"]


async def test_a_process_that_cannot_be_killed_holds_up_no_pod(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "HANGS_AFTER", 0.3)
    monkeypatch.setattr(ending, "KILLED_IN", 0.3)
    await world.apply(pod(["sleep", "1000"]))
    await world.becomes_ready()
    (pid,) = [pid for pid in shims(world.settings.state) if command_line(pid).startswith(b"sleep")]
    with held(pid):
        await world.client.delete(PODS, "a", "default", grace=1)
        await until("the Pod is gone", world.gone)
        assert "hangs in the kernel" in (await until("an event", lambda: world.events("FailedKillPod")))[0]
        await world.apply(pod(FOR_EVER))
        await world.becomes_ready()


async def test_after_a_sleep_tokens_are_renewed_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token lives for an hour by the wall's clock, of which a machine that sleeps knows nothing."""
    token = {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}
    volumes = [{"name": "v", "projected": {"sources": [token]}}]
    await world.apply(pod(FOR_EVER, volumes=volumes, volumeMounts=MOUNT))
    await world.becomes_ready()
    (file,) = world.settings.pods.glob("*/volumes/v/t")
    before, real = file.read_text(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + 8 * 3600)
    await until("another token", lambda: file.read_text() != before)


async def test_a_worker_that_is_woken_and_ended_at_once_ends() -> None:
    alike = SimpleNamespace(wake=asyncio.Event())
    task = asyncio.create_task(Worker.sleep(alike, 60.0))
    for _ in range(3):
        await asyncio.sleep(0)  # until it waits
    alike.wake.set()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_an_end_that_was_not_heard_holds_up_no_deletion(world: World) -> None:
    """The kubelet was too slow to listen when it came."""
    await world.apply(pod(["sleep", "1000"], terminationGracePeriodSeconds=1000))
    await world.becomes_ready()
    assert world.kubelet
    (worker,) = world.kubelet.pods.workers.values()
    await world.client.delete(PODS, "a", "default")
    await until("it is asked to end", lambda: world.events("Killing"))
    assert worker.sandbox
    worker.sandbox.on_end = lambda attempt: None
    (pid,) = [pid for pid in shims(world.settings.state) if command_line(pid).startswith(b"sleep")]
    os.kill(pid, signal.SIGKILL)
    await until("its end is written down", lambda: any(not one[-1].running for one in read_histories(worker.directory).values()))
    worker.sandbox.on_return()
    await until("the Pod is gone", world.gone)
