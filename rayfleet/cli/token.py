"""`rayfleet token`: what the dashboard, and whoever submits a job, must show."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option

if TYPE_CHECKING:
    from rayfleet.kube.client import Client

KINDS = ("", "raycluster", "rayclusters", "raycluster.ray.io", "rayclusters.ray.io")
VARIABLE = "RAY_AUTH_TOKEN"


class Place(NamedTuple):
    """Where a token lies: a Secret of the cluster's namespace, and a key in it."""

    secret: str
    key: str


@click.command()
@click.argument("target", metavar="raycluster/NAME")
@namespace_option
@api_options
def command(target: str, namespace: str | None, **api: Any) -> None:
    """Print the token of a cluster: for the login of its dashboard, and for RAY_AUTH_TOKEN of who submits jobs.

    You must be allowed to read the Secret that it lies in.

    \b
    Examples:
      rayfleet token raycluster/one
      RAY_AUTH_MODE=token RAY_AUTH_TOKEN=$(rayfleet token one) ray job submit --address http://127.0.0.1:8265 -- python job.py
    """
    kind, _, name = target.rpartition("/")
    if kind.lower() not in KINDS:
        raise click.UsageError(f"only RayClusters have tokens; write raycluster/NAME instead of {target}")
    from rayfleet.api.meta import RAYCLUSTERS
    from rayfleet.cli.near import find

    connection = connection_of(**api)

    async def run() -> str:
        place = namespace or connection.namespace
        async with client_of(connection) as client:
            found = await token_of(client, place, name)
            if not found:
                await find(client, RAYCLUSTERS, place, name)
        if not found:
            raise Failure(f"raycluster/{name} has no head that runs with a token of its own")
        return found

    click.echo(asyncio.run(run()))


async def place_of(client: Client, namespace: str, cluster: str) -> Place | None:
    """As the head Pod has it; None without a head, or where the head was given no token."""
    from rayfleet.api import labels
    from rayfleet.api.meta import PODS

    selector = f"{labels.CLUSTER}={cluster},{labels.NODE_TYPE}={labels.HEAD}"
    for pod in await client.list(PODS, namespace, labels=selector):
        for variable in pod["spec"]["containers"][0].get("env") or ():
            source = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if variable["name"] == VARIABLE and source:
                return Place(source["name"], source["key"])
    return None


async def token_of(client: Client, namespace: str, cluster: str) -> str:
    """The token; "" where there is none. Raises ApiError when the Secret may not be read."""
    from rayfleet.api.meta import SECRETS

    place = await place_of(client, namespace, cluster)
    if place is None:
        return ""
    secret = await client.get(SECRETS, place.secret, namespace)
    return base64.b64decode((secret.get("data") or {}).get(place.key, "")).decode()
