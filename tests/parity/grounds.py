"""The API servers on which a stage may stand: the embedded one, made for it alone, or a real control plane that all stages share."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web
from multidict import CIMultiDictProxy
from yarl import URL

from deploy.objects import NAME, SYSTEM_NAMESPACE, cluster_wide, gates
from rayfleet.api.crds import crds
from rayfleet.api.meta import CUSTOMRESOURCEDEFINITIONS
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.server import ApiServer
from rayfleet.apiserver.store import Store
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection, load_kubeconfig
from testbed.control_plane import ControlPlane
from tests.issuer.definitions import DEFINITIONS
from tests.local.waiting import eventually
from tests.parity.canonical import Json
from tests.parity.ledger import Ledger

OF_ONE_HOP = {"host", "connection", "content-length", "transfer-encoding"}
serial = count()


@dataclass(frozen=True)
class Ground:
    """The ways of those who act on one API server; what they write stands in a ledger. `namespace` is nobody else's."""

    user: Connection
    kubelet: Connection
    operator: Connection
    namespace: str


Grounds = Callable[[Ledger], AbstractAsyncContextManager[Ground]]


def embedded_with(definitions: Callable[[], Iterable[Json]], time: Callable[[], float] = time.time) -> Grounds:
    """`definitions` gives the CustomResourceDefinitions of the Ray kinds; `time` is the server's."""

    @asynccontextmanager
    async def ground(ledger: Ledger) -> AsyncIterator[Ground]:
        store = Store()
        async with served(ApiServer(store, api=open_api(store, clock=time)).app(), ledger) as connection:
            async with Client(connection) as client:
                for document in definitions():
                    await client.create(CUSTOMRESOURCEDEFINITIONS, document)
            yield Ground(connection, connection, connection, "stage")

    return ground


embedded = embedded_with(crds)


def kubernetes(plane: ControlPlane) -> Grounds:
    """On a control plane that `furnish` has prepared. The operator is its own ServiceAccount, with the rights that we ship."""
    accounts = plane.kubeconfig(), plane.kubeconfig("kubelet"), plane.service_account(SYSTEM_NAMESPACE, NAME)
    user, kubelet, operator = map(load_kubeconfig, accounts)

    @asynccontextmanager
    async def ground(ledger: Ledger) -> AsyncIterator[Ground]:
        namespace = f"stage-{next(serial)}"
        connector = TCPConnector(ssl=user.ssl or True, limit=0)
        session = ClientSession(connector=connector, timeout=ClientTimeout(total=None), auto_decompress=False)
        async with session, served(forwarder(session, plane.url), ledger) as way:
            try:
                yield Ground(*(replace(way, token=one.token) for one in (user, kubelet, operator)), namespace)
            finally:
                await asyncio.to_thread(clear, plane, namespace)

    return ground


def furnish(plane: ControlPlane, definitions: Callable[[], Iterable[Json]] = crds) -> ControlPlane:
    """With all that the shipped manifest holds but the Deployment, whose Pod would want an image."""
    others = [each for each in cluster_wide() if each["kind"] not in ("Deployment", "CustomResourceDefinition")]
    shipped = [*definitions(), *others, *gates(), *DEFINITIONS]
    plane.kubectl("apply", "--filename", "-", text="\n---\n".join(map(json.dumps, shipped)))
    # kubectl takes a definition that has no conditions yet for an error.
    established = ("wait", "--for=condition=Established", "--all", "customresourcedefinitions")
    eventually(lambda: plane.try_kubectl(*established).returncode == 0, 30.0)
    return plane


def clear(plane: ControlPlane, namespace: str) -> None:
    """Nothing of this stage is to keep the next one busy; nobody waits until the rest is gone."""
    plane.request("DELETE", f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters")
    plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
    plane.request("DELETE", f"/api/v1/namespaces/{namespace}")


@asynccontextmanager
async def served(app: web.Application, ledger: Ledger) -> AsyncIterator[Connection]:
    app.middlewares.append(ledger.middleware())
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Connection(f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()


def forwarder(session: ClientSession, server: str) -> web.Application:
    """Passes every request on to the server, and its answer back as it comes."""

    async def forward(request: web.Request) -> web.StreamResponse:
        target = URL(server + request.raw_path, encoded=True)
        asked: dict[str, Any] = {"headers": kept(request.headers), "data": await request.read(), "skip_auto_headers": ("Accept-Encoding",)}
        async with session.request(request.method, target, **asked) as answer:
            response = web.StreamResponse(status=answer.status, headers=kept(answer.headers))
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            return response

    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", forward)
    return app


def kept(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in OF_ONE_HOP}
