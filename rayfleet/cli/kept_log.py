"""Logs of a local fleet's Pods that are gone, or whose node is stopped: they lie on this machine, so no API is asked for them."""

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


def kept_of(state: State, namespace: str, word: str, *, unseen: bool) -> list[Kept]:
    """Of the Pods of that name, or of that UID or its beginning; who ended first comes first. `unseen`: then Pods that are not gone."""
    from rayfleet.kubelet.kept_logs import listed, present

    def meant(kept: Kept) -> bool:
        by_uid = len(word) >= SHORTEST and kept.pod.uid.startswith(word)
        return by_uid or (kept.pod.namespace, kept.pod.name) == (namespace, word)

    return list(filter(meant, [*listed(state.kept_logs), *(present(state.pods / "pods") if unseen else ())]))


def show_kept(state: State) -> None:
    from rayfleet.kubelet.kept_logs import listed

    rows: list[list[Any]] = []
    for kept in listed(state.kept_logs):
        for name, history in sorted(kept.histories().items()):
            how = history[-1].exit_code
            rows.append([kept.pod.namespace, kept.pod.name, kept.pod.uid, ended(kept), name, len(history), "" if how is None else how])
    if not rows:
        click.echo(f"No log of a Pod that is gone is kept in {state.kept_logs}.")
        return
    click.echo(columns(["namespace", "pod", "uid", "ended", "container", "lives", "exit code"], rows))


async def print_kept(
    state: State, namespace: str, word: str, container: str | None, *, previous: bool, unseen: bool, tail: int | None
) -> bool:
    """The log of the container's last life that is kept; with `previous` of the one before, if that is kept. Whether there is one.

    Raises Failure when it must be said which container is meant.
    """
    import sys

    from rayfleet.kubelet.logs import Wanted, read

    lives: list[tuple[Kept, Path]] = []
    for kept in kept_of(state, namespace, word, unseen=unseen):
        lives += [(kept, path) for path in kept.logs(container or the_one(kept))]
    if not lives:
        return False
    kept, path = lives[-2:][0] if previous else lives[-1]
    gone = f"is gone since {ended(kept)}" if kept.ended_at else "is not gone, but nobody sees to it now"
    click.echo(f"Pod {kept.pod.name} ({kept.pod.uid}) {gone}; this was kept of container {path.parent.name}:", err=True)
    async for piece in read(path, Wanted(tail_lines=tail), lambda: True):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    return True


def ended(kept: Kept) -> str:
    return datetime.fromtimestamp(kept.ended_at or 0, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def the_one(kept: Kept) -> str:
    """Init containers are not meant unless they are named."""
    names = sorted(name for name, history in kept.histories().items() if not history[-1].init)
    if len(names) > 1:
        raise Failure(f"Pod {kept.pod.name} had the containers {', '.join(names)}; say with -c which one is meant")
    return names[0] if names else ""
