"""What a container wants done right after its start and right before its end.

https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import aiohttp

from rayfleet.kube.errors import ApiError
from rayfleet.kubelet.env import ConfigError
from rayfleet.kubelet.probes import http_get, port_of
from rayfleet.kubelet.sandbox import SandboxError

if TYPE_CHECKING:
    from rayfleet.kubelet.worker import Worker

SAID = 300  # characters of an answer that a message may quote


async def run_hook(worker: Worker, name: str, kind: str, seconds: float) -> bool:
    """Runs the container's `postStart` or `preStop`, for at most so many seconds. A failure is told; returns whether there was none."""
    hook: Mapping[str, Any] = (worker.health.container(name).get("lifecycle") or {}).get(kind) or {}
    if not hook or seconds <= 0:
        return True
    try:
        async with asyncio.timeout(seconds):
            good, words = await act(worker, name, hook, seconds)
    except (SandboxError, ConfigError, ApiError, OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
        good, words = False, str(error) or f"not done within {seconds:g} s"
    if not good:
        worker.tell("Warning", f"Failed{kind[0].upper()}{kind[1:]}Hook", f"{kind} hook of container {name} failed: {words}")
    return good


async def act(worker: Worker, name: str, hook: Mapping[str, Any], seconds: float) -> tuple[bool, str]:
    if hook.get("exec"):
        answer = await worker.setup.execute(name, hook["exec"].get("command") or [], seconds)
        return answer["code"] == 0, answer["output"].strip()[:SAID] or f"exit code {answer['code']}"
    if hook.get("httpGet"):
        port = port_of(worker.health.container(name), hook["httpGet"])
        return await http_get(worker.house.web, worker.setup.address(), hook["httpGet"], port)
    await asyncio.sleep(float((hook.get("sleep") or {}).get("seconds") or 0))
    return True, ""
