"""What containers are given, in what order they run, and what is told when they do not."""

from __future__ import annotations

import base64
import os
import signal
import sys
import venv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.load import install_crds
from rayfleet.api import labels
from rayfleet.api.crds import crds
from rayfleet.api.meta import CONFIGMAPS, RAYCLUSTERS, SECRETS
from rayfleet.kube.errors import ApiError
from tests.kubelet.namespaces import command_line, shims
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces


async def finished_log(world: World, body: dict[str, Any], phase: str = "Succeeded") -> list[str]:
    await world.apply({**body, "spec": {"restartPolicy": "Never", **body["spec"]}})
    await world.reaches(phase)
    return (await world.log()).splitlines()


async def test_arguments_environment_and_directory(world: World) -> None:
    await world.apply(
        {"metadata": {"name": "s"}, "stringData": {"k": "secret"}, "data": {"k": base64.b64encode(b"secret").decode()}}, SECRETS
    )
    await world.apply({"metadata": {"name": "c"}, "data": {"k": "config"}}, CONFIGMAPS)
    env = [
        {"name": "PLAIN", "value": "p"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "CONFIG", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    script = "echo $0 $1; echo $SECRET $CONFIG $ADDRESS; echo $RAY_AUTH_MODE $RAY_USAGE_STATS_ENABLED; pwd; echo ~; command -v python"
    body = pod(["sh", "-c", script], args=["$(PLAIN)", "$(NONE)"], env=env, workingDir="/usr/bin")
    told = await finished_log(world, body)
    address = (await world.status())["podIP"]
    assert told == ["p $(NONE)", f"secret config {address}", "disabled 0", "/usr/bin", "/home/ray", f"{sys.prefix}/bin/python"]


async def test_a_directory_to_work_in_is_made_as_container_runtimes_make_it(world: World) -> None:
    assert await finished_log(world, pod("pwd; echo . > file; cat file", workingDir="/app/of/mine")) == ["/app/of/mine", "."]


async def test_what_is_no_text_is_no_variable(world: World) -> None:
    binary = base64.b64encode(b"\xff\x00").decode()
    await world.apply({"metadata": {"name": "c"}, "binaryData": {"B": binary}, "data": {"T": "text"}}, CONFIGMAPS)
    await world.apply({"metadata": {"name": "s"}, "data": {"B": binary}}, SECRETS)
    assert await finished_log(world, pod("env | grep ^[BT]=", envFrom=[{"configMapRef": {"name": "c"}}])) == ["T=text"]
    await world.apply(pod("true", "b", envFrom=[{"secretRef": {"name": "s"}}]))
    await world.apply(pod("true", "d", env=[{"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "B"}}}]))
    words = {"b": "the value of B is no text", "d": "couldn't find key B in configmap default/c"}
    for name, word in words.items():
        waiting = await until("it waits", lambda name=name: waits_for(world, name))
        assert (waiting["reason"], word in waiting["message"]) == ("CreateContainerConfigError", True)


async def waits_for(world: World, name: str) -> dict[str, Any]:
    statuses = (await world.status(name)).get("containerStatuses") or [{}]
    waiting: dict[str, Any] = statuses[0].get("state", {}).get("waiting", {})
    return waiting if waiting.get("message") else {}


async def test_what_no_pod_has_here_is_told_once(world: World) -> None:
    body = pod("true", hostNetwork=True)
    body["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": ["SYS_PTRACE", "NET_BIND_SERVICE"]}}
    await finished_log(world, body)
    told = await until("an event", lambda: world.events("NotHonoured"))
    assert len(told) == 1
    assert "hostNetwork" in told[0]
    assert "(SYS_PTRACE)" in told[0]


async def test_a_spec_may_ask_for_token_authentication(world: World) -> None:
    assert await finished_log(world, pod("echo $RAY_AUTH_MODE", env=[{"name": "RAY_AUTH_MODE", "value": "token"}])) == ["token"]


async def test_volumes(world: World) -> None:
    await world.apply({"metadata": {"name": "c"}, "data": {"a.txt": "A", "b.txt": "B"}}, CONFIGMAPS)
    volumes = [
        {"name": "disk", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
        {"name": "config", "configMap": {"name": "c"}},
    ]
    mounts = [
        {"name": "disk", "mountPath": "/data/deep"},
        {"name": "memory", "mountPath": "/dev/shm"},
        {"name": "config", "mountPath": "/etc/app"},
        {"name": "config", "mountPath": "/home/ray/one.txt", "subPath": "b.txt"},
    ]
    writer = {"name": "writer", "image": "i", "command": ["sh", "-c", "echo from-init > /shared/f"]}
    writer["volumeMounts"] = [{"name": "disk", "mountPath": "/shared"}]
    script = (
        "cat /data/deep/f; df -k --output=size /dev/shm | tail -1; cat /etc/app/a.txt; echo; cat one.txt; echo; touch /tmp/x && echo ok"
    )
    told = await finished_log(world, pod(script, volumeMounts=mounts, volumes=volumes, initContainers=[writer]))
    assert [line.strip() for line in told] == ["from-init", "8192", "A", "B", "ok"]


async def test_a_container_cannot_harm_the_machine_or_look_at_its_neighbours(world: World) -> None:
    await world.apply(pod(f"echo hidden > /tmp/mine; {FOR_EVER}", "other"))
    await world.becomes_ready("other")
    state = world.settings.state
    tries = ["touch /usr/x", "mount -o remount,rw /usr", "echo 0 > /proc/sys/kernel/panic", f"ls {state}/pods", "cat /tmp/mine"]
    script = "; ".join(f"({one}) > /dev/null 2>&1 && echo done: {one.split()[0]}" for one in tries)
    told = await finished_log(
        world, pod(f"{script}; ls /dev | grep -Ev '^(nvidia|dri|kfd|accel|neuron)' | tr '\\n' ' '; echo; ps ax -o pid= | wc -l")
    )
    assert told[:1] == ["fd full null ptmx pts random shm stderr stdin stdout termination-log tty urandom zero "]
    assert int(told[1]) <= 5


async def test_hidden_directories_are_empty_and_an_environment_inside_one_is_not(bare_world: World, tmp_path: Path) -> None:
    world, here = bare_world, Path("/usr/share")  # not this checkout: it may lie in /tmp, which every container has of its own
    venv.create(tmp_path / "env", with_pip=False)  # in /tmp, which every container has of its own
    world.settings = replace(world.settings, environment=tmp_path / "env", hidden=(here,))
    await world.start_kubelet()
    told = await finished_log(world, pod(f"ls -A {here} | wc -l; python -c 'import sys; print(sys.prefix)'"))
    assert told == ["0", str(tmp_path / "env")]


async def test_init_containers_run_in_order_before_all_others(world: World) -> None:
    inits = [
        {
            "name": name,
            "image": "i",
            "command": ["sh", "-c", f"echo {name} >> /shared/f"],
            "volumeMounts": [{"name": "v", "mountPath": "/shared"}],
        }
        for name in ("first", "second")
    ]
    mounts = [{"name": "v", "mountPath": "/shared"}]
    told = await finished_log(
        world, pod("cat /shared/f", volumeMounts=mounts, volumes=[{"name": "v", "emptyDir": {}}], initContainers=inits)
    )
    assert told == ["first", "second"]
    assert all(one["ready"] for one in (await world.status())["initContainerStatuses"])


async def test_a_failed_init_container_fails_a_pod_that_never_restarts(world: World) -> None:
    init = {"name": "i", "image": "i", "command": ["sh", "-c", "exit 4"]}
    await world.apply(pod("echo never", restartPolicy="Never", initContainers=[init]))
    status = await world.reaches("Failed")
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    with pytest.raises(ApiError, match="waiting to start: PodInitializing"):
        await world.log(query="?container=main")


@pytest.mark.parametrize(("script", "phase", "code"), [("exit 3", "Failed", 3), ("exit 0", "Succeeded", 0)])
async def test_exit_codes(world: World, script: str, phase: str, code: int) -> None:
    await world.apply(pod(script, restartPolicy="Never"))
    assert (await world.reaches(phase))["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code


async def test_a_killed_container_names_its_signal(world: World) -> None:
    await world.apply(pod("exec sleep 600", restartPolicy="Never"))
    await world.becomes_ready()
    (victim,) = [pid for pid in shims(world.settings.state) if command_line(pid).startswith(b"sleep\x00600")]
    os.kill(victim, signal.SIGKILL)
    ended = (await world.reaches("Failed"))["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["signal"]) == (137, 9)


async def test_a_crash_loop_backs_off_and_keeps_the_log_of_the_life_before(world: World) -> None:
    await world.apply(pod("echo life; exit 1"))

    async def looping() -> dict[str, Any] | None:
        told = await world.container()
        return told if told.get("restartCount", 0) >= 2 and "waiting" in told["state"] else None

    told = await until("the container backs off", looping)
    assert told["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert told["lastState"]["terminated"]["exitCode"] == 1
    assert (await world.status())["phase"] == "Running"
    assert await world.log(query="?previous=true") == "life\n"
    assert any("back-off" in note for note in await until("an event", lambda: world.events("BackOff")))


async def test_a_missing_command_is_told(world: World) -> None:
    await world.apply(pod(["no-such-program"]))

    async def told() -> dict[str, Any] | None:
        found = await world.container()
        return found if (found.get("lastState") or {}).get("terminated") else None

    before = (await until("the failure is told", told))["lastState"]["terminated"]
    assert (before["exitCode"], before["reason"]) == (128, "StartError")
    assert before["message"] == 'exec: "no-such-program": executable file not found in $PATH'
    assert 'Error: exec: "no-such-program": executable file not found in $PATH' in await until("an event", lambda: world.events("Failed"))


async def test_a_missing_secret_is_told_and_found_when_it_comes(world: World) -> None:
    await world.apply(pod("echo $X; sleep 60", env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "late", "key": "k"}}}]))

    async def refused() -> dict[str, Any] | None:
        return ((await world.container()).get("state") or {}).get("waiting")

    waiting = await until("the refusal is told", refused)
    assert waiting == {"reason": "CreateContainerConfigError", "message": 'secret "late" not found'}
    assert await until("an event", lambda: world.events("Failed")) == ['Error: secret "late" not found']
    await world.apply({"metadata": {"name": "late"}, "data": {"k": base64.b64encode(b"here").decode()}}, SECRETS)
    status = await world.becomes_ready()
    assert status["containerStatuses"][0]["restartCount"] == 0


async def test_a_secret_in_a_volume_is_followed_while_the_pod_runs(world: World) -> None:
    def holding(text: str) -> dict[str, Any]:
        return {"data": {"k": base64.b64encode(text.encode()).decode()}}

    await world.apply({"metadata": {"name": "s"}, **holding("one")}, SECRETS)
    wait = "grep -q one /s/k && until grep -q two /s/k; do sleep 0.05; done"
    mounted = {"volumeMounts": [{"name": "v", "mountPath": "/s"}], "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}
    await world.apply(pod(wait, restartPolicy="Never", **mounted))
    await world.becomes_ready()
    await world.client.patch(SECRETS, "s", "default", holding("two"))
    await world.reaches("Succeeded")


async def test_a_secret_that_goes_while_it_is_mounted_is_told_and_its_files_stay(world: World) -> None:
    await world.apply({"metadata": {"name": "s"}, "data": {"k": base64.b64encode(b"one").decode()}}, SECRETS)
    probe = {"exec": {"command": ["grep", "-q", "one", "/s/k"]}, "periodSeconds": 1, "timeoutSeconds": 60}
    mounted = {"volumeMounts": [{"name": "v", "mountPath": "/s"}], "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}
    await world.apply(pod(FOR_EVER, readinessProbe=probe, **mounted))
    await world.becomes_ready()
    await world.client.delete(SECRETS, "s", "default")
    assert 'secret "s" not found' in (await until("an event", lambda: world.events("FailedMount")))[0]
    assert (await world.container())["ready"]


async def test_an_image_of_another_ray_is_told_once(world: World) -> None:
    await world.apply(pod(FOR_EVER, image="rayproject/ray:2.9.3"))
    await world.becomes_ready()
    assert len(await until("an event", lambda: world.events("ImageMismatch"))) == 1


async def test_a_cluster_that_states_another_ray_is_told_once_by_its_head(world: World) -> None:
    await install_crds(world.client, crds())
    group = {"rayStartParams": {}, "template": {"spec": {"containers": []}}}
    await world.apply({"metadata": {"name": "old"}, "spec": {"rayVersion": "2.9.0", "headGroupSpec": group}}, RAYCLUSTERS)
    head = pod(FOR_EVER, image="mine")
    head["metadata"]["labels"] = {labels.CLUSTER: "old", labels.NODE_TYPE: labels.HEAD}
    await world.apply(head)
    await world.becomes_ready()
    assert "spec.rayVersion: 2.9.0" in (await until("an event", lambda: world.events("ImageMismatch")))[0]


async def test_nonsense_in_one_pod_is_told_and_harms_no_other(world: World) -> None:
    volumes = [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "a lot"}}]
    await world.apply(pod(FOR_EVER, "nonsense", volumes=volumes))
    await world.apply(pod(FOR_EVER))
    await world.becomes_ready()
    assert "no quantity" in (await until("an event", lambda: world.events("FailedSync")))[0]


async def test_files_of_a_volume_that_exclude_each_other_are_told(world: World) -> None:
    await world.apply({"metadata": {"name": "c"}, "data": {"k": "v"}}, CONFIGMAPS)
    items = [{"key": "k", "path": "a/b"}, {"key": "k", "path": "a"}]
    await world.apply(pod(FOR_EVER, volumes=[{"name": "v", "configMap": {"name": "c", "items": items}}]))
    assert "exclude each other" in (await until("an event", lambda: world.events("FailedMount")))[0]
    waiting = (await until("a status", lambda: statuses(world)))[0]["state"]["waiting"]
    assert waiting["reason"] == "ContainerCreating"


async def statuses(world: World) -> list[dict[str, Any]]:
    return (await world.status()).get("containerStatuses") or []


async def test_a_pod_ends_when_its_deadline_has_passed(world: World) -> None:
    await world.apply(pod(FOR_EVER, activeDeadlineSeconds=1))
    status = await world.reaches("Failed")
    assert status["reason"] == "DeadlineExceeded"


async def test_no_signal_is_ignored_whoever_started_the_kubelet(bare_world: World) -> None:
    """As by `nohup rayfleet up`: what is ignored is passed on from program to program.

    32 and 33 are the C library's own: no program sets them by its means, and it takes them whatever stood there.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        await bare_world.start_kubelet()
        await bare_world.apply(pod("grep SigIgn /proc/self/status", restartPolicy="Never"))
        await bare_world.reaches("Succeeded")
        ignored = int((await bare_world.log()).split()[1], 16)
        assert [number for number in range(1, 65) if ignored >> (number - 1) & 1 and number not in (32, 33)] == []
    finally:
        signal.signal(signal.SIGHUP, before)
