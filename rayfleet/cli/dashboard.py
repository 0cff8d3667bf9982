"""Reach the dashboard of a RayCluster's head: by the door's port in a local fleet, through the API server's proxy elsewhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from rayfleet.cli.failure import Failure

if TYPE_CHECKING:
    import aiohttp

    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

PORT = "dashboard"  # of the head's Service, by its name: the number may be any
HEARTBEAT = 20.0  # seconds; who does not answer to a ping is gone
DEADLINE = 120.0  # seconds for one answer: what is sent may be a whole working directory


class Dashboard(Protocol):
    """One head's, with its token."""

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> tuple[int, bytes]:
        """The HTTP status and the content. Raises OSError when there is no answer."""

    def websocket(self, path: str) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """Entering it raises ApiError, ClientError or OSError when there is none."""


class ByDoor:
    """`address` as a browser has it; `headers` hold the token."""

    def __init__(self, session: aiohttp.ClientSession, address: str, headers: dict[str, str]) -> None:
        self._session, self._address, self._headers = session, address, headers

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> tuple[int, bytes]:
        import aiohttp

        headers = {**self._headers, **({"Content-Type": kind} if body else {})}
        try:
            async with self._session.request(method, self._address + path, data=body or None, headers=headers) as answer:
                return answer.status, await answer.read()
        except aiohttp.ClientError as error:
            raise OSError(f"{self._address} does not answer: {error or type(error).__name__}") from error

    def websocket(self, path: str) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        return self._session.ws_connect(self._address + path, headers=self._headers, heartbeat=HEARTBEAT, max_msg_size=0)


class ByApi:
    """By the API server, as whoever the kubeconfig says."""

    def __init__(self, client: Client, cluster: dict[str, Any], headers: dict[str, str]) -> None:
        self._client, self._cluster, self._headers = client, cluster, headers

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> tuple[int, bytes]:
        from rayfleet.kube.errors import ApiError

        place, _, query = proxied(self._cluster, path).partition("?")
        try:
            said = await self._client.request(
                method, f"{place}?{query}" if query else place, body=body or None, content_type=kind, headers=self._headers
            )
        except ApiError as error:
            if not error.status or error.status > 500:
                raise OSError(error.message) from error
            return error.status, error.message.encode()
        return 200, said

    def websocket(self, path: str) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        return self._client.websocket(proxied(self._cluster, path), self._headers)


@asynccontextmanager
async def dashboard_of(client: Client, state: State, cluster: dict[str, Any]) -> AsyncIterator[Dashboard]:
    """The way to a cluster's dashboard, as long as the context lasts. Raises ApiError when its token may not be read."""
    import aiohttp

    from rayfleet.cli.token import token_of
    from rayfleet.kube.client import Client
    from rayfleet.ray.http import bearing

    headers = bearing(await token_of(client, cluster["metadata"]["namespace"], cluster["metadata"]["name"]))
    address = address_of(state, cluster)
    if address is None or f"//127.0.0.1:{api_port(state)}" not in client.connection.server:
        async with Client(client.connection, user_agent="rayfleet-cli", timeout=DEADLINE) as patient:
            yield ByApi(patient, cluster, headers)
        return
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=DEADLINE)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield ByDoor(session, address, headers)


def service_of(cluster: dict[str, Any]) -> str:
    """The name of the head's Service: what the status says, else the usual one."""
    head = (cluster.get("status") or {}).get("head") or {}
    return str(head.get("serviceName") or f"{cluster['metadata']['name']}-head-svc")


def local_port(state: State, cluster: dict[str, Any], what: str) -> int | None:
    """The door's port for this cluster's `dashboard` or `serve`; None when there is none (yet)."""
    if not state.ports.exists():
        return None
    ports: dict[str, int] = json.loads(state.ports.read_text())
    return ports.get(f"{what}/{cluster['metadata']['namespace']}/{service_of(cluster)}")


def address_of(state: State, cluster: dict[str, Any], what: str = PORT) -> str | None:
    """The URL that a person opens; None outside of a local fleet."""
    port = local_port(state, cluster, what)
    return f"http://127.0.0.1:{port}" if port else None


async def ask(client: Client, state: State, cluster: dict[str, Any], path: str) -> bytes:
    """GET a path of the dashboard, with the cluster's token where it has one. Raises Failure, ApiError."""
    name = cluster["metadata"]["name"]
    async with dashboard_of(client, state, cluster) as dashboard:
        try:
            status, content = await dashboard.ask("GET", path)
        except OSError as error:
            raise Failure(f"the dashboard of {name}: {error or 'timeout'}") from error
    if status >= 300:
        raise Failure(f"the dashboard of {name} answered {status}: {content[:300].decode(errors='replace')}")
    return content


def api_port(state: State) -> int:
    """The API's port of the local fleet: is the client speaking to this fleet at all?"""
    ports: dict[str, int] = json.loads(state.ports.read_text())
    return ports.get("api", 0)


def proxied(cluster: dict[str, Any], path: str) -> str:
    from rayfleet.api.meta import SERVICES

    return f"{SERVICES.path(cluster['metadata']['namespace'], f'{service_of(cluster)}:{PORT}', 'proxy')}{path}"
