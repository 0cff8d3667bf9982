"""Runs the probes of a Pod's containers and tells the worker what they mean: started, ready, or to be restarted.

A startup probe comes first; the others begin when it has passed. HTTP and TCP go from the fleet's namespace to the Pod's address.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp

from rayfleet.kube.errors import ApiError
from rayfleet.kubelet.attempt import Attempt
from rayfleet.kubelet.env import ConfigError
from rayfleet.kubelet.sandbox import SandboxError
from rayfleet.kubelet.verdicts import Tally, count, first_in, timing

SAID = 300  # characters of an answer that a message may quote

Result = tuple[bool, str]
Execute = Callable[[str, list[str], float], Awaitable[Mapping[str, Any]]]  # container, command, seconds it may take
OnVerdict = Callable[[str, str, bool, str], None]  # container, kind of probe, verdict, the last result in words


class Prober:
    """The probes of one container's life. `close()` ends them."""

    def __init__(
        self,
        container: Mapping[str, Any],
        attempt: Attempt,
        address: str,
        web: aiohttp.ClientSession,
        execute: Execute,
        on_verdict: OnVerdict,
        on_failure: Callable[[str, str], None],
    ) -> None:
        self.container, self.attempt, self.address = container, attempt, address
        self.web, self.execute = web, execute
        self.on_verdict, self.on_failure = on_verdict, on_failure
        self.tasks = [asyncio.create_task(self.run())]

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def run(self) -> None:
        if self.container.get("startupProbe"):
            await self.repeat("startup", until=True)
        for kind in ("liveness", "readiness"):
            if self.container.get(kind + "Probe"):
                self.tasks.append(asyncio.create_task(self.repeat(kind)))

    async def repeat(self, kind: str, until: bool | None = None) -> None:
        """Probes for ever, or until a verdict."""
        probe = self.container[kind + "Probe"]
        rule, tally = timing(probe), Tally()
        await asyncio.sleep(first_in(rule, self.attempt.started_at, time.time()))
        while True:
            good, words = await self.once(probe, rule.timeout)
            if not good:
                self.on_failure(self.container["name"], f"{kind.capitalize()} probe failed: {words}")
            before, tally = tally, count(tally, good, rule)
            if tally.verdict is not None and (tally.verdict is not before.verdict or (not tally.verdict and kind != "readiness")):
                self.on_verdict(self.container["name"], kind, tally.verdict, words)
            if until is not None and tally.verdict is until:
                return
            await asyncio.sleep(rule.period)

    async def once(self, probe: Mapping[str, Any], timeout: float) -> Result:
        try:
            async with asyncio.timeout(timeout + 1.0 if probe.get("exec") else timeout):
                return await self.act(probe, timeout)
        except TimeoutError:
            return False, f"no answer within {timeout:g} s"
        except aiohttp.ClientConnectorError as error:
            return False, f"{error.host}:{error.port}: {os.strerror(error.os_error.errno or 0).lower()}"
        except (OSError, aiohttp.ClientError, SandboxError, ConfigError, ApiError, ImportError, ValueError) as error:
            return False, str(error) or type(error).__name__

    async def act(self, probe: Mapping[str, Any], timeout: float) -> Result:
        if probe.get("exec"):
            return await self.run_command(probe["exec"].get("command") or [], timeout)
        if probe.get("httpGet"):
            return await http_get(self.web, self.address, probe["httpGet"], self.port(probe["httpGet"]))
        if probe.get("tcpSocket"):
            return await tcp_connect(probe["tcpSocket"].get("host") or self.address, self.port(probe["tcpSocket"]))
        if probe.get("grpc"):
            return await grpc_health(self.address, int(probe["grpc"]["port"]), probe["grpc"].get("service") or "")
        return False, "the probe names no action"

    def port(self, action: Mapping[str, Any]) -> int:
        return port_of(self.container, action)

    async def run_command(self, command: list[str], timeout: float) -> Result:
        answer = await self.execute(self.container["name"], command, timeout)
        if answer["late"]:
            return False, f"command timed out after {timeout:g} s"
        return answer["code"] == 0, answer["output"].strip()[:SAID] or f"exit code {answer['code']}"


def port_of(container: Mapping[str, Any], action: Mapping[str, Any]) -> int:
    """A number, or the name of one of the container's ports. Raises ConfigError for a name that none of them has."""
    named = {port.get("name"): port["containerPort"] for port in container.get("ports") or ()}
    wanted = action["port"]
    try:
        return int(named.get(wanted, wanted))
    except ValueError:
        raise ConfigError(f'no port of the container is named "{wanted}"') from None


async def http_get(web: aiohttp.ClientSession, address: str, action: Mapping[str, Any], port: int) -> Result:
    """Any code from 200 to 399 is good. A certificate is not checked, as in Kubernetes."""
    scheme = (action.get("scheme") or "HTTP").lower()
    path = action.get("path") or "/"
    url = f"{scheme}://{action.get('host') or address}:{port}/{path.lstrip('/')}"
    headers = {"User-Agent": "kube-probe/rayfleet", **{one["name"]: one["value"] for one in action.get("httpHeaders") or ()}}
    async with web.get(url, headers=headers, allow_redirects=False, ssl=False) as answer:
        return 200 <= answer.status < 400, f"HTTP probe failed with statuscode: {answer.status}"


async def tcp_connect(address: str, port: int) -> Result:
    _, writer = await asyncio.open_connection(address, port)
    writer.close()
    return True, "connected"


async def grpc_health(address: str, port: int, service: str) -> Result:
    """grpc.health.v1.Health/Check, its one-field messages made by hand. grpcio comes with Ray; it is loaded for the first such probe."""
    try:
        import grpc.aio
    except ImportError:
        return False, "gRPC probes need grpcio, which is not installed"
    name = service.encode()
    async with grpc.aio.insecure_channel(f"{address}:{port}") as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            answer = await check(b"\x0a" + bytes([len(name)]) + name if name else b"")
        except grpc.aio.AioRpcError as error:
            return False, f"{error.code().name}: {error.details()}"
    return answer == b"\x08\x01", "service unhealthy" if answer != b"\x08\x01" else "serving"
