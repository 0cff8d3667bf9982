"""The log that the head's own monitor writes, asked of the head's dashboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from rayfleet.cli.failure import Failure

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

LINES = 1000


async def print_monitor_log(client: Client, state: State, namespace: str, name: str, tail: int | None) -> None:
    """The last lines of monitor.log. Raises NotFound for the cluster, Failure when its dashboard does not give it."""
    from rayfleet.api.meta import RAYCLUSTERS
    from rayfleet.cli.dashboard import ask

    cluster = await client.get(RAYCLUSTERS, name, namespace)
    nodes = json.loads(await ask(client, state, cluster, "/api/v0/nodes?limit=1000&detail=1"))["data"]["result"]["result"]
    heads = [node["node_id"] for node in nodes if node.get("is_head_node") and node.get("state") == "ALIVE"]
    if not heads:
        raise Failure(f"the dashboard of {name} knows no living head node yet")
    query = urlencode({"node_id": heads[0], "filename": "monitor.log", "lines": LINES if tail is None else tail})
    click.echo((await ask(client, state, cluster, f"/api/v0/logs/file?{query}")).decode(errors="replace").lstrip("1"), nl=False)
