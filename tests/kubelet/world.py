"""A small world: the embedded API in this process, a kubelet in this process or in one of its own, real Pods."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from rayfleet.api.meta import PODS, Resource
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import BadRequest, NotFound
from rayfleet.kubelet.kubelet import Kubelet
from rayfleet.kubelet.settings import KubeletSettings

API_PORT = 6443
PAUSE = 0.005
PATIENCE = 120.0  # seconds until a test gives up
PROGRAM = """
import asyncio, sys
from pathlib import Path
from rayfleet.kubelet.kubelet import run_kubelet
from rayfleet.kubelet.settings import KubeletSettings
settings = KubeletSettings(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), backoff_scale=float(sys.argv[4]))
asyncio.run(run_kubelet(settings, ready=lambda: print("ready", flush=True)))
"""


async def until(what: str, condition: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Polls until the condition (plain or async) gives something true; that is returned."""
    deadline = time.monotonic() + patience
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {patience} s: {what}"
        await asyncio.sleep(PAUSE)


class World:
    def __init__(self, state: Path, environment: Path) -> None:
        self.settings = KubeletSettings(state / "kubeconfig", state, environment, backoff_scale=0.02)
        self.writes: list[str] = []  # the methods of all requests that were no reads
        self.reads = 0
        self.client = Client(Connection(f"http://127.0.0.1:{API_PORT}"), on_answer=self.heed)
        self.store = Store(":memory:")
        self.kubelet: Kubelet | None = None
        self.process: asyncio.subprocess.Process | None = None

    def heed(self, method: str, status: int, seconds: float) -> None:
        if method == "GET":
            self.reads += 1
        else:
            self.writes.append(method)

    async def open(self) -> None:
        self.settings.kubeconfig.write_text(KUBECONFIG)
        await self.start_api()

    async def start_api(self) -> None:
        self.runner = web.AppRunner(ApiServer(self.store).app(), shutdown_timeout=0.1, handler_cancellation=True)
        await self.runner.setup()
        await web.TCPSite(self.runner, "0.0.0.0", API_PORT, reuse_address=True).start()

    async def stop_api(self) -> None:
        await self.runner.cleanup()

    async def close(self) -> None:
        for pod in await self.client.list(PODS):
            with suppress(NotFound):  # it was on its way out
                await self.client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace=0)
        if self.kubelet:
            await until("the workers have ended", lambda: not self.kubelet or not self.kubelet.pods.workers)
            await self.kubelet.close()
        if self.process and self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            await self.process.wait()
        await self.client.close()
        await self.runner.cleanup()

    async def start_kubelet(self) -> None:
        self.kubelet = Kubelet(self.client, self.settings)
        await self.kubelet.start()

    async def start_kubelet_process(self, *before: str) -> asyncio.subprocess.Process:
        """`before`: a command that runs the one after it, as setpriv does."""
        settings = self.settings
        argv = [str(settings.kubeconfig), str(settings.state), str(settings.environment), str(settings.backoff_scale)]
        home = Path(__file__).parent.parent.parent
        program = [*before, sys.executable, "-c", PROGRAM, *argv]
        process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE, cwd=home)
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        self.process = process
        return process

    # the vocabulary of the tests

    async def apply(self, body: Mapping[str, Any], resource: Resource = PODS) -> dict[str, Any]:
        return await self.client.create(resource, body, "default")

    async def pod(self, name: str = "a") -> dict[str, Any]:
        return await self.client.get(PODS, name, "default")

    async def status(self, name: str = "a") -> dict[str, Any]:
        return (await self.pod(name))["status"]

    async def container(self, name: str = "a") -> dict[str, Any]:
        """The status of the Pod's first container; {} as long as there is none."""
        return ((await self.status(name)).get("containerStatuses") or [{}])[0]

    async def gone(self, name: str = "a") -> bool:
        try:
            await self.pod(name)
        except NotFound:
            return True
        return False

    async def reaches(self, phase: str, name: str = "a", patience: float = PATIENCE) -> dict[str, Any]:
        async def there() -> dict[str, Any] | None:
            found = await self.status(name)
            return found if found.get("phase") == phase else None

        return await until(f"pod {name} is {phase}", there, patience)

    async def becomes_ready(self, name: str = "a", patience: float = PATIENCE) -> dict[str, Any]:
        async def there() -> dict[str, Any] | None:
            found = await self.status(name)
            return found if is_true("Ready", found) else None

        return await until(f"pod {name} is ready", there, patience)

    def tell(self) -> None:
        """All containers that wait for it: see `TOLD`."""
        for place in self.settings.pods.glob("*/containers/main/scratch-0/tmp"):
            (place / "told").touch()

    async def log(self, name: str = "a", query: str = "") -> str:
        return (await self.client.request("GET", f"/api/v1/namespaces/default/pods/{name}/log{query}")).decode()

    async def log_has(self, words: str, name: str = "a") -> bool:
        """False also as long as there is no log."""
        try:
            return words in await self.log(name)
        except BadRequest:
            return False

    async def events(self, reason: str) -> list[str]:
        found = await self.client.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
        import msgspec

        return [one["note"] for one in msgspec.json.decode(found)["items"] if one["reason"] == reason]


def is_true(condition: str, status: Mapping[str, Any]) -> bool:
    return any(one["type"] == condition and one["status"] == "True" for one in status.get("conditions") or ())


def pod(command: str | list[str], name: str = "a", **spec: Any) -> dict[str, Any]:
    """A Pod of one container; keyword arguments that a container knows go to the container, all others to the Pod."""
    own = {key: spec.pop(key) for key in list(spec) if key in CONTAINER_FIELDS}
    argv = ["sh", "-c", command] if isinstance(command, str) else command
    container = {"name": "main", "image": "example.com/any:1", "command": argv, **own}
    labels = spec.pop("labels", {"app": name})
    spec.setdefault("terminationGracePeriodSeconds", 2)
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": {"containers": [container], **spec}}


CONTAINER_FIELDS = ("args", "env", "envFrom", "workingDir", "ports", "volumeMounts", "readinessProbe", "livenessProbe", "startupProbe",
                    "lifecycle", "resources", "image")  # fmt: skip
TOLD = "until test -e /tmp/told; do sleep 0.05; done"  # in a container's first life
FOR_EVER = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
KUBECONFIG = f"""
apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{API_PORT}"}}}}]
users: [{{name: test, user: {{}}}}]
"""
