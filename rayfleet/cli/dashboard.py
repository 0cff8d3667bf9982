"""Reach the dashboard of a RayCluster's head: by the door's port in a local fleet, through the API server's proxy elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rayfleet.cli.failure import Failure

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

PORT = 8265


def service_of(cluster: dict[str, Any]) -> str:
    """The name of the head's Service: what the status says, else the usual one."""
    head = (cluster.get("status") or {}).get("head") or {}
    return str(head.get("serviceName") or f"{cluster['metadata']['name']}-head-svc")


def local_port(state: State, cluster: dict[str, Any]) -> int | None:
    """The door's port for this cluster's dashboard; None when there is none (yet)."""
    if not state.ports.exists():
        return None
    ports: dict[str, int] = json.loads(state.ports.read_text())
    return ports.get(f"dashboard/{cluster['metadata']['namespace']}/{service_of(cluster)}")


def address_of(state: State, cluster: dict[str, Any]) -> str | None:
    """The URL that a person opens; None outside of a local fleet."""
    port = local_port(state, cluster)
    return f"http://127.0.0.1:{port}" if port else None


async def ask(client: Client, state: State, cluster: dict[str, Any], path: str, body: Any = None) -> bytes:
    """GET a path of the dashboard (or POST a body to it), with the cluster's token where it has one. Raises Failure, ApiError."""
    import aiohttp

    from rayfleet.cli.token import token_of
    from rayfleet.ray.http import bearing

    address = address_of(state, cluster)
    token = await token_of(client, cluster["metadata"]["namespace"], cluster["metadata"]["name"])
    headers = bearing(token)
    if address is None or f"//127.0.0.1:{api_port(state)}" not in client.connection.server:
        return await client.request("GET" if body is None else "POST", proxied(cluster, path), body=body, headers=headers)
    timeout = aiohttp.ClientTimeout(total=30)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request("GET" if body is None else "POST", address + path, json=body, headers=headers) as answer,
        ):
            content = await answer.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Failure(f"the dashboard of {cluster['metadata']['name']} does not answer on {address}: {error or 'timeout'}") from error
    if answer.status >= 300:
        raise Failure(f"the dashboard of {cluster['metadata']['name']} answered {answer.status}: {content[:300].decode(errors='replace')}")
    return content


def api_port(state: State) -> int:
    """The API's port of the local fleet: is the client speaking to this fleet at all?"""
    ports: dict[str, int] = json.loads(state.ports.read_text())
    return ports.get("api", 0)


def proxied(cluster: dict[str, Any], path: str) -> str:
    from rayfleet.api.meta import SERVICES

    return f"{SERVICES.path(cluster['metadata']['namespace'], f'{service_of(cluster)}:{PORT}', 'proxy')}{path}"
