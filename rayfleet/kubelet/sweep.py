"""Ends and removes Pods without an API: what a kubelet finds that nobody knows any more, and all of a fleet that goes down."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rayfleet.kubelet.attempt import Attempt
from rayfleet.kubelet.kept_logs import keep
from rayfleet.kubelet.network import NetworkError, tool
from rayfleet.kubelet.network import run as run_command
from rayfleet.kubelet.sandbox import Identity, Sandbox, read_identity, remove_directory


def leftovers(state: Path) -> list[tuple[Path, Identity | None]]:
    """The Pod directories of a state directory, with whose they are."""
    folder = state / "pods"
    return [(path, read_identity(path)) for path in sorted(folder.iterdir())] if folder.is_dir() else []


async def remove_pod(directory: Path, kept_logs: Path) -> None:
    """Ends the Pod's processes and removes its directory; its logs are kept."""
    await end_pod(directory)
    await asyncio.to_thread(keep, directory, kept_logs)
    await asyncio.to_thread(remove_directory, directory)


async def end_pod(directory: Path) -> None:
    """Ends the Pod's processes, by its shim's socket, and removes its link. What they have written stays."""
    identity = read_identity(directory)
    nobody = Identity("", "", directory.name, "", "")
    sandbox = Sandbox(directory, identity or nobody, ignore_end, ignore, ignore)
    if await sandbox.connect():
        await sandbox.destroy()
    if identity is not None:
        try:
            await run_command(tool("ip"), "link", "del", identity.link)
        except NetworkError:  # gone with its namespace, or never made
            pass


async def sweep(state: Path) -> int:
    """Removes every Pod of a state directory, from inside the fleet's network namespace. Returns how many there were.

    For `down`: when the fleet's first process ends, the kernel ends all of this too; files are left to this function then.
    """
    found = leftovers(state)
    await asyncio.gather(*(remove_pod(directory, state / "logs") for directory, _ in found))
    return len(found)


def ignore_end(attempt: Attempt) -> None:
    pass


def ignore() -> None:
    pass
