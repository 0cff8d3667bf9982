"""Wait until clusters are ready, and show on the way what each is waiting for: a table on a terminal, lines elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.dashboard import address_of

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

STEP = 0.25
Keys = list[tuple[str, str]]


@dataclass(frozen=True)
class Standing:
    """How one cluster stands, for a person."""

    name: str
    state: str
    head: str
    workers: str
    note: str
    hopeless: bool = False

    @property
    def ready(self) -> bool:
        return self.state == "ready"

    @property
    def line(self) -> str:
        return f"{self.name}: {self.state}, head {self.head}, workers {self.workers}" + (f" ({self.note})" if self.note else "")


async def wait_ready(client: Client, state: State, keys: Keys, patience: float) -> list[str]:
    """Until each is ready, or its spec is refused, or `patience` seconds have passed. Returns what failed, as sentences."""
    deadline = asyncio.get_running_loop().time() + patience
    standings: list[Standing] = []
    with display() as show:
        while keys:
            standings = await look(client, keys, since_of(state))
            show(standings)
            if all(each.ready or each.hopeless for each in standings) or asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(STEP)
    for (namespace, name), each in zip(keys, standings, strict=True):
        address = await address_in(state, namespace, name) if each.ready else None
        if address:
            login = await login_of(client, namespace, name)
            click.echo(f"Dashboard of {name}: {address}{login}")
    failures = [
        f"not ready: {each.line}" + f"; see why: rayfleet explain {name}{place_words(client, namespace)}" * (not each.hopeless)
        for (namespace, name), each in zip(keys, standings, strict=True)
        if not each.ready
    ]
    return failures + (dead_peers(state) if failures else [])


def dead_peers(state: State) -> list[str]:
    """A part of the fleet that does not stay alive is the likely cause of all that is not ready."""
    from rayfleet.cli.status import peers

    return [f"the {row['process']} is dead; its log is {state.log(row['process'])}" for row in peers(state) if row["state"] == "dead"]


def since_of(state: State) -> str:
    """When the fleet was started; "" where there is none."""
    return state.started.read_text() if state.started.exists() else ""


async def look(client: Client, keys: Keys, since: str) -> list[Standing]:
    """How each cluster stands now; an API server that is away for a moment is waited for."""
    from rayfleet.api.meta import PODS, RAYCLUSTERS
    from rayfleet.kube.errors import NotFound, Unreachable

    found = []
    for namespace, name in keys:
        try:
            cluster = await client.get(RAYCLUSTERS, name, namespace)
            pods = await client.list(PODS, namespace, labels=f"ray.io/cluster={name}")
            found.append(standing(cluster, pods, since))
        except NotFound:
            found.append(Standing(name, "not there", "-", "-", "", hopeless=True))
        except Unreachable as error:
            found.append(Standing(name, "unknown", "-", "-", error.message))
    return found


def standing(cluster: dict[str, Any], pods: list[dict[str, Any]], since: str = "") -> Standing:
    """Pure. Ready means: the operator has seen this spec, the head is ready and so is every worker that the spec asks for.

    Containers that began before `since` (RFC 3339) are of a fleet that is no more; what is said of them is not true yet.
    """
    status = cluster.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    wanted = status.get("desiredWorkerReplicas") or 0
    ready = status.get("readyWorkerReplicas") or 0
    seen = status.get("observedGeneration") == cluster["metadata"].get("generation")
    head = conditions.get("HeadPodReady", {}).get("status") == "True"
    done = seen and head and ready >= wanted and status.get("state") == "ready" and all(begun >= since for begun in beginnings(pods))
    invalid = conditions.get("Valid", {}).get("status") == "False" and seen
    note = conditions["Valid"].get("message", "") if invalid else "" if done else waiting_for(pods)
    state = "ready" if done else "refused" if invalid else "starting"
    return Standing(cluster["metadata"]["name"], state, "ready" if head else "starting", f"{ready}/{wanted}", note, hopeless=invalid)


def beginnings(pods: list[dict[str, Any]]) -> Iterator[str]:
    """When each container began, as RFC 3339; "" for one that does not run."""
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            yield ((container.get("state") or {}).get("running") or {}).get("startedAt") or ""


def waiting_for(pods: list[dict[str, Any]]) -> str:
    """Why a Pod does not run, in the kubelet's words; "" when none says so."""
    for pod in sorted(pods, key=lambda each: each["metadata"]["name"]):
        status = pod.get("status") or {}
        for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
            waiting = (container.get("state") or {}).get("waiting") or {}
            if waiting.get("message"):
                return f"{pod['metadata']['name']}: {waiting.get('reason')}: {waiting['message']}"
    return ""


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

    table = Table("cluster", "state", "head", "workers", "waiting for")
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
