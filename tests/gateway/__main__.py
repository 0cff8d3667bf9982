"""usage: python -m tests.gateway PORT SERVICE_PORT      in a Pod whose account may see and answer Gateways and HTTPRoutes

A line of its log for each weights that it takes: `TAKEN {"SERVICE": WEIGHT}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping

import aiohttp
from aiohttp import web

from rayfleet.kube.client import Client
from rayfleet.kube.connection import in_cluster
from tests.gateway.controller import heeding
from tests.gateway.proxy import application


def tell(weights: Mapping[str, int]) -> None:
    print("TAKEN", json.dumps(weights), flush=True)


async def main(port: int, service_port: int) -> None:
    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    connection = in_cluster()
    async with (
        Client(connection) as client,
        heeding(client, connection.namespace, tell) as gateway,
        aiohttp.ClientSession(connector=connector) as session,
    ):
        runner = web.AppRunner(application(gateway, session, service_port))
        await runner.setup()
        await web.TCPSite(runner, "0.0.0.0", port).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
