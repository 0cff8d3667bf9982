"""As whom containers run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import CONFIGMAPS
from rayfleet.kubelet.env import ConfigError
from rayfleet.kubelet.users import Account, account_of, hindrance
from tests.kubelet.world import FOR_EVER, World, pod, until

IDS = "echo $(id -u):$(id -g) $(id -G)"


def asked(whole: dict[str, Any], own: dict[str, Any] | None = None) -> Account | None:
    return account_of({"securityContext": whole}, {"name": "main", "securityContext": own})


@pytest.mark.parametrize(
    ("whole", "own", "account"),
    [
        ({}, None, None),
        ({"runAsNonRoot": False}, {}, None),
        ({"runAsUser": 7}, None, Account(7, 0)),
        ({"runAsUser": 7, "runAsGroup": 8}, {"runAsUser": 9}, Account(9, 8)),
        ({"fsGroup": 5, "supplementalGroups": [6, 5]}, None, Account(0, 0, (5, 6))),
        ({"runAsNonRoot": True}, None, Account(1000, 100)),  # as the user of Ray's images
        ({"runAsNonRoot": True}, {"runAsNonRoot": False, "runAsUser": 0}, Account(0, 0)),
    ],
)
def test_what_is_asked_for(whole: dict[str, Any], own: dict[str, Any] | None, account: Account | None) -> None:
    assert asked(whole, own) == account


def test_root_where_it_is_forbidden() -> None:
    with pytest.raises(ConfigError, match="breaks non-root policy"):
        asked({"runAsNonRoot": True, "runAsUser": 0})


def test_an_ordinary_users_fleet_has_one_user(tmp_path: Path) -> None:
    for name in ("uid_map", "gid_map"):
        (tmp_path / name).write_text("         0       1000          1\n")
    assert hindrance(Account(0, 0), tmp_path) == ""
    assert hindrance(Account(1000, 0), tmp_path) == "only root can have processes of other users"
    assert hindrance(Account(0, 0, (5,)), tmp_path)


@pytest.mark.namespaces
async def test_a_container_of_another_user(world: World) -> None:
    await world.apply({"metadata": {"name": "c"}, "data": {"k": "v"}}, CONFIGMAPS)
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c", "defaultMode": 0o400}}]
    mounts = [{"name": "v", "mountPath": "/v"}, {"name": "c", "mountPath": "/c"}]
    script = (
        f"{IDS}; mkdir /tmp/ray/session && touch /v/f ~/g /dev/shm/h && stat -c %g /v/f; cat /c/k; echo; "
        "python -c 'print(1)'; touch /etc/hosts; echo done"
    )
    context = {"runAsUser": 1234, "runAsGroup": 55, "fsGroup": 66}
    body = pod(script, restartPolicy="Never", volumes=volumes, volumeMounts=mounts, securityContext=context)
    await world.apply(body)
    await world.reaches("Succeeded")
    said = (await world.log()).splitlines()
    assert said[:4] == ["1234:55 55 66", "66", "v", "1"]
    assert "Permission denied" in said[4]


@pytest.mark.namespaces
async def test_what_a_container_reads_and_has_closed_stays_so_while_its_volumes_are_followed(world: World) -> None:
    await world.apply({"metadata": {"name": "c"}, "data": {"k": "one"}}, CONFIGMAPS)
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c", "defaultMode": 0o400}}]
    mounts = [{"name": "v", "mountPath": "/v"}, {"name": "c", "mountPath": "/c"}]
    mine = "mkdir /v/d; touch /v/f; chmod 700 /v/d; chmod 600 /v/f"
    script = f"{mine}; echo begun; until grep -q two /c/k; do test $? = 1 || exit 2; done; stat -c '%a %g' /v /v/d /v/f"
    context = {"runAsUser": 1234, "runAsGroup": 55, "fsGroup": 66}
    await world.apply(pod(script, restartPolicy="Never", volumes=volumes, volumeMounts=mounts, securityContext=context))
    await until("it has begun", lambda: world.log_has("begun"))
    await world.client.patch(CONFIGMAPS, "c", "default", {"data": {"k": "two"}})
    await world.reaches("Succeeded")
    assert (await world.log()).splitlines() == ["begun", "3777 66", "2700 66", "600 66"]


@pytest.mark.namespaces
async def test_what_is_run_inside_is_the_same_users(world: World) -> None:
    probe = {"exec": {"command": ["sh", "-c", "test $(id -u) = 1000"]}, "periodSeconds": 1}
    await world.apply(pod(FOR_EVER, readinessProbe=probe, securityContext={"runAsNonRoot": True}))
    await world.becomes_ready()


@pytest.mark.namespaces
async def test_root_where_it_is_forbidden_is_told(world: World) -> None:
    await world.apply(pod(FOR_EVER, securityContext={"runAsNonRoot": True, "runAsUser": 0}))

    async def refused() -> dict[str, Any] | None:
        return ((await world.container()).get("state") or {}).get("waiting")

    waiting = await until("the refusal is told", refused)
    uid = (await world.pod())["metadata"]["uid"]
    words = f'container\'s runAsUser breaks non-root policy (pod: "a_default({uid})", container: main)'
    assert waiting == {"reason": "CreateContainerConfigError", "message": words}
