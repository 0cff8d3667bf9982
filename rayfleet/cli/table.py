"""Tables as the API server makes them: the columns of the kind itself, also of kinds that this program does not know.

https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from rayfleet.api.meta import Resource
from rayfleet.cli.output import columns
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True)
class Query:
    """What to list: one object by name, or all that match."""

    resource: Resource
    namespace: str | None = None
    name: str | None = None
    labels: str = ""

    @property
    def path(self) -> str:
        path = self.resource.path(self.namespace, self.name)
        return f"{path}?{urlencode({'labelSelector': self.labels})}" if self.labels else path


async def fetch_table(connection: Connection, query: Query) -> dict[str, Any]:
    """The answer as the server gives it. Raises ApiError."""
    async with Client(connection, user_agent="rayfleet-cli") as client:
        found: dict[str, Any] = json.loads(await client.request("GET", query.path, accept=ACCEPT))
    return found


def render_table(table: dict[str, Any], *, wide: bool, namespaces: bool, prefix: str = "") -> str:
    """Rows under the columns that are wanted; with `namespaces` each row begins with its object's; `prefix` goes before each name."""
    chosen = [index for index, column in enumerate(table["columnDefinitions"]) if wide or not column.get("priority")]
    header = [table["columnDefinitions"][index]["name"] for index in chosen]
    rows = [[titled(row["cells"][index], index, prefix) for index in chosen] for row in table["rows"]]
    if namespaces:
        header = ["namespace", *header]
        rows = [[row["object"]["metadata"].get("namespace", ""), *cells] for row, cells in zip(table["rows"], rows, strict=True)]
    return columns(header, rows)


def titled(cell: Any, index: int, prefix: str) -> Any:
    return f"{prefix}{cell}" if prefix and index == 0 else cell
