"""Pods that misbehave, and machines that do; what stays after a hundred of them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import PODS, SECRETS
from rayfleet.kube.errors import NotFound
from rayfleet.kubelet.network import tool
from tests.kubelet.namespaces import NOTHING, remains, sandboxes, shims
from tests.kubelet.trouble import disk
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces

HOW_MANY = int(os.environ.get("RAYFLEET_FAULTS", "15"))  # Pods of the storm
AT_ONCE = 5
FORKS = "for i in $(seq {count}); do sleep 1000 & done; echo forked; wait"
ZOMBIES = "import os, time\nfor n in range(40):\n    if not os.fork(): os._exit(0)\nprint('forked', flush=True)\ntime.sleep(1000)"


async def leaves_nothing(world: World, name: str = "a", grace: int = 0) -> None:
    await world.client.delete(PODS, name, "default", grace=grace)
    await until("nothing is left", lambda: remains(world.settings.state) == NOTHING)


async def said(world: World, text: str) -> None:
    async def heard() -> bool:
        return text in await world.log()

    await until(f"the container says {text}", heard)


@pytest.mark.parametrize("command", [FORKS.format(count=500), ["python", "-S", "-c", ZOMBIES]], ids=["500 children", "zombies"])
async def test_a_tree_of_processes_goes_as_a_whole(world: World, command: str | list[str]) -> None:
    await world.apply(pod(command))
    await world.becomes_ready()
    await said(world, "forked")
    await leaves_nothing(world, grace=1)


async def test_an_end_takes_all_children_with_it(world: World) -> None:
    await world.apply(pod("(trap '' TERM; sleep 1000) & (setsid sleep 1000) & exit 3", restartPolicy="Never"))
    await world.reaches("Failed")
    await until("no process is left", lambda: not shims(world.settings.state))


async def test_who_fills_a_volume_in_memory_harms_nobody_else(world: World) -> None:
    volumes = [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
    await world.apply(pod("head -c 2m /dev/zero > /v/f; exit 7", restartPolicy="Never", volumes=volumes, volumeMounts=MOUNT))
    await world.apply(pod(FOR_EVER, "b"))
    assert (await world.reaches("Failed"))["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert "No space left on device" in await world.log()
    await world.becomes_ready("b")


MOUNT = [{"name": "v", "mountPath": "/v"}]


async def test_a_log_without_measure_has_its_newest_part_kept(world: World) -> None:
    """70 MB here; what is kept of a gigabyte is as much."""
    line = "x" * 4000
    await world.apply(pod(f"yes {line} | head -c 70000000; echo; echo last", restartPolicy="Never"))
    await world.reaches("Succeeded")
    sizes = [path.stat().st_size for path in world.settings.pods.glob("*/containers/main/*.log*")]
    assert len(sizes) == 5
    assert sum(sizes) <= 5 * (10 << 20)
    assert await world.log(query="?tailLines=1") == "last\n"


async def test_a_clock_that_is_set_back_delays_no_restart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.apply(pod("sleep 0.3; exit 1"))
    await world.reaches("Running")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 3600)

    async def restarted() -> bool:
        return (await world.container()).get("restartCount", 0) >= 2

    await until("it is restarted", restarted)


async def test_a_clock_that_is_set_back_delays_no_second_look_at_a_spec(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.apply(pod("true", restartPolicy="Never", env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]))
    await until("the refusal is told", lambda: world.events("Failed"))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    await world.apply({"metadata": {"name": "s"}, "stringData": {"k": "v"}}, SECRETS)
    await world.reaches("Succeeded")


def run(*argv: str) -> None:
    subprocess.run([tool(argv[0]), *argv[1:]], check=True)


async def test_a_full_disk_is_told_and_new_pods_start_when_there_is_room_again(bare_world: World) -> None:
    world = bare_world
    with disk(world.settings.state, "size=2m"):
        await world.start_kubelet()
        volumes = [{"name": "v", "emptyDir": {}}]
        await world.apply(pod(f"head -c 4m /dev/zero > /v/f; echo full; {FOR_EVER}", volumes=volumes, volumeMounts=MOUNT))
        await world.becomes_ready()
        await until("the disk is full", lambda: not os.statvfs(world.settings.pods).f_bavail)
        await world.apply(pod(FOR_EVER, "b"))
        assert "No space left on device" in (await until("an event", lambda: world.events("FailedCreatePodSandBox")))[0]
        assert await until("its container waits", lambda: waits(world, "b")) == "ContainerCreating"
        await world.client.delete(PODS, "a", "default", grace=0)
        await world.becomes_ready("b")
        await world.client.delete(PODS, "b", "default", grace=0)
        await until("the workers have ended", lambda: world.kubelet is not None and not world.kubelet.pods.workers)


async def waits(world: World, name: str) -> str:
    statuses = (await world.status(name)).get("containerStatuses") or [{}]
    return str(statuses[0].get("state", {}).get("waiting", {}).get("reason", ""))


async def test_pods_run_where_nothing_on_the_disk_may_be_executed(bare_world: World) -> None:
    with disk(bare_world.settings.state, "size=8m"):
        run("mount", "-o", "remount,noexec", str(bare_world.settings.pods))
        await bare_world.start_kubelet()
        await bare_world.apply(pod("printf '#!/bin/sh\\necho hi' > /tmp/x; chmod +x /tmp/x; /tmp/x; sh /tmp/x", restartPolicy="Never"))
        await bare_world.reaches("Succeeded")
        told = (await bare_world.log()).splitlines()
        assert "Permission denied" in told[0]
        assert told[1] == "hi"
        await bare_world.client.delete(PODS, "a", "default", grace=0)
        await until("the workers have ended", lambda: bare_world.kubelet is not None and not bare_world.kubelet.pods.workers)


async def test_a_machine_without_ipv6(bare_world: World) -> None:
    for which in ("all", "default"):
        run("sysctl", "-qw", f"net.ipv6.conf.{which}.disable_ipv6=1")
    await bare_world.start_kubelet()
    await bare_world.apply(pod("grep -c eth0 /proc/net/if_inet6; python -m http.server 80", readinessProbe=WEB))
    await bare_world.becomes_ready()
    assert (await bare_world.log()).startswith("0\n")


WEB = {"tcpSocket": {"port": 80}, "periodSeconds": 1}


async def test_namespaces_that_are_refused_are_told(bare_world: World) -> None:
    """A kubelet that may do all but that, as in a container without that right."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    process = await bare_world.start_kubelet_process(tool("setpriv"), "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
    await bare_world.apply(pod(FOR_EVER))
    (told, *_) = await until("an event", lambda: bare_world.events("FailedCreatePodSandBox"))
    assert told == "the Pod's namespaces could not be made: PermissionError: [Errno 1] unshare: Operation not permitted"
    assert (await bare_world.status())["phase"] == "Pending"
    await bare_world.client.delete(PODS, "a", "default", grace=0)
    await until("the Pod is gone", bare_world.gone)
    await until("nothing is left", lambda: not list(bare_world.settings.pods.iterdir()))
    process.kill()


# the storm


def some_pod(dice: random.Random, name: str) -> dict[str, Any]:
    """One that fails in some way, or does not."""
    volumes = [{"name": "v", "emptyDir": dice.choice([{}, {"medium": "Memory", "sizeLimit": "1Mi"}])}]
    init = {"name": "i", "image": "i", "command": ["sh", "-c", dice.choice(["true", "exit 1", "sleep 0.2"])]}
    commands: list[str | list[str]] = [
        "true",
        "exit 3",
        FOR_EVER,
        "trap '' TERM; sleep 1000",
        FORKS.format(count=20),
        ["python", "-S", "-c", ZOMBIES],
        ["python", "-S", "-c", "x = bytearray(100 << 20)"],
        ["no-such-program"],
        "head -c 2m /dev/zero > /v/f; sleep 1000",
        "yes | head -c 100000; sleep 1000",
        "kill -9 $$",
        "setsid sleep 1000 & setsid sleep 1000 & exit 0",
    ]
    more: dict[str, Any] = {
        "restartPolicy": dice.choice(["Always", "Never", "OnFailure"]),
        "terminationGracePeriodSeconds": dice.choice([0, 1]),
        "volumes": [*volumes, *dice.choice([[], [], [{"name": "s", "secret": {"secretName": "missing"}}]])],
        "volumeMounts": MOUNT,
        "resources": dice.choice([{}, {"limits": {"memory": "64Mi", "cpu": "200m"}}]),
        "securityContext": dice.choice([{}, {"runAsUser": 1000}, {"runAsNonRoot": True, "runAsUser": 0}]),
        "lifecycle": dice.choice([{}, {"preStop": {"sleep": {"seconds": 1}}}, {"postStart": {"exec": {"command": ["false"]}}}]),
        "readinessProbe": dice.choice([None, {"exec": {"command": ["true"]}, "periodSeconds": 1}, {"tcpSocket": {"port": 1}}]),
    }
    if dice.random() < 0.3:
        more["initContainers"] = [init]
    if dice.random() < 0.2:
        more["activeDeadlineSeconds"] = 1
    return pod(dice.choice(commands), name, **{key: value for key, value in more.items() if value})


async def accident(world: World, dice: random.Random) -> None:
    """To a Pod, to all, or to nobody."""
    which = dice.choice(["nothing", "shim", "container", "kubelet"])
    alive = shims(world.settings.state)
    if which in ("shim", "container") and alive:
        victim = alive[0] if which == "shim" else dice.choice(alive)
        if world.process is None or victim != world.process.pid:
            with suppress(ProcessLookupError):
                os.kill(victim, 9)
    if which == "kubelet" and world.process:
        world.process.kill()
        await world.process.wait()
        await world.start_kubelet_process()


def there(world: World) -> dict[str, Any]:
    """What of the machine could be left behind: counted."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    state = world.settings.state
    files = sorted(str(path.relative_to(state)) for path in state.rglob("*") if not path.is_relative_to(state / "logs"))
    return {"remains": remains(state), "mounts": mounts, "files": files, "namespaces": sandboxes(state)}


async def test_after_a_storm_of_faults_the_machine_is_as_before(bare_world: World) -> None:
    world, dice = bare_world, random.Random(7)
    process = await world.start_kubelet_process()
    pid = process.pid
    before = there(world)
    for number in range(0, HOW_MANY, AT_ONCE):
        names = [f"p{number + each}" for each in range(min(AT_ONCE, HOW_MANY - number))]
        for name in names:
            await world.apply(some_pod(dice, name))
        await until("something runs, or nothing will", lambda names=names: settled(world, names))
        await accident(world, dice)
        for name in names:
            with suppress(NotFound):
                await world.client.delete(PODS, name, "default", grace=dice.choice([None, 0]))
    await until("the API has no Pod", lambda: no_pods(world))
    await until("the machine is as before", lambda: comparable(there(world), pid) == comparable(before, pid))


def comparable(found: dict[str, Any], pid: int) -> dict[str, Any]:
    """Without the kubelet's own process."""
    own = [each for each in found["remains"]["processes"] if b"run_kubelet" in command(each)]
    return {**found, "remains": {**found["remains"], "processes": sorted(set(found["remains"]["processes"]) - set(own) - {pid})}}


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def settled(world: World, names: list[str]) -> bool:
    """Has the kubelet said something of each?"""
    return all([(await world.status(name)).get("containerStatuses") for name in names])


async def no_pods(world: World) -> bool:
    return not await world.client.list(PODS)
