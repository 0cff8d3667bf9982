"""Tokens of service accounts: how long they are good, and for what."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rayfleet.apiserver import account_token, deletion
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import Tokens
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.status_error import StatusError
from rayfleet.apiserver.store import Store
from tests.apiserver.manifests import PODS, pod
from tests.apiserver.peer import Peer, until
from tests.apiserver.test_durability import TOKEN, free_port, running

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def issued(api: Api, seconds: int = 600) -> str:
    record = api.store.get("serviceaccounts", "default", "default")
    assert record is not None
    claims = account_token.claims(api, "default", "default", record.uid, [account_token.ISSUER], seconds)
    return account_token.signed(api.key, claims)


def test_a_token_ends_with_its_time_with_its_account_and_with_one_letter_changed() -> None:
    clock = Clock()
    api = open_api(Store(), clock=clock, dice=random.Random(1))
    token = issued(api)
    assert Tokens({}).authenticate(api, f"Bearer {token}").name == "system:serviceaccount:default:default"
    for wrong in (token[:-2], "x" + token, token.replace(".", ""), "a.b.c", ""):
        with pytest.raises(StatusError, match="Unauthorized"):
            Tokens({}).authenticate(api, f"Bearer {wrong}")
    clock.now += 601
    assert account_token.holder(api, token) is None
    other = issued(api)
    record, kind = api.store.get("serviceaccounts", "default", "default"), api.registry.kind("serviceaccounts")
    assert record is not None
    assert kind is not None
    deletion.delete(api, kind, record, deletion.DeleteOptions())
    assert account_token.holder(api, other) is None


async def test_a_token_outlives_a_restart_but_not_its_pod(tmp_path: Path) -> None:
    port = free_port()
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with running(tmp_path, port) as process:
        peer = Peer(f"http://127.0.0.1:{port}", TOKEN)
        uid = (await peer.create(PODS, pod())).meta["uid"]
        bound = {"kind": "Pod", "apiVersion": "v1", "name": "a", "uid": uid}
        token = (await peer.create(f"{ACCOUNT}/token", {"spec": {"boundObjectRef": bound}})).body["status"]["token"]
        await peer.close()
        process.terminate()
        await process.wait()
    assert (tmp_path / "service-account.key").stat().st_mode & 0o077 == 0
    async with running(tmp_path, port):
        peer, robot = Peer(f"http://127.0.0.1:{port}", TOKEN), Peer(f"http://127.0.0.1:{port}", token)
        assert (await robot.create(who, {})).body["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"
        assert (await robot.get(PODS)).status == 403
        await peer.delete(f"{PODS}/a")

        async def void() -> bool:
            return (await robot.create(who, {})).status == 401

        await until(void)
        await peer.close()
        await robot.close()
