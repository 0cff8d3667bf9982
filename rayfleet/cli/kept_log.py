"""Logs of a local fleet's Pods that are gone: its kubelet keeps them on this machine, so no API is asked for them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.output import columns

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.kubelet.kept_logs import Kept
    from rayfleet.local.state import State

SHORTEST = 8  # letters of a UID


def is_of(state: State, client: Client) -> bool:
    """Does the client speak to this very fleet?"""
    from rayfleet.cli.dashboard import api_port

    return state.ports.exists() and f"//127.0.0.1:{api_port(state)}" in client.connection.server


def kept_of(state: State, namespace: str, word: str = "") -> list[Kept]:
    """Of the Pods of that name, or of that UID or its beginning; of all when nothing is said. Who ended first comes first."""
    from rayfleet.kubelet.kept_logs import listed

    def meant(kept: Kept) -> bool:
        by_uid = len(word) >= SHORTEST and kept.pod.uid.startswith(word)
        return not word or by_uid or (kept.pod.namespace, kept.pod.name) == (namespace, word)

    return list(filter(meant, listed(state.kept_logs)))


def show_kept(state: State) -> None:
    rows: list[list[Any]] = []
    for kept in kept_of(state, ""):
        for name, history in sorted(kept.histories().items()):
            how = history[-1].exit_code
            ended = datetime.fromtimestamp(kept.ended_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            rows.append([kept.pod.namespace, kept.pod.name, kept.pod.uid, ended, name, len(history), "" if how is None else how])
    if not rows:
        click.echo(f"No log of a Pod that is gone is kept in {state.kept_logs}.")
        return
    click.echo(columns(["namespace", "pod", "uid", "ended", "container", "lives", "exit code"], rows))


async def print_kept(state: State, namespace: str, word: str, container: str | None, *, back: int, tail: int | None) -> bool:
    """The log of a life of the container: the last one that is kept with `back` 0, the one before with 1. Whether there is one.

    Raises Failure when it must be said which container is meant.
    """
    import sys

    from rayfleet.kubelet.logs import Wanted, read

    lives: list[tuple[Kept, Path]] = []
    for kept in kept_of(state, namespace, word):
        lives += [(kept, path) for path in kept.logs(container or the_one(kept))]
    if len(lives) <= back:
        return False
    kept, path = lives[-1 - back]
    ended = datetime.fromtimestamp(kept.ended_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    click.echo(f"Pod {kept.pod.name} ({kept.pod.uid}) is gone since {ended}; this was kept of container {path.parent.name}:", err=True)
    async for piece in read(path, Wanted(tail_lines=tail), lambda: True):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    return True


def the_one(kept: Kept) -> str:
    """Init containers are not meant unless they are named."""
    names = sorted(name for name, history in kept.histories().items() if not history[-1].init)
    if len(names) > 1:
        raise Failure(f"Pod {kept.pod.name} had the containers {', '.join(names)}; say with -c which one is meant")
    return names[0] if names else ""
