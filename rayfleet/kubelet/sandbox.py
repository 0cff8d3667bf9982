"""A Pod's directory and the shim that lives in it: launched, found again by a later kubelet, asked, destroyed."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import shutil
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import rayfleet
from rayfleet.kubelet.attempt import Attempt

log = logging.getLogger(__name__)
LAUNCH = "import sys; sys.path.insert(0, sys.argv[1]); from rayfleet.kubelet.shim.launch import launch; launch(sys.argv[2])"
LONGEST_LINE = 1 << 20  # bytes of one answer of the shim
ANSWERS_IN = 30.0  # seconds; a shim that takes longer hangs
HANGS_AFTER = 30.0  # seconds; who is still there then waits for a disk, or a debugger
COMPLETE = "complete"
SUBDIRECTORIES = ("root", "shm", "volumes", "containers")


class SandboxError(Exception):
    """The shim could not be started or does not answer; the text is its own where it said something."""


class Identity(msgspec.Struct, frozen=True):
    """`pod.json`: all that is needed to clean up after a Pod that nobody else remembers."""

    namespace: str
    name: str
    uid: str
    address: str
    link: str


class Sandbox:
    """`on_end(attempt)` hears of each container's end, `on_loss()` when the shim is gone, `on_return()` when it was heard again after a
    break in which ends may have been missed."""

    def __init__(
        self,
        directory: Path,
        identity: Identity,
        on_end: Callable[[Attempt], None],
        on_loss: Callable[[], None],
        on_return: Callable[[], None],
    ) -> None:
        self.directory, self.identity = directory, identity
        self.on_end, self.on_loss, self.on_return = on_end, on_loss, on_return
        self.pid = 0  # of the shim, as this process sees it
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        return self._writer is not None

    @property
    def complete(self) -> bool:
        """Whether its network was made: a kubelet may die between the two."""
        return (self.directory / COMPLETE).exists()

    @complete.setter
    def complete(self, value: bool) -> None:
        if value:
            (self.directory / COMPLETE).touch()
        else:
            (self.directory / COMPLETE).unlink(missing_ok=True)

    def prepare(self, hostname: str, temporary: list[list[str]]) -> None:
        """Lays out the directory. `temporary`: [path, mount options] of each tmpfs that the Pod's containers share."""
        for name in SUBDIRECTORIES:
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        for path, _ in temporary:
            Path(path).mkdir(parents=True, exist_ok=True)
        (self.directory / "pod.json").write_bytes(msgspec.json.encode(self.identity))
        (self.directory / "sandbox.json").write_bytes(msgspec.json.encode({"hostname": hostname, "tmpfs": temporary}))

    async def launch(self) -> None:
        """Raises SandboxError."""
        self.complete = False
        home = str(Path(rayfleet.__file__).parent.parent)
        argv = [sys.executable, "-S", "-E", "-s", "-c", LAUNCH, home, str(self.directory)]
        with (self.directory / "shim.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=log, cwd="/", env={}
            )
        if await process.wait() != 0:
            said = (self.directory / "shim.log").read_text(errors="replace").strip().splitlines()
            raise SandboxError(f"the Pod's namespaces could not be made: {said[-1] if said else 'no reason given'}")
        if not await self.connect():
            raise SandboxError("the shim ended as soon as it had started")

    async def connect(self) -> bool:
        """Whether a shim lives in the directory."""
        connection = dial(self.directory)
        if connection is None:
            return False
        self.pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        reader, self._writer = await asyncio.open_unix_connection(sock=connection, limit=LONGEST_LINE)
        self._listening = asyncio.create_task(self._listen(reader))
        return True

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                message = msgspec.json.decode(line)
                if "ended" in message:
                    self.on_end(msgspec.convert(message["ended"], Attempt))
                elif (waiting := self._answers.pop(message["id"], None)) and not waiting.done():
                    waiting.set_result(message)
        except OSError:
            pass
        self.let_go()
        if await self.connect():  # it had only let go of us: we were too slow to read
            self.on_return()
        else:
            self.on_loss()

    def let_go(self) -> None:
        """Forgets the shim without ending it: what a kubelet does that ends."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(SandboxError("the Pod's sandbox is gone"))
        self._answers.clear()
        if self._listening is not None and self._listening is not asyncio.current_task():
            self._listening.cancel()

    async def ask(self, op: str, *, patience: float = ANSWERS_IN, **request: Any) -> dict[str, Any]:
        """Raises SandboxError when the shim refuses, is gone or does not answer in so many seconds."""
        if self._writer is None:
            raise SandboxError("the Pod's sandbox is gone")
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._writer.write(msgspec.json.encode({"id": number, "op": op, **request}) + b"\n")
        try:
            async with asyncio.timeout(patience):
                message = await answer
        except TimeoutError:
            raise SandboxError(f"the Pod's shim does not answer ({op})") from None
        finally:
            self._answers.pop(number, None)
        if "error" in message:
            raise SandboxError(message["error"])
        return message

    async def start(self, request: dict[str, Any]) -> Attempt:
        """Starts a container; one that cannot start is an attempt that has ended already."""
        return msgspec.convert((await self.ask("start", **request))["record"], Attempt)

    async def records(self) -> list[Attempt]:
        """Of the containers that run, and of those whose end could not be written down. Raises SandboxError."""
        return msgspec.convert((await self.ask("list"))["records"], list[Attempt])

    async def destroy(self) -> bool:
        """Ends every process of the Pod. The kernel takes the namespaces, mounts and links away. False: some still hang in the kernel."""
        ended = await end_process(self.pid) if self.alive else True
        self.let_go()
        return ended


async def end_process(pid: int) -> bool:
    """SIGKILL, and wait until the process, and with it its namespace, has ended (as a zombie it counts as ended); not for ever."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        async with asyncio.timeout(HANGS_AFTER):
            await ended.wait()
    except TimeoutError:
        log.warning("process %d, or one that it started, has not ended %g s after SIGKILL: it hangs in the kernel", pid, HANGS_AFTER)
        return False
    except ProcessLookupError:
        pass
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    return True


def dial(directory: Path) -> socket.socket | None:
    """A connection to the directory's shim; None when no shim listens."""
    try:
        folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"/proc/self/fd/{folder}/shim.sock")  # the way around the 107 bytes that a socket's path may have
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    finally:
        os.close(folder)
    connection.setblocking(False)
    return connection


def read_identity(directory: Path) -> Identity | None:
    """None when the directory was never finished or is damaged."""
    try:
        return msgspec.json.decode((directory / "pod.json").read_bytes(), type=Identity)
    except (OSError, msgspec.DecodeError):
        return None


def remove_directory(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
