"""Which process: a pid alone is given away again, a pid with its start time and the machine's boot is not."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import msgspec


class Identity(msgspec.Struct, frozen=True):
    """One process of one boot of this machine, seen from the host."""

    pid: int
    start: int
    boot: str

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        return self.boot == boot() and started(self.pid) == self.start

    def signal(self, number: int) -> bool:
        """Send a signal to exactly this process; False when it is gone."""
        descriptor = self.descriptor()
        if descriptor is None:
            return False
        try:
            signal.pidfd_send_signal(descriptor, number)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)

    def wait(self, seconds: float) -> bool:
        """Whether it ended within `seconds`."""
        descriptor = self.descriptor()
        if descriptor is None:
            return True
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(int(seconds * 1000)))
        finally:
            os.close(descriptor)

    def descriptor(self) -> int | None:
        """A pidfd for it. The start time is read after the opening, so that a pid given away in between is seen."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        if self.alive:
            return descriptor
        os.close(descriptor)
        return None


def identify(pid: int) -> Identity | None:
    """The identity of a living process."""
    start = started(pid)
    return None if start is None else Identity(pid, start, boot())


def started(pid: int) -> int | None:
    """Start time in clock ticks since boot (proc(5), stat field 22); None for what does not run, or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def stop(identity: Identity, grace: float) -> None:
    """TERM, then KILL after `grace` seconds."""
    if identity.signal(signal.SIGTERM) and not identity.wait(grace):
        identity.signal(signal.SIGKILL)
        identity.wait(5.0)
