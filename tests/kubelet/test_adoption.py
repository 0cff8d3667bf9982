"""The kubelet dies, and another comes."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import suppress
from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.kubelet import worker
from rayfleet.kubelet.kubelet import Kubelet
from rayfleet.kubelet.sweep import sweep
from tests.kubelet.namespaces import NOTHING, links, remains, sandboxes, shims
from tests.kubelet.world import FOR_EVER, TOLD, World, is_true, pod, until

pytestmark = pytest.mark.namespaces


async def test_a_killed_kubelets_pods_live_on_and_are_taken_over(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(f"echo begun; {FOR_EVER}", readinessProbe={"exec": {"command": ["true"]}, "periodSeconds": 600}))
    await world.apply(pod(f"{TOLD}; exit 5", "short", restartPolicy="Never"))
    before = await world.becomes_ready()
    await until("it has spoken", lambda: world.log_has("begun"))
    await world.reaches("Running", "short")
    alive = shims(world.settings.state)
    process.kill()
    await process.wait()
    world.tell()
    await until("the short one has ended, unseen", lambda: len(shims(world.settings.state)) < len(alive))

    await world.start_kubelet()
    ended = await world.reaches("Failed", "short")
    assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5
    after = await world.status()
    assert after["containerStatuses"] == before["containerStatuses"]
    assert is_true("Ready", after)
    assert await world.log() == "begun\n"
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)


async def test_a_kubelet_that_is_asked_to_end_leaves_its_pods(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(FOR_EVER))
    before = await world.becomes_ready()
    process.terminate()
    assert await process.wait() == 0
    assert shims(world.settings.state)
    await world.start_kubelet()
    assert (await world.status()) == before


async def test_a_kubelet_waits_for_an_api_server_that_comes_later(bare_world: World) -> None:
    world = bare_world
    await world.stop_api()
    starting = asyncio.create_task(world.start_kubelet_process())
    await until("the bridge is laid", lambda: "rf0" in links())
    assert not starting.done()
    await world.start_api()
    await asyncio.wait_for(starting, 120)
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()


async def test_pods_live_on_while_the_api_server_is_away(bare_world: World) -> None:
    world = bare_world
    await world.start_kubelet_process()
    await world.apply(pod(f"{TOLD}; exit 6", restartPolicy="Never"))
    await world.reaches("Running")
    alive = shims(world.settings.state)
    await world.stop_api()
    world.tell()
    await until("the Pod has ended", lambda: len(shims(world.settings.state)) < len(alive))
    await world.start_api()
    ended = await world.reaches("Failed")
    assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 6


async def test_a_container_starts_again_though_the_api_server_hangs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PATIENCE", 0.3)
    answers, patch = asyncio.Event(), Client.patch

    async def hangs(*of: Any, **more: Any) -> Any:
        await answers.wait()
        return await patch(*of, **more)

    monkeypatch.setattr(Client, "patch", hangs)
    answers.set()
    await world.apply(pod("exit 6"))
    await until("it has started again", lambda: has_restarted(world))
    answers.clear()
    (directory,) = world.settings.pods.iterdir()
    newest = max(int(log.stem) for log in directory.glob("containers/main/*.log"))
    await until("it has started twice more", (directory / "containers" / "main" / f"{newest + 2}.log").exists)
    answers.set()


async def has_restarted(world: World) -> bool:
    return bool((await world.container()).get("restartCount"))


async def test_a_new_pod_never_gets_the_address_of_one_that_lives(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(FOR_EVER, "z"))
    old = (await world.becomes_ready("z"))["podIP"]
    process.kill()
    await process.wait()
    await world.apply(pod(FOR_EVER, "a"))  # listed before the other
    await world.start_kubelet()
    assert (await world.becomes_ready("a"))["podIP"] != old
    assert (await world.status("z"))["podIP"] == old


async def test_a_second_kubelet_gives_way_and_touches_nothing(world: World) -> None:
    await world.apply(pod(FOR_EVER))
    before = await world.becomes_ready()
    with pytest.raises(OSError, match="address already in use"):
        await Kubelet(world.client, world.settings).start()
    assert await world.status() == before
    assert len(sandboxes(world.settings.state)) == 1


async def test_pods_that_were_deleted_meanwhile_are_swept(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    process.kill()
    await process.wait()
    await world.client.delete(PODS, "a", "default", grace=0)
    await world.start_kubelet()
    assert remains(world.settings.state) == NOTHING


async def test_a_deletion_that_began_before_is_carried_out(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    process.kill()
    await process.wait()
    await world.client.delete(PODS, "a", "default")
    await world.start_kubelet()
    await until("the Pod is gone", world.gone)
    assert remains(world.settings.state) == NOTHING


@pytest.mark.parametrize("files", ["pod.json", "sandbox.json", "shim.lock", "shim.sock", "complete", "containers/main/0.json"])
async def test_a_kubelet_may_die_at_any_moment_of_a_start(bare_world: World, files: str) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    await world.apply(pod(FOR_EVER))
    await until(f"{files} is there", lambda: list(world.settings.pods.glob(f"*/{files}")))
    process.kill()
    await process.wait()
    await world.start_kubelet()
    await world.becomes_ready()
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert remains(world.settings.state) == NOTHING


async def test_a_storm_of_kills(bare_world: World) -> None:
    """The kubelet is killed again and again while Pods come and go; what is wanted then runs, once, and nothing else."""
    world, dice = bare_world, random.Random(1)
    wanted: set[str] = set()
    for number in range(5):
        process = await world.start_kubelet_process()
        for name in (f"a{number}", f"b{number}"):
            await world.apply(pod(FOR_EVER, name))
            wanted.add(name)
        if number:
            victim = dice.choice(sorted(wanted))
            await world.client.delete(PODS, victim, "default", grace=dice.choice((0, 2)))
            wanted.discard(victim)
        await asyncio.sleep(dice.random() * 0.3)  # a moment to be killed in, not one to wait for
        process.kill()
        await process.wait()
    await world.start_kubelet()

    async def settled() -> bool:
        pods = await world.client.list(PODS, "default")
        return {one["metadata"]["name"] for one in pods} == wanted and all(is_true("Ready", one["status"]) for one in pods)

    await until("what is wanted runs", settled)
    await until("nothing else is left", lambda: len(list(world.settings.pods.iterdir())) == len(wanted))
    await until("nothing else runs", lambda: len(sandboxes(world.settings.state)) == len(wanted))
    for name in wanted:
        assert (await world.container(name))["restartCount"] == 0
        await world.client.delete(PODS, name, "default", grace=0)
    await until("nothing is left", lambda: remains(world.settings.state) == NOTHING)


async def test_after_a_power_cut_pods_go_on_as_their_policies_say(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    says = {"initContainers": [{"name": "i", "image": "i", "command": ["sh", "-c", "echo prepared >> /v/log"], "volumeMounts": MOUNT}]}
    await world.apply(pod(f"cat /v/log; {FOR_EVER}", **says, volumeMounts=MOUNT, volumes=[{"name": "v", "emptyDir": {}}]))
    await world.apply(pod(f"echo once; {FOR_EVER}", "once", restartPolicy="Never"))
    await world.becomes_ready()
    await until("it has spoken", lambda: world.log_has("once", "once"))
    await until("it was prepared", lambda: world.log_has("prepared"))
    process.kill()
    await process.wait()
    for pid in shims(world.settings.state):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    await world.start_kubelet()
    lost = (await world.reaches("Failed", "once"))["containerStatuses"][0]
    assert (lost["restartCount"], lost["state"]["terminated"]["reason"]) == (0, "ContainerStatusUnknown")
    assert await world.log("once") == "once\n"

    async def again() -> bool:
        return (await world.container()).get("restartCount") == 1 and is_true("Ready", await world.status())

    await until("the other runs again, prepared anew", again)
    await until("it has spoken", lambda: world.log_has("prepared\nprepared\n"))
    assert await world.log(query="?previous=true") == "prepared\n"


MOUNT = [{"name": "v", "mountPath": "/v"}]


async def test_a_lost_sandbox_is_made_anew(world: World) -> None:
    await world.apply(pod(FOR_EVER))
    before = await world.becomes_ready()
    assert world.kubelet is not None
    worker = next(iter(world.kubelet.pods.workers.values()))
    assert worker.sandbox is not None
    await worker.sandbox.destroy()

    async def restarted() -> bool:
        return (await world.container()).get("restartCount") == 1

    await until("the container runs again", restarted)
    after = await world.becomes_ready()
    assert after["podIP"] == before["podIP"]
    assert after["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"


async def test_everything_of_a_state_directory_can_be_ended_without_an_api(bare_world: World) -> None:
    world = bare_world
    process = await world.start_kubelet_process()
    for name in ("a", "b"):
        await world.apply(pod(FOR_EVER, name))
        await world.becomes_ready(name)
    process.kill()
    await process.wait()
    assert await sweep(world.settings.state) == 2
    assert remains(world.settings.state) == NOTHING
