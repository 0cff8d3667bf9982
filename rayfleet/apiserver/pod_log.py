"""The log of a Pod, fetched from the kubelet of its node."""

from __future__ import annotations

import aiohttp
from aiohttp import web

from rayfleet.apiserver.call import Call
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request
from rayfleet.apiserver.writing import require_found

SCHEME = "rayfleet.dev/kubelet-scheme"
PASSED_ON = ("follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes")


async def pod_log(call: Call) -> web.StreamResponse:
    """Raises 400 when the container is not clear or not started, 500 when the kubelet cannot be reached."""
    pod = require_found(call.api, call.served, call.address.namespace or "", call.address.name).decode()
    container = _container(pod, call.query.get("container", ""))
    node = pod["spec"].get("nodeName")
    if (tail := call.query.get("tailLines")) and not tail.isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{tail}": invalid syntax')
    if not node:
        return web.Response(status=204)  # no kubelet has it yet, so there is nothing to read
    base, authorization = _kubelet(call, node), call.request.headers.get("Authorization")
    url = f"{base}/containerLogs/{call.address.namespace}/{call.address.name}/{container}"
    query = {name: call.query[name] for name in PASSED_ON if name in call.query}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    headers = {"Authorization": authorization} if authorization else {}
    try:
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session, session.get(url, params=query) as answer:
            return await _copied(call, answer)
    except aiohttp.ClientError as failure:
        raise StatusError(500, "InternalError", f"Get {url!r}: {failure}") from failure


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


def _container(pod: Obj, wanted: str) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    hidden = [container["name"] for container in pod["spec"].get("initContainers", ())]
    name = pod["metadata"]["name"]
    if not wanted:
        if len(names) == 1:
            return str(names[0])
        choices = " ".join(names)
        suffix = f" or one of the init containers: [{' '.join(hidden)}]" if hidden else ""
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{choices}]{suffix}")
    if wanted not in names and wanted not in hidden:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def _kubelet(call: Call, name: str) -> str:
    record = call.api.store.get("nodes", "", name)
    if record is None:
        raise StatusError(500, "InternalError", f'nodes "{name}" not found')
    node = record.decode()
    status = node.get("status") or {}
    addresses = [address["address"] for address in status.get("addresses", ()) if address.get("type") == "InternalIP"]
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port", 10250)
    if not addresses:
        raise StatusError(500, "InternalError", f"no preferred addresses found for node {name}")
    scheme = (node["metadata"].get("annotations") or {}).get(SCHEME, "https")
    return f"{scheme}://{addresses[0]}:{port}"
