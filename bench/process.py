"""What a process costs, read from /proc: CPU seconds and resident memory, of it and its children."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


class Process:
    """A child process with its log; `stop` ends it whatever happens."""

    def __init__(self, name: str, command: list[str], log: Path, environ: dict[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        self.peak = 0.0
        with log.open("ab") as output:
            self.popen = subprocess.Popen(command, stdout=output, stderr=output, env=environ, start_new_session=True)

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def tree(self) -> list[int]:
        """The process and all that it started, while it lives."""
        found, todo = [], [self.popen.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            try:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            except OSError:
                continue
            todo += [int(child) for child in children]
        return found

    def cpu(self) -> float:
        """CPU seconds so far, user and system."""
        return sum(cpu_of(pid) for pid in self.tree())

    def sample(self) -> float:
        """Resident memory now, in MB; the peak is kept."""
        now = sum(memory_of(pid) for pid in self.tree())
        self.peak = max(self.peak, now)
        return now

    def kill(self) -> None:
        """As a crash does it: SIGKILL to the whole group."""
        os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def stop(self) -> None:
        if not self.alive:
            return
        os.killpg(self.popen.pid, signal.SIGTERM)
        try:
            self.popen.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()


def cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_of(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
