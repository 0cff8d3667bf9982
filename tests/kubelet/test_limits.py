"""Limits of memory and processors: enforced where cgroups can be made, always told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kubelet import cgroups
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


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that looks as version 2 does, where a new cgroup has what its parent lets it have."""

    def made(directory: Path) -> Path:
        lets = {word.lstrip("+") for word in (directory.parent / "cgroup.subtree_control").read_text().split()}
        files = {"cgroup.controllers": " ".join(lets), "cgroup.subtree_control": "", "cgroup.procs": ""}
        files |= {"memory.max": "max", "memory.oom.group": "0"} if "memory" in lets else {}
        files |= {"cpu.max": "max 100000"} if "cpu" in lets else {}
        if not directory.is_dir():
            directory.mkdir()
            for file, text in files.items():
                (directory / file).write_text(text)
        return directory

    monkeypatch.setattr(cgroups, "made", made)
    mount = tmp_path / "mount"
    mount.mkdir()
    for file, text in (("cgroup.controllers", "cpu memory pids"), ("cgroup.subtree_control", "memory")):
        (mount / file).write_text(text)
    (tmp_path / "state").mkdir()
    return mount


LIMITS = Limits(1 << 30, Fraction(1, 4))


def test_the_files_of_version_2(unified: Path, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/user.slice/session-1.scope\n")
    groups = Cgroups(tmp_path / "state", unified, tmp_path / "own")
    assert groups.refusal == groups.unheeded("c", LIMITS) == ""
    (group,) = groups.make("uid", "c-0", LIMITS)
    assert group.parent.parent.parent == unified
    assert [(group / file).read_text() for file in ("memory.max", "memory.oom.group", "cpu.max")] == ["1073741824", "1", "25000 100000"]
    assert groups.views([group]) == [["bind", str(group), str(unified), "ro"]]
    assert (tmp_path / "state" / "cgroups").read_text() == f"{group.parent.parent}\n"


def test_of_version_2_what_systemd_lent_is_used_and_what_it_did_not_is_told(unified: Path, tmp_path: Path) -> None:
    scope = cgroups.made(unified / "run-1.scope")
    cgroups.made(scope / "fleet")
    (tmp_path / "own").write_text("1:name=systemd:/x\n0::/run-1.scope/fleet\n")
    groups = Cgroups(tmp_path / "state", unified, tmp_path / "own")
    (group,) = groups.make("uid", "c-0", LIMITS)
    assert group.is_relative_to(scope) and not group.is_relative_to(scope / "fleet")
    assert (scope / "cgroup.subtree_control").read_text() == "+memory"
    assert ((group / "memory.max").read_text(), (group / "cpu.max").exists()) == ("1073741824", False)
    because = f"as cgroups cannot be made here ({scope} has of the controllers memory)"
    assert groups.unheeded("c", LIMITS) == f"the limit of cpu of container c is told to it, but not enforced, {because}"
    assert groups.unheeded("c", Limits(1 << 30)) == ""


def test_of_version_2_without_a_controller_nothing_is_made(unified: Path, tmp_path: Path) -> None:
    (unified / "cgroup.controllers").write_text("hugetlb")
    groups = Cgroups(tmp_path / "state", unified)
    assert (groups.tops, groups.make("uid", "c-0", LIMITS)) == ({}, [])
    assert "none" in groups.unheeded("c", LIMITS)
    assert [path for path in unified.iterdir() if path.is_dir()] == []


def test_limits_are_read_as_kubernetes_writes_them() -> None:
    assert limits_of({"resources": {"limits": {"cpu": "250m", "memory": "1Gi"}}}) == LIMITS
