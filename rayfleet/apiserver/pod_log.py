"""The log of a Pod, fetched from the kubelet of its node."""

from __future__ import annotations

import aiohttp
from aiohttp import web

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.kubelets import container_of, dialled, kubelet
from rayfleet.apiserver.status_error import StatusError, bad_request
from rayfleet.apiserver.writing import require_found

PASSED_ON = ("follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes")


async def pod_log(call: Call) -> web.StreamResponse:
    """Raises 400 when the container is not clear or not started, 500 when the kubelet cannot be reached."""
    pod = require_found(call.api, call.served, call.address.namespace or "", call.address.name).decode()
    container = container_of(call, pod)
    node = pod["spec"].get("nodeName")
    if (tail := call.query.get("tailLines")) and not tail.isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{tail}": invalid syntax')
    if not node:
        return web.Response(status=204)  # no kubelet has it yet, so there is nothing to read
    place = kubelet(call.api, node)
    url = f"{place.base}/containerLogs/{call.address.namespace}/{call.address.name}/{container}"
    query = {name: call.query[name] for name in PASSED_ON if name in call.query}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    # As kube-apiserver without --kubelet-certificate-authority.
    connector = aiohttp.TCPConnector(ssl=False)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=place.headers(), connector=connector) as session,
            session.get(url, params=query) as answer,
        ):
            return await _copied(call, answer)
    except aiohttp.ClientConnectorError as failure:
        raise StatusError(500, "", f'Get "{url}": {dialled(place, failure.os_error)}') from failure
    except aiohttp.ClientError as failure:
        raise StatusError(500, "", f'Get "{url}": {failure}') from failure


async def _copied(call: Call, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    if answer.status != 200:
        text = (await answer.text()).strip()
        reason = "BadRequest" if answer.status == 400 else "InternalError"
        raise StatusError(answer.status, reason, text or f"the kubelet answered {answer.status}")
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(call.request)
    async for chunk in answer.content.iter_any():
        await response.write(chunk)
    return response
