"""Reads a container's log: the lines that were asked for, in the form that was asked for, and what comes after.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile
from pathlib import Path

LOOKED_EVERY = 0.2  # seconds between two looks at a log that is followed
PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Wanted:
    follow: bool = False
    tail_lines: int | None = None
    since: float | None = None  # seconds since 1970
    timestamps: bool = False
    limit_bytes: int | None = None


def render(line: bytes, wanted: Wanted) -> bytes:
    """One stored line (`TIME stdout F TEXT\\n`) as the caller wants it; b"" when it is older than that."""
    stamp, _, rest = line.partition(b" ")
    _, _, rest = rest.partition(b" ")
    flag, _, text = rest.partition(b" ")
    if wanted.since is not None and seconds(stamp) < wanted.since:
        return b""
    if flag == b"P":
        text = text.removesuffix(b"\n")
    return stamp + b" " + text if wanted.timestamps else text


def seconds(stamp: bytes) -> float:
    whole, _, fraction = stamp.decode().rstrip("Z").partition(".")
    return datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp() + float(f"0.{fraction or 0}")


def files(path: Path) -> list[Path]:
    """What is kept of a log, the oldest first."""
    return [*sorted(path.parent.glob(path.name + ".*")), path]


def beginning(path: Path, lines: int | None) -> tuple[Path, int]:
    """(file, offset) from which the last so many lines, or all, are read."""
    *older, newest = files(path)
    if lines is None:
        return (*older, newest)[0], 0
    for file in (newest, *reversed(older)):
        offset = tail_offset(file, lines)
        if offset or file == (*older, newest)[0]:
            return file, offset
        lines -= file.read_bytes().count(b"\n")
    return newest, 0


def following(path: Path, inode: int) -> Path | None:
    """The file that goes on after the one with this inode; None: that is the newest, or its successor is about to be made."""
    kept: list[tuple[int, Path]] = []
    for file in files(path):
        with suppress(FileNotFoundError):
            kept.append((file.stat().st_ino, file))
    newer = list(dropwhile(lambda each: each[0] != inode, kept))
    if not newer:
        return kept[0][1] if kept else None  # it was thrown away meanwhile: the reader was slow
    return newer[1][1] if len(newer) > 1 else None


def tail_offset(path: Path, lines: int) -> int:
    """Where the last so many lines begin."""
    with path.open("rb") as file:
        at = file.seek(0, 2)
        if lines == 0:
            return at
        breaks: list[int] = []
        while at > 0:
            start = max(0, at - PIECE)
            file.seek(start)
            piece = file.read(at - start)
            breaks = [start + index for index, byte in enumerate(piece) if byte == 0x0A] + breaks
            if len(breaks) > lines:
                return breaks[-lines - 1] + 1
            at = start
    return 0


def whole_lines(rest: bytes, piece: bytes) -> tuple[list[bytes], bytes]:
    *lines, rest = (rest + piece).split(b"\n")
    return [line + b"\n" for line in lines], rest


async def read(path: Path, wanted: Wanted, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """The log in pieces. When followed, it ends once `ended()` says that nothing more will come."""
    left = wanted.limit_bytes
    rest = b""
    start, offset = beginning(path, wanted.tail_lines)
    file = start.open("rb")
    try:
        file.seek(offset)
        while True:
            # Both asked before reading: what was written before the end, or before the file was full, is then read for certain.
            over, newer = ended(), following(path, os.fstat(file.fileno()).st_ino)
            piece = file.read(PIECE)
            lines, rest = whole_lines(rest, piece)
            out = b"".join(render(line, wanted) for line in lines)
            if left is not None:
                out = out[:left]
                left -= len(out)
            if out:
                yield out
            if left == 0 or (not piece and not newer and (over or not wanted.follow)):
                return
            if newer and not piece:
                file.close()
                file = newer.open("rb")
            elif not piece:
                await asyncio.sleep(LOOKED_EVERY)
    finally:
        file.close()
