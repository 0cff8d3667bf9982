"""The way to Ray's dashboards that the configuration chooses, with the tokens that they want to see: one pool for all kinds."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import msgspec

from rayfleet.api.config import Configuration
from rayfleet.api.meta import SECRETS, Key
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import ApiError
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.http import Direct, Tokens, shown
from rayfleet.ray.pool import Ask, Pool
from rayfleet.resources.auth import KEY
from rayfleet.runtime.clock import SYSTEM

DEADLINE = 10.0


class Secret(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class SecretTokens:
    """Tokens out of Secrets, each read when a head first wants it, and again after it was refused."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[Key, str] = {}

    async def __call__(self, target: Target) -> str:
        """Raises OSError."""
        key = Key(target.cluster.namespace, target.secret)
        if key not in self._known:
            try:
                found = await self._client.get(SECRETS, key.name, key.namespace, type=Secret)
                self._known[key] = base64.b64decode(found.data.get(KEY, "")).decode()
            except (ApiError, binascii.Error, UnicodeDecodeError) as error:
                raise OSError(f"the token in Secret {key.name} cannot be read: {error}") from error
        return self._known[key]

    def refused(self, target: Target) -> None:
        self._known.pop(Key(target.cluster.namespace, target.secret), None)


class Proxied:
    """An `Ask` that goes through the API server: for an operator that is not in the Pods' network."""

    def __init__(self, client: Client, tokens: Tokens) -> None:
        self._client = client
        self._tokens = tokens

    async def __call__(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        """Raises OSError."""
        parts = urlsplit(call.path)
        method, body = (call.method, call.body) if isinstance(call, Act) else ("GET", None)
        try:
            said = await self._client.request(
                method,
                f"{proxy_of(target, call)}{parts.path}",
                body=body or None,
                content_type="application/json" if body else None,
                query=dict(parse_qsl(parts.query)),
                headers=await shown(target, self._tokens),
            )
        except ApiError as error:
            if error.status in (401, 403) and target.secret:
                self._tokens.refused(target)
            if not 400 <= error.status <= 500:
                raise OSError(error.message) from error
            return error.status, error.message.encode()
        return 200, said


def proxy_of(target: Target, call: Question | Act) -> str:
    """Where the API server passes requests on to the head: to its Service, or, for what has a port of its own, to its Pod."""
    namespace, port = target.cluster.namespace, call.port if isinstance(call, Question) else 0
    place = f"pods/{target.pod}:{port}" if port else f"services/{target.service}:{target.port}"
    return f"/api/v1/namespaces/{namespace}/{place}/proxy"


@asynccontextmanager
async def dashboards(configuration: Configuration, connection: Connection) -> AsyncIterator[Pool]:
    """The pool, as long as the context lasts."""
    async with Client(connection, user_agent="rayfleet-operator", timeout=DEADLINE) as client:
        tokens = SecretTokens(client)
        direct = Direct(host_of(configuration), tokens)
        ask: Ask = Proxied(client, tokens) if configuration.use_kubernetes_proxy else direct
        pool = Pool(ask, SYSTEM)
        try:
            yield pool
        finally:
            await pool.close()
            await direct.close()


def host_of(configuration: Configuration) -> Callable[[Target], str]:
    def by_name(target: Target) -> str:
        return f"{target.service}.{target.cluster.namespace}.svc.{configuration.cluster_domain}"

    def by_address(target: Target) -> str:
        return target.address

    return by_address if configuration.head_address == "pod" else by_name
