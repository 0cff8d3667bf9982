"""Credentials that change while the process lives."""

from __future__ import annotations

import asyncio
import datetime
import json
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.kube.connection import ConfigError, Connection, load_kubeconfig
from rayfleet.kube.errors import Unauthorized, Unreachable
from rayfleet.kube.exec_plugin import GROUP, ExecPlugin
from rayfleet.kube.login import LOOK_EVERY, CertificateFiles
from tests.kube.certificates import Authority
from tests.kube.fakeapi import FakeApi, Fault, running
from tests.kube.proxy import proxy
from tests.kube.test_connection import inline, kubeconfig, tls_server

V1 = f"{GROUP}/v1"


class Program:
    """A log-in program that prints what it is told, and notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "log-in"
        self.calls = folder / "calls"
        self.answer = folder / "answer"
        self.path.write_text(
            f"#!{sys.executable}\n"
            "import json, os, pathlib, sys\n"
            f"with open({str(self.calls)!r}, 'a') as file:\n"
            "    file.write(json.dumps([sys.argv[1:], os.environ['KUBERNETES_EXEC_INFO'], os.environ.get('TEAM')]) + '\\n')\n"
            f"sys.stdout.write(pathlib.Path({str(self.answer)!r}).read_text())\n"
        )
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def gives(self, token: str = "", lasts: float | None = None, **more: Any) -> None:
        status: dict[str, Any] = {"token": token} | more
        if lasts is not None:
            end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=lasts)
            status["expirationTimestamp"] = end.isoformat(timespec="seconds").replace("+00:00", "Z")
        self.answer.write_text(json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status}))

    @property
    def called(self) -> list[tuple[list[str], dict[str, Any], str | None]]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [(words, json.loads(info), team) for words, info, team in map(json.loads, lines)]

    def connection(self, server: str, **more: Any) -> Connection:
        user = {"exec": {"command": "./log-in", "apiVersion": V1, "interactiveMode": "Never", **more}}
        return load_kubeconfig(kubeconfig(self.folder, {"server": server}, user))


def tokens(api: FakeApi) -> list[str]:
    return [headers.get("Authorization", "").removeprefix("Bearer ") for headers in api.headers]


async def test_a_log_in_program_is_run_once_for_many_requests_and_again_when_its_token_has_expired(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.gives("first", lasts=3600)
    async with running() as api, Client(program.connection(api.url)) as client:
        await asyncio.gather(*(client.list(PODS) for _ in range(5)))
        assert (len(program.called), set(tokens(api))) == (1, {"first"})
        program.gives("second")
        login = client.connection.login
        assert isinstance(login, ExecPlugin)
        login._clock = lambda: time.time() + 3601
        await client.list(PODS)
        assert (len(program.called), tokens(api)[-1]) == (2, "second")


async def test_a_token_that_the_server_turns_away_is_asked_for_anew_and_the_request_is_made_again(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.gives("revoked")
    async with running() as api, Client(program.connection(api.url)) as client:
        await client.list(PODS)
        login = client.connection.login
        assert isinstance(login, ExecPlugin)
        login._clock = lambda: time.time() + 60
        program.gives("fresh")
        api.faults.append(Fault("POST", "/pods", 401, "Unauthorized", times=1))
        await client.create(PODS, {"metadata": {"name": "a"}}, "default")
        assert tokens(api) == ["revoked", "revoked", "fresh"]
        api.faults.append(Fault("GET", "/pods", 401, "Unauthorized", times=100))
        with pytest.raises(Unauthorized):
            await client.list(PODS)
        assert len(program.called) == 2, "a server that rejects whatever it gives does not make it run all the time"


async def test_a_program_is_told_of_the_cluster_its_arguments_and_its_environment(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.gives("t")
    async with running() as api:
        connection = program.connection(
            api.url, args=["get-token", "--cluster", "c"], env=[{"name": "TEAM", "value": "a"}], provideClusterInfo=True
        )
        async with Client(connection) as client:
            await client.list(PODS)
        ((words, info, team),) = program.called
        assert (words, team) == (["get-token", "--cluster", "c"], "a")
        told = {"interactive": False, "cluster": {"server": api.url}}
        assert info == {"kind": "ExecCredential", "apiVersion": V1, "spec": told}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("not JSON", "printed no ExecCredential"),
        ("{}", "printed a nothing of no version"),
        (f'{{"kind": "ExecCredential", "apiVersion": "{GROUP}/v1beta1", "status": {{"token": "x"}}}}', "not of .*/v1"),
        (f'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{}}}}', "neither a token nor a certificate"),
        (f'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"clientKeyData": "SECRET"}}}}', "a key without its certificate"),
    ],
)
async def test_what_a_program_does_wrong_is_said_and_its_output_is_not(tmp_path: Path, answer: str, told: str) -> None:
    program = Program(tmp_path)
    program.answer.write_text(answer)
    async with running() as api, Client(program.connection(api.url)) as client:
        for _ in range(3):
            with pytest.raises(Unreachable, match=told) as caught:
                await client.list(PODS)
            assert "SECRET" not in str(caught.value)
        assert len(program.called) == 1, "a program that fails is not run for every request"
        assert api.requests == []


async def test_a_program_that_is_not_there_is_named_with_the_hint_where_to_get_it(tmp_path: Path) -> None:
    user = {"exec": {"command": "no-such-log-in", "apiVersion": V1, "installHint": "Get it from your administrators"}}
    async with Client(load_kubeconfig(kubeconfig(tmp_path, {"server": "http://127.0.0.1:1"}, user))) as client:
        with pytest.raises(Unreachable, match=r"no-such-log-in cannot be run: .*Get it from your administrators"):
            await client.list(PODS)


async def test_a_program_that_gives_a_certificate_logs_in_by_it_and_by_the_next_one(tmp_path: Path) -> None:
    authority, program = Authority(tmp_path), Program(tmp_path)

    def gives(name: str, lasts: float) -> None:
        certificate, key = authority.issue(name)
        program.gives(lasts=lasts, clientCertificateData=certificate.read_text(), clientKeyData=key.read_text())

    async with tls_server(authority, "localhost") as (port, came):
        gives("alice", lasts=3600)
        cluster = {"server": f"https://localhost:{port}", "certificate-authority-data": inline(authority.file)}
        user = {"exec": {"command": "./log-in", "apiVersion": V1, "interactiveMode": "Never"}}
        async with Client(load_kubeconfig(kubeconfig(tmp_path, cluster, user))) as client:
            await client.list(PODS)
            gives("bob", lasts=7200)
            login = client.connection.login
            assert isinstance(login, ExecPlugin)
            login._clock = lambda: time.time() + 3601
            await client.list(PODS)
        assert came == ["alice", "bob"]


async def test_a_certificate_that_is_renewed_on_disk_is_used_on_new_connections_without_a_restart(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("old")
    cluster = {"certificate-authority": "ca.crt"}
    now = time.monotonic()
    async with tls_server(authority, "localhost") as (port, came):
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        connection = load_kubeconfig(kubeconfig(tmp_path, cluster | {"server": f"https://localhost:{port}"}, user))
        assert isinstance(connection.login, CertificateFiles)
        connection.login._clock = lambda: now
        async with Client(connection) as client:
            await client.list(PODS)
            new_certificate, new_key = authority.issue("new")
            new_certificate.replace(certificate)
            now += LOOK_EVERY + 1
            await client.list(PODS)
            assert came == ["old", "old"], "the key does not belong to it yet"
            new_key.replace(key)
            now += LOOK_EVERY + 1
            await asyncio.gather(*(client.list(PODS) for _ in range(3)))
    assert came[2:] == ["new"] * 3


async def test_a_token_on_disk_that_was_replaced_early_is_read_again_after_a_401(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    async with running() as api:
        connection = load_kubeconfig(kubeconfig(tmp_path, {"server": api.url}, {"tokenFile": "token"}))
        async with Client(connection) as client:
            await client.list(PODS)
            (tmp_path / "new").write_text("new")
            (tmp_path / "new").replace(tmp_path / "token")
            api.faults.append(Fault("GET", "/pods", 401, "Unauthorized", times=1))
            await client.list(PODS)
    assert tokens(api) == ["old", "old", "new"]


@pytest.mark.parametrize("name", ["api.example", "localhost"])
async def test_a_proxy_carries_requests_and_streams_and_the_servers_name_is_still_checked(tmp_path: Path, name: str) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("alice")
    async with tls_server(authority, name) as (port, came), proxy() as (address, asked):
        cluster = {
            "server": f"https://localhost:{port}",
            "tls-server-name": name,
            "certificate-authority": "ca.crt",
            "proxy-url": address,
        }
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        async with Client(load_kubeconfig(kubeconfig(tmp_path, cluster, user))) as client:
            await client.list(PODS)
            assert [chunk async for chunk in client.stream("/logs")] == [b'{"items": []}']
        assert came == ["alice", "alice"]
        assert set(asked) == {f"CONNECT localhost:{port}"}
        wrong = cluster | {"tls-server-name": "other.example"}
        async with Client(load_kubeconfig(kubeconfig(tmp_path, wrong, user))) as client:
            with pytest.raises(Unreachable, match="certificate"):
                await client.list(PODS)


def test_the_environments_proxy_is_used_but_not_for_this_machine_or_who_is_excepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")

    def proxy_of(server: str, **more: str) -> str | None:
        return load_kubeconfig(kubeconfig(tmp_path, {"server": server, **more})).proxy

    assert proxy_of("https://outside.example") == "http://proxy.example:3128"
    assert proxy_of("https://outside.example", **{"proxy-url": "http://other.example:1"}) == "http://other.example:1"
    assert proxy_of("https://api.inside.example:6443") is None
    assert proxy_of("https://127.0.0.1:6443") is None
    assert proxy_of("https://[::1]:6443") is None
    with pytest.raises(ConfigError, match=r"socks5://proxy\.example is none of http or https"):
        proxy_of("https://outside.example", **{"proxy-url": "socks5://user:secret@proxy.example:1080"})
