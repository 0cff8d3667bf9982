"""The files of a container that outlive every process: one record an attempt, and its log in the runtimes' usual form.

`containers/NAME/ATTEMPT.json` is replaced as a whole, so that a reader never sees half of one. A log line is
`TIME stdout F TEXT` (P instead of F: the line goes on), as container runtimes write them for kubelets. A log that has grown to its limit
goes on in a new file; the full one is kept as `ATTEMPT.log.NUMBER`, the newest with the highest number.
"""

# os instead of pathlib, which would make each Pod's shim a tenth larger.
# ruff: noqa: PTH103, PTH105, PTH108, PTH123
from __future__ import annotations

import contextlib
import json
import os
import time
from typing import Any

LONGEST_LINE = 16 * 1024  # bytes; a longer one is cut into parts, as the runtimes do
LOG_LIMIT = 10 * 1024 * 1024  # bytes; a kubelet's containerLogMaxSize
LOG_FILES = 5  # a kubelet's containerLogMaxFiles


def write(directory: str, record: dict[str, Any]) -> None:
    folder = f"{directory}/containers/{record['name']}"
    os.makedirs(folder, exist_ok=True)
    draft = f"{folder}/.{record['attempt']}.draft"
    with open(draft, "w") as file:
        json.dump(record, file)
    os.replace(draft, f"{folder}/{record['attempt']}.json")


def stamp(nanoseconds: int) -> bytes:
    """RFC 3339 with nanoseconds, UTC."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % rest


class Log:
    """Takes a container's output in pieces and appends whole, stamped lines to its log file."""

    def __init__(self, path: str, limit: int = LOG_LIMIT) -> None:
        self.path, self.limit = path, limit
        self.full = 0  # files that have been filled
        self.open()
        self.rest = b""

    def open(self) -> None:
        self.file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        self.size = 0

    def feed(self, piece: bytes) -> None:
        lines = (self.rest + piece).split(b"\n")
        self.rest = lines.pop()
        prefix = stamp(time.time_ns()) + b" stdout "
        out = [part for line in lines for part in parts(prefix, line, b"F")]
        if len(self.rest) >= LONGEST_LINE:
            out += parts(prefix, self.rest, b"P")
            self.rest = b""
        self.append(b"".join(out))

    def close(self) -> None:
        """Writes what came without a line end, too."""
        if self.rest:
            self.append(b"".join(parts(stamp(time.time_ns()) + b" stdout ", self.rest, b"P")))
        os.close(self.file)

    def append(self, lines: bytes) -> None:
        """What does not fit on the disk is lost; the container goes on."""
        with contextlib.suppress(OSError):
            if self.size and self.size + len(lines) > self.limit:
                self.turn_over()
            while lines:
                written = os.write(self.file, lines)
                self.size += written
                lines = lines[written:]

    def turn_over(self) -> None:
        os.replace(self.path, f"{self.path}.{self.full:06}")
        os.close(self.file)
        self.open()
        if self.full >= LOG_FILES - 1:
            os.unlink(f"{self.path}.{self.full - LOG_FILES + 1:06}")
        self.full += 1


def parts(prefix: bytes, line: bytes, last: bytes) -> list[bytes]:
    pieces = [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)] or [b""]
    return [prefix + (last if at == len(pieces) - 1 else b"P") + b" " + piece + b"\n" for at, piece in enumerate(pieces)]
