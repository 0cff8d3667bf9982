"""Logs of Pods that are gone: the newest, of all of them together so many bytes.

A directory for each Pod, `TIME.UID`, with `pod.json` that says whose it was, and logs and records of its containers as they were.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rayfleet.kubelet.attempt import History, read_histories
from rayfleet.kubelet.sandbox import Identity, read_identity, remove_directory

log = logging.getLogger(__name__)
ALONE = threading.Lock()  # Pods end at the same time
MOST_BYTES = 256 * 1024 * 1024
MOST_PODS = 500


class Kept(msgspec.Struct, frozen=True):
    """`ended_at` is in seconds since 1970; None for a Pod that is not gone."""

    path: Path
    pod: Identity
    ended_at: float | None

    def histories(self) -> dict[str, History]:
        return read_histories(self.path)

    def logs(self, container: str) -> list[Path]:
        """The newest file of each life of a container, the oldest life first."""
        return sorted(self.path.glob(f"containers/{container}/*.log"), key=lambda path: int(path.stem))


def keep(directory: Path, folder: Path) -> None:
    """Moves the logs of a Pod, whose directory this is, into the folder of logs that are kept, and removes the oldest there. What hinders
    it is told and hinders nobody else: the Pod must go, also when the disk is full."""
    try:
        with ALONE:
            move(directory, folder)
            trim(folder)
    except OSError as error:
        log.warning("the logs in %s could not be kept: %s", directory, error)


def move(directory: Path, folder: Path) -> None:
    pod = read_identity(directory)
    logs = [path for path in directory.glob("containers/*/*.log*") if path.stat().st_size]
    if pod is None or not logs:
        return
    target = folder / f"{time.time():.3f}.{pod.uid}"
    for file in (*logs, *directory.glob("containers/*/*.json")):
        place = target / file.relative_to(directory)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(file, place)
    (target / "pod.json").write_bytes(msgspec.json.encode(pod))  # last: without it nobody looks at the rest


def trim(folder: Path, most_bytes: int = MOST_BYTES, most_pods: int = MOST_PODS) -> None:
    """What was kept for longest goes first; the newest stays, however large it is."""
    left = 0
    for number, path in enumerate(reversed(directories(folder))):
        left += sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        if number and (left > most_bytes or number >= most_pods):
            remove_directory(path)


def listed(folder: Path) -> Iterator[Kept]:
    """Who ended first comes first."""
    for path in directories(folder):
        pod = read_identity(path)
        if pod is not None:
            yield Kept(path, pod, float(path.name.rpartition(".")[0]))


def present(pods: Path) -> Iterator[Kept]:
    """Of Pods that are not gone, though nobody may see to them now: their node is stopped."""
    for path in directories(pods):
        pod = read_identity(path)
        if pod is not None:
            yield Kept(path, pod, None)


def directories(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
