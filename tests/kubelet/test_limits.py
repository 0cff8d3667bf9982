"""Limits of memory and processors: enforced where cgroups can be made, always told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kubelet.cgroups import Cgroups, Limits, limits_of
from tests.kubelet.namespaces import NOTHING, remains
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces

EAT = "python -c 'x = bytearray(200 << 20); print(len(x))'"
LOOK = "import ray._common.utils as u, ray._private.utils as p; print(u.get_system_memory(), p.get_num_cpus(truncate=False))"


def limited(command: str, cpu: str = "500m", memory: str = "128Mi", **more: Any) -> dict[str, Any]:
    return pod(command, resources={"limits": {"cpu": cpu, "memory": memory}}, **more)


def needs_cgroups(world: World) -> None:
    assert world.kubelet
    if not world.kubelet.house.cgroups.tops:
        pytest.skip(f"cgroups cannot be made here: {world.kubelet.house.cgroups.refusal}")


async def test_who_takes_too_much_memory_is_killed_and_that_is_told(world: World) -> None:
    needs_cgroups(world)
    await world.apply(limited(EAT, restartPolicy="Never"))
    ended = (await world.reaches("Failed"))["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    await until("nothing is left", lambda: remains(world.settings.state) == NOTHING)


async def test_each_life_of_a_container_is_judged_for_itself(world: World) -> None:
    needs_cgroups(world)
    await world.apply(limited(f"if [ -e /v/f ]; then exit 3; fi; touch /v/f; {EAT}; exit 4", restartPolicy="OnFailure", **VOLUME))

    async def twice() -> dict[str, Any] | None:
        found = await world.container()
        return found if found.get("restartCount", 0) >= 2 else None

    last = (await until("it has ended twice", twice))["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("Error", 3)


VOLUME = {"volumes": [{"name": "v", "emptyDir": {}}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}


async def test_what_is_run_inside_counts_too(world: World) -> None:
    needs_cgroups(world)
    await world.apply(limited(FOR_EVER, readinessProbe={"exec": {"command": ["sh", "-c", "grep -q rayfleet- /proc/self/cgroup"]}}))
    await world.becomes_ready()


async def test_what_only_prepares_a_pod_takes_the_processors_that_are_free(world: World) -> None:
    needs_cgroups(world)
    count = "grep -c rayfleet- /proc/self/cgroup > /v/$0; true"
    limits = {"limits": {"cpu": "100m"}}
    init = {"name": "i", "image": "i", "command": ["sh", "-c", count, "init"], "resources": limits, "volumeMounts": VOLUME["volumeMounts"]}
    last = ["sh", "-c", f"{count}; cat /v/init /v/main", "main"]
    await world.apply(pod(last, restartPolicy="Never", resources=limits, initContainers=[init], **VOLUME))
    await world.reaches("Succeeded")
    assert (await world.log()).split() == ["0", "1"]


async def test_ray_sees_the_container_and_not_the_machine(world: World) -> None:
    await world.apply(limited(["python", "-c", LOOK], cpu="1500m", memory="512Mi", restartPolicy="Never"))
    await world.reaches("Succeeded")
    assert (await world.log()).split()[-2:] == [str(512 << 20), "1.5"]


async def test_without_cgroups_limits_are_told_all_the_same_and_a_warning_once(world: World) -> None:
    assert world.kubelet
    world.kubelet.house.cgroups.tops = {}
    world.kubelet.house.cgroups.refusal = "Permission denied"
    await world.apply(limited(["python", "-c", LOOK], cpu="1500m", memory="512Mi", restartPolicy="Never"))
    await world.reaches("Succeeded")
    assert (await world.log()).split()[-2:] == [str(512 << 20), "1.5"]
    (told,) = await until("a warning", lambda: world.events("LimitsNotEnforced"))
    assert told == "the limits of container main are told to it, but not enforced, as cgroups cannot be made here (Permission denied)"


def test_the_files_of_version_2(tmp_path: Path) -> None:
    """As a directory looks where that version is mounted."""
    for file, text in (("cgroup.controllers", "cpu memory pids"), ("cgroup.subtree_control", "cpu memory pids")):
        (tmp_path / file).write_text(text)
    state = tmp_path / "state"
    state.mkdir()
    top = Cgroups(state, tmp_path)  # the files of a new cgroup are the kernel's to make
    assert not top.tops
    assert "cgroup.subtree_control" in top.refusal
    assert limits_of({"resources": {"limits": {"cpu": "250m", "memory": "1Gi"}}}) == Limits(1 << 30, Fraction(1, 4))
