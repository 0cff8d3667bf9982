"""pods/proxy and services/proxy: HTTP and WebSockets to a Pod, through this server."""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp import web
from yarl import URL

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request
from rayfleet.apiserver.streaming import DIAL_SECONDS, is_upgrade, passed_on
from rayfleet.apiserver.writing import require_found

_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "host", "content-length", "authorization"})
"""not passed on: what holds between two peers only, and the caller's token for this server"""


async def proxy(call: Call) -> web.StreamResponse:
    """Raises 400 for a port that is none, 404, 503 without an address or an answer."""
    scheme, name, port = _parts(call.address.name)
    record = call.api.store.get(call.kind.resource, call.address.namespace or "", name)
    if record is None and call.kind.resource == "services":
        raise _unavailable(f'no endpoints available for service "{name}"')
    found = (record or require_found(call.api, call.served, call.address.namespace or "", name)).decode()
    host, number = _of_pod(found, port) if call.kind.resource == "pods" else _of_service(call, found, port)
    path = call.address.rest
    headers = {key: value for key, value in call.request.headers.items() if key.lower() not in _HOP}
    url = f"{scheme}://{host}:{number}/{path}"
    if is_upgrade(call) and scheme == "http":
        return await _upgraded(call, URL(url).with_query(call.request.query), headers)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=DIAL_SECONDS)
    # A Pod's certificate is its own affair, as for kube-apiserver.
    connector = aiohttp.TCPConnector(ssl=False)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False) as session,
            session.request(
                call.request.method, url, params=call.request.query, headers=headers, data=call.body or None, allow_redirects=False
            ) as answer,
        ):
            return await _copied(call, answer)
    except aiohttp.ClientError as failure:
        raise _unavailable(f"error trying to reach service: {failure}") from failure


async def _upgraded(call: Call, url: URL, headers: dict[str, str]) -> web.StreamResponse:
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            reader, writer = await asyncio.open_connection(url.host, url.port)
    except OSError as failure:
        raise _unavailable(f"error trying to reach service: {failure}") from failure
    return await passed_on(call, url.raw_path_qs, {"Host": url.authority, **headers}, reader, writer)


async def _copied(call: Call, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status)
    response.headers.extend((key, value) for key, value in answer.headers.items() if key.lower() not in _HOP)
    await response.prepare(call.request)
    async for chunk in answer.content.iter_any():
        await response.write(chunk)
    return response


def _parts(text: str) -> tuple[str, str, str]:
    """[SCHEME:]NAME[:PORT]"""
    parts = text.split(":")
    if len(parts) > 3 or (len(parts) == 3 and parts[0] not in ("http", "https", "")):
        raise bad_request(f'invalid request "{text}"')
    scheme = parts.pop(0) if len(parts) == 3 else ""
    return scheme or "http", parts[0], parts[1] if len(parts) > 1 else ""


def _of_pod(pod: Obj, port: str) -> tuple[str, int]:
    address = (pod.get("status") or {}).get("podIP")
    if not address:
        raise bad_request("address not allowed")
    if port:
        return address, _number(port)
    ports = [each["containerPort"] for container in pod["spec"]["containers"] for each in container.get("ports") or ()]
    return address, ports[0] if ports else 80


def _of_service(call: Call, service: Obj, port: str) -> tuple[str, int]:
    """A ready endpoint of it."""
    name = service["metadata"]["name"]
    ports = service["spec"].get("ports") or []
    wanted = [each for each in ports if port in (each.get("name") or "", str(each["port"]))] or ([] if port else ports[:1])
    for record in call.api.store.select("endpointslices.discovery.k8s.io", call.address.namespace):
        if record.labels.get("kubernetes.io/service-name") != name:
            continue
        piece = record.decode()
        numbers = (
            []
            if not wanted
            else [each["port"] for each in piece.get("ports") or () if (each.get("name") or "") == (wanted[0].get("name") or "")]
        )
        ready = [each["addresses"][0] for each in piece.get("endpoints") or () if (each.get("conditions") or {}).get("ready")]
        if numbers and ready:
            return ready[0], numbers[0]
    raise _unavailable(f'no endpoints available for service "{name}"')


def _number(port: str) -> int:
    if not port.isdecimal():
        raise bad_request(f'invalid port "{port}"')
    return int(port)


def _unavailable(why: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", why)
