"""Wait until Ray objects are ready, and show on the way what each is waiting for: a table on a terminal, lines elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rayfleet.api.labels import CLUSTER
from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS, RAYSERVICES, Resource
from rayfleet.cli.dashboard import address_of
from rayfleet.cli.options import words_for
from rayfleet.cli.standing import Standing, cluster_of, missing, of_object, title

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

STEP = 0.25


class Wanted(NamedTuple):
    """An object that is waited for; `made_later`: by the operator, of one in an old format."""

    kind: Resource
    namespace: str
    name: str
    made_later: bool = False

    @property
    def word(self) -> str:
        """What other commands call it."""
        return self.name if self.kind == RAYCLUSTERS else f"{self.kind.kind.lower()}/{self.name}"


async def wait_ready(client: Client, state: State, wanted: list[Wanted], patience: float) -> list[str]:
    """Until each is ready, or runs, or has ended, or is refused, or `patience` seconds have passed. Returns what failed, as sentences."""
    deadline = asyncio.get_running_loop().time() + patience
    standings: list[Standing] = [Standing("", "", "-", "-", "")] * len(wanted)
    with display() as show:
        while wanted:
            standings = [await look(client, each, since_of(state), before) for each, before in zip(wanted, standings, strict=True)]
            show(standings)
            if all(each.ready or each.hopeless for each in standings) or asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(STEP)
    failures = []
    for each, how in zip(wanted, standings, strict=True):
        if how.ready:
            await tell_more(client, state, each, how)
            continue
        mend = f"; see why: rayfleet explain {each.word}{place_words(client, each.namespace)}{words_for(state)}"
        failures.append(how.told or f"not ready: {how.line}" + mend * (not how.hopeless))
    return failures + (dead_peers(state) if failures else [])


async def tell_more(client: Client, state: State, wanted: Wanted, how: Standing) -> None:
    """Where it is to be seen, or how it ended."""
    if how.told:
        click.echo(how.told)
    if how.cluster and (address := await address_in(state, wanted.namespace, how.cluster)):
        click.echo(f"Dashboard of {how.name}: {address}{await login_of(client, wanted.namespace, how.cluster)}")
    if wanted.kind == RAYJOBS and how.state in ("running", "over"):
        click.echo(f"Log of {how.name}: rayfleet job logs {wanted.name}{place_words(client, wanted.namespace)}")
    head = {"metadata": {"namespace": wanted.namespace, "name": how.cluster}}
    if wanted.kind == RAYSERVICES and how.cluster and (serve := address_of(state, head, "serve")):
        click.echo(f"Serve of {how.name}: {serve}")


def dead_peers(state: State) -> list[str]:
    """A part of the fleet that does not stay alive is the likely cause of all that is not ready."""
    from rayfleet.cli.status import peers

    return [f"the {row['process']} is dead; its log is {state.log(row['process'])}" for row in peers(state) if row["state"] == "dead"]


def since_of(state: State) -> str:
    """When the fleet was started; "" where there is none."""
    return state.started.read_text() if state.started.exists() else ""


async def look(client: Client, wanted: Wanted, since: str, before: Standing) -> Standing:
    """How it stands now; an API server that is away for a moment is waited for. A job that has ended may be gone at the next look."""
    from rayfleet.api.meta import PODS
    from rayfleet.kube.errors import NotFound, Unreachable

    if before.told:
        return before
    try:
        found = {**await client.get(wanted.kind, wanted.name, wanted.namespace), "kind": wanted.kind.kind}
        cluster = cluster_of(found)
        pods = await client.list(PODS, wanted.namespace, labels=f"{CLUSTER}={cluster}") if cluster else []
        return of_object(found, pods, since)
    except NotFound:
        return missing(wanted.kind.kind, wanted.name, hopeless=not wanted.made_later)
    except Unreachable as error:
        return Standing(title(wanted.kind.kind, wanted.name), "unknown", "-", "-", error.message)


@contextmanager
def display() -> Iterator[Callable[[list[Standing]], None]]:
    """A function that shows standings: redrawn in place on a terminal, one line for each change elsewhere."""
    if not sys.stdout.isatty():
        told: set[str] = set()

        def tell(standings: list[Standing]) -> None:
            for each in standings:
                if each.line not in told:
                    told.add(each.line)
                    click.echo(each.line)

        yield tell
        return
    from rich.live import Live

    with Live(refresh_per_second=8) as live:
        yield lambda standings: live.update(drawn(standings), refresh=True)


def drawn(standings: list[Standing]) -> Any:
    from rich.table import Table

    table = Table("name", "state", "head", "workers", "waiting for")
    for each in standings:
        colour = "green" if each.ready else "red" if each.hopeless else "yellow"
        table.add_row(each.name, f"[{colour}]{each.state}[/]", each.head, each.workers, each.note)
    return table


async def login_of(client: Client, namespace: str, name: str) -> str:
    """How to get the token that the dashboard asks for; "" where it asks for none."""
    from rayfleet.cli.token import place_of

    if await place_of(client, namespace, name) is None:
        return ""
    return f"   (log in with the token that this prints: rayfleet token {name}{place_words(client, namespace)})"


def place_words(client: Client, namespace: str) -> str:
    """The flag that a command needs for objects of that namespace."""
    return "" if namespace == client.connection.namespace else f" -n {namespace}"


async def address_in(state: State, namespace: str, name: str) -> str | None:
    """The dashboard's address; the door opens a port a moment after the Service appears."""
    for _ in range(20):
        if address := address_of(state, {"metadata": {"namespace": namespace, "name": name}}):
            return address
        await asyncio.sleep(0.1)
    return None
