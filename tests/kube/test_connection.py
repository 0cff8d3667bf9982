from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.kube.connection import ConfigError, in_cluster, load_kubeconfig
from rayfleet.kube.errors import Unreachable
from rayfleet.kube.login import LOOK_EVERY, TokenFile
from tests.kube.certificates import Authority


@asynccontextmanager
async def tls_server(authority: Authority, name: str) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that demands a client's certificate; gives its port and the names of those who came."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.file))
    context.load_cert_chain(*map(str, authority.issue(name)))
    context.verify_mode = ssl.CERT_OPTIONAL
    came: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert") or {}
        came.append(dict(pair[0] for pair in certificate.get("subject", ())).get("commonName", ""))
        return web.json_response({"items": []})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1], came
    finally:
        await runner.cleanup()


def kubeconfig(folder: Path, cluster: dict[str, Any], user: dict[str, Any] | None = None, namespace: str | None = None) -> Path:
    file = folder / "config"
    context = {"cluster": "c", "namespace": namespace} | ({"user": "u"} if user is not None else {})
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": context}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }
    file.write_text(yaml.safe_dump(config))
    return file


def inline(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


@pytest.mark.parametrize("form", ["files", "inline"])
async def test_client_certificates_and_authority(tmp_path: Path, form: str) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("alice")
    async with tls_server(authority, "api.example") as (port, came):
        cluster: dict[str, Any] = {"server": f"https://127.0.0.1:{port}/", "tls-server-name": "api.example"}
        if form == "files":
            cluster["certificate-authority"] = "ca.crt"
            user = {"client-certificate": "alice.crt", "client-key": str(key)}
        else:
            cluster["certificate-authority-data"] = inline(authority.file)
            user = {"client-certificate-data": inline(certificate), "client-key-data": inline(key)}
        async with Client(load_kubeconfig(kubeconfig(tmp_path, cluster, user))) as client:
            assert await client.list(PODS) == []
        assert came == ["alice"]


async def test_a_server_that_the_authority_does_not_vouch_for_is_refused_unless_told_otherwise(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    async with tls_server(authority, "localhost") as (port, _):
        cluster = {"server": f"https://localhost:{port}", "certificate-authority": str(other.file)}
        async with Client(load_kubeconfig(kubeconfig(tmp_path, cluster))) as client:
            with pytest.raises(Unreachable, match="certificate"):
                await client.list(PODS)
        del cluster["certificate-authority"]
        async with Client(load_kubeconfig(kubeconfig(tmp_path, cluster | {"insecure-skip-tls-verify": True}))) as client:
            assert await client.list(PODS) == []


def test_tokens_namespace_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"server": "http://localhost:1"}
    plain = load_kubeconfig(kubeconfig(tmp_path, cluster))
    assert (plain.server, plain.namespace, plain.token(), plain.ssl) == ("http://localhost:1", "default", None, None)
    file = kubeconfig(tmp_path, cluster, {"token": "abc"}, "team")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/absent:{file}")
    found = load_kubeconfig()
    assert (found.token(), found.namespace) == ("abc", "team")
    (tmp_path / "token").write_text("from-a-file\n")
    assert load_kubeconfig(kubeconfig(tmp_path, cluster, {"tokenFile": "token", "token": "older"})).token() == "from-a-file"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot be read"),
        ("a: [", "cannot be read"),
        ("just text", "no kubeconfig"),
        ("{}", "names no current context"),
        ("{current-context: x}", "no context named x"),
        ("{current-context: x, contexts: [{name: x, context: {cluster: c}}]}", "no cluster named c"),
        ("{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: {}}]}", "has no server"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(tmp_path: Path, content: str | None, text: str) -> None:
    file = tmp_path / "broken"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=text) as caught:
        load_kubeconfig(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ({"auth-provider": {"name": "oidc"}}, "auth-provider, which is not supported"),
        ({"exec": {"command": "x"}}, "asks for no apiVersion"),
        ({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "v1alpha1; .*v1 and .*v1beta1 are supported"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "names no command"),
        ({"exec": {"command": ["x"]}}, "exec cannot be read"),
    ],
)
def test_ways_to_log_in_that_are_not_known_are_refused_by_name(tmp_path: Path, user: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load_kubeconfig(kubeconfig(tmp_path, {"server": "http://localhost:1"}, user))


def test_unusable_certificates_are_named(tmp_path: Path) -> None:
    cluster = {"server": "https://localhost:1", "certificate-authority": "absent.crt"}
    with pytest.raises(ConfigError, match="certificates"):
        load_kubeconfig(kubeconfig(tmp_path, cluster))


def test_inside_a_pod(tmp_path: Path) -> None:
    Authority(tmp_path)
    (tmp_path / "token").write_text("t1")
    (tmp_path / "namespace").write_text("ray-system")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = in_cluster(tmp_path, environ)
    assert (found.server, found.namespace, found.token()) == ("https://[fd00::1]:443", "ray-system", "t1")
    with pytest.raises(ConfigError, match="not in a Pod"):
        in_cluster(tmp_path, {})
    (tmp_path / "token").unlink()
    with pytest.raises(ConfigError, match="service account"):
        in_cluster(tmp_path, environ)


def test_a_renewed_token_is_read_within_a_minute_and_a_lost_file_does_no_harm(tmp_path: Path) -> None:
    now = 0.0
    file = tmp_path / "token"
    file.write_text("first")
    token = TokenFile(file, clock=lambda: now).token
    assert token() == "first"
    renewed = tmp_path / "renewed"
    renewed.write_text("second")
    renewed.replace(file)
    assert token() == "first"
    now += LOOK_EVERY
    assert token() == "second"
    file.unlink()
    now += LOOK_EVERY
    assert token() == "second"
