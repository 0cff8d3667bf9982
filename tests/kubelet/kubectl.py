"""The real kubectl: at a terminal, with files as its streams, or going on beside a test."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.build import binary
from tests.local.waiting import eventually


class Screen:
    """The other side of a terminal at which a program sits."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self.master, self.process = master, process
        self.said = b""
        os.set_blocking(master, False)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def shown(self) -> str:
        """All that was ever shown."""
        try:
            while piece := os.read(self.master, 65536):
                self.said += piece
        except OSError:
            pass
        return self.said.decode(errors="replace")

    def end(self) -> int:
        return eventually(lambda: self.shown() and self.process.poll(), 20.0, "it has ended")


class Kubectl:
    """`home` is where it caches what a server serves."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self.kubeconfig, self.home = kubeconfig, home

    def kubectl(self, *words: str, text: str = "", code: int | None = 0) -> str:
        """Standard output; with another code than 0 what it complains of. None: any code."""
        done = subprocess.run(self.argv(*words), input=text, capture_output=True, text=True, env=self.environ(), timeout=400, check=False)
        assert code is None or done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.told()}"
        return done.stderr if code else done.stdout

    def told(self) -> str:
        """What else is of use to who looks into a failure."""
        return ""

    def popen(self, *words: str) -> subprocess.Popen[str]:
        """A kubectl that goes on."""
        pipe = subprocess.PIPE
        return subprocess.Popen(self.argv(*words), env=self.environ(), text=True, stdin=pipe, stdout=pipe, stderr=pipe)

    def argv(self, *words: str) -> list[str]:
        return [str(binary()), "kubectl", *words]

    def environ(self) -> dict[str, str]:
        return {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home), "PATH": "/usr/bin:/bin", "TERM": "xterm"}

    @contextmanager
    def forwarding(self, what: str, port: int) -> Iterator[int]:
        """The local port from which a kubectl forwards to that port of a Pod."""
        with self.popen("port-forward", what, f":{port}") as forwarding:
            assert forwarding.stdout is not None
            try:
                yield int(forwarding.stdout.readline().split(" -> ")[0].rpartition(":")[2])
            finally:
                forwarding.kill()

    @contextmanager
    def terminal(self, *words: str) -> Iterator[Screen]:
        """A kubectl at a terminal of its own."""
        master, slave = os.openpty()
        process = subprocess.Popen(self.argv(*words), env=self.environ(), stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        screen = Screen(master, process)
        try:
            yield screen
        finally:
            process.kill()
            process.wait()
            os.close(master)
