"""Large work in threads beside the loop, so that others are answered meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web

from rayfleet.apiserver import address
from rayfleet.apiserver.body import decoded
from rayfleet.apiserver.call import Answer, Call
from rayfleet.apiserver.status_error import StatusError, conflict

LARGE = 1 << 16
"""bytes that are sent, or stored already; writing them takes some 20 ms at most"""
LARGE_YAML = 1 << 14
THREADS = 2
SWITCH = 0.001
"""seconds after which a thread lets the loop go on"""
ATTEMPTS = 5
"""as Kubernetes makes at a patch"""


class Beside:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="large")

    def start(self) -> None:
        sys.setswitchinterval(min(SWITCH, sys.getswitchinterval()))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def content(self, body: bytes, content_type: str) -> Any:
        """The value of a body that takes long to read, or its refusal. None for all else."""
        if not _is_long(body, content_type):
            return None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, decoded, body, content_type)
        except StatusError as refusal:
            return refusal

    async def write(self, call: Call, writer: Callable[[Call], Answer]) -> web.Response:
        """The last step on the loop, all before it in a thread; begun again when another write was faster. Raises 409 at last."""
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            seen = _seen(call)
            answer = await loop.run_in_executor(self._threads, writer, call)
            if all(now is then for now, then in zip(_seen(call), seen, strict=True)):
                return answer()
            # The kind may be another one, or gone.
            call.address = address.parse(call.api.registry, call.request.path)
        raise conflict(call.kind.group, call.kind.plural, call.address.name)


def is_large(call: Call) -> bool:
    if _is_long(call.body, call.request.content_type):
        return True
    stored = call.api.store.get(call.kind.resource, call.address.namespace or "", call.address.name)
    return stored is not None and len(stored.data) >= LARGE


def _is_long(body: bytes, content_type: str) -> bool:
    return len(body) >= (LARGE_YAML if "yaml" in content_type else LARGE)


def _seen(call: Call) -> tuple[object, ...]:
    """What a write relies on: the kind, the namespace, the object."""
    namespace = call.address.namespace or ""
    store, resource = call.api.store, call.kind.resource
    return (call.api.registry.kind(resource), store.get("namespaces", "", namespace), store.get(resource, namespace, call.address.name))
