"""A `rayfleet session` that goes on beside a test."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Session:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)

    def hears(self, words: str) -> str:
        """The next line with these words in it."""
        while words not in (line := self.lines.get(timeout=300)):
            pass
        return line

    def port(self, name: str) -> int:
        return int(self.hears(f"  {name} ").rpartition(":")[2])


@contextmanager
def session(command: Sequence[str]) -> Iterator[Session]:
    # As in the background of a script, where the shell has SIGINT ignored.
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield Session(process)
    finally:
        process.kill()
        process.wait()
