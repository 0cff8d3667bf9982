"""What the operator did for one object, and why: its Events, and, in a local fleet, the operator's own log lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from pathlib import Path

    from rayfleet.api.meta import Resource
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

STEP = 0.5
RESIZE, SIZER = "Resize", "rayfleet.autoscaling"


class Line(NamedTuple):
    """One thing that happened; lines sort by time."""

    time: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.time}  {self.kind:<8}  {self.text}"


async def print_story(
    client: Client, state: State, kind: Resource, namespace: str, name: str, *, follow: bool, tail: int | None, sizes: bool = False
) -> None:
    """Oldest first; with `sizes` only what was done about a cluster's size. With `follow` until interrupted.

    Raises NotFound for an object of which nothing is known."""
    from rayfleet.kube.errors import NotFound

    log = state.log("operator")
    lines = await story_of(client, log, namespace, name, sizes, kind.kind)
    if not lines:
        await client.get(kind, name, namespace)
        click.echo(f"Nothing was done for {kind.kind.lower()}/{name} yet, or it is longer ago than Events are kept.", err=True)
    for line in lines[-tail:] if tail else lines:
        click.echo(str(line))
    told = set(lines)
    while follow:
        await asyncio.sleep(STEP)
        try:
            lines = await story_of(client, log, namespace, name, sizes, kind.kind)
        except NotFound:
            continue
        for line in lines:
            if line not in told:
                click.echo(str(line))
        told.update(lines)


async def story_of(client: Client, log: Path, namespace: str, name: str, sizes: bool = False, kind: str = "RayCluster") -> list[Line]:
    from rayfleet.api.meta import EVENTS

    events = await client.list(EVENTS, namespace)
    mine = [event for event in events if about(event) == (kind, name) and (not sizes or event.get("action") == RESIZE)]
    return sorted({*map(told_by_event, mine), *told_by_log(log, f"{namespace}/{name}", SIZER if sizes else "")})


def about(event: dict[str, Any]) -> tuple[str, str]:
    regarding = event.get("regarding") or {}
    return regarding.get("kind", ""), regarding.get("name", "")


def told_by_event(event: dict[str, Any]) -> Line:
    """An Event as a line; a series says how often."""
    series = event.get("series") or {}
    time = series.get("lastObservedTime") or event.get("eventTime") or event.get("deprecatedLastTimestamp")
    count = series.get("count") or event.get("deprecatedCount") or 1
    often = f" (x{count})" if count > 1 else ""
    told = f"{event.get('reason', '')}: {event.get('note', '')}{often}"
    return Line(second(time or event["metadata"]["creationTimestamp"]), event.get("type", ""), told)


def told_by_log(log: Path, key: str, logger: str = "") -> Iterator[Line]:
    """The operator's log lines about one object, of all its parts or of one. There is no file where the operator runs elsewhere."""
    import json

    if not log.exists():
        return
    with log.open(errors="replace") as lines:
        for text in lines:
            if key not in text:
                continue
            try:
                entry = json.loads(text)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("object") == key and str(entry.get("logger", "")).startswith(logger):
                yield Line(second(str(entry.get("time", ""))), "operator", str(entry.get("message", "")))


def readable(text: str) -> str:
    """One line of the operator's log, for a person."""
    import json

    try:
        entry = json.loads(text)
        return str(Line(second(entry["time"]), entry.get("level", ""), " ".join(filter(None, (entry.get("object"), entry["message"])))))
    except (ValueError, KeyError, TypeError):
        return text.rstrip("\n")


def second(time: str) -> str:
    """A timestamp without its fraction, so that both sources read alike."""
    return time[:19].replace("T", " ")
