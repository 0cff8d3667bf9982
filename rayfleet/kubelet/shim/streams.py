"""The three standard streams of a program, of which the far ends go to whoever asked for it.

Pipes are made before the fork. A terminal is made by the child, when it is inside the container already: its name must be one of the
container's own /dev/pts; the master's end comes back through a socket.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import termios

NOTHING = -1


class Streams:
    """`merged`: what goes to standard error comes out of standard output. A terminal always merges, and always has an input."""

    def __init__(self, *, stdin: bool = False, tty: bool = False, merged: bool = True) -> None:
        self.tty = tty
        self.near = self.far = [NOTHING, NOTHING, NOTHING]
        if tty:
            self.here, self.there = socket.socketpair()
            return
        read, write = os.pipe2(os.O_CLOEXEC) if stdin else (os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), NOTHING)
        output, output_end = os.pipe2(os.O_CLOEXEC)
        error, error_end = (NOTHING, output_end) if merged else os.pipe2(os.O_CLOEXEC)
        self.near, self.far = [read, output_end, error_end], [write, output, error]

    def take(self) -> None:
        """In the child, which leads a session of its own: makes them its own."""
        near = self.near
        if self.tty:
            master, slave = os.openpty()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            send(self.there, b"t", [master])
            near = [slave, slave, slave]
        for number, fd in enumerate(near):
            os.dup2(fd, number)

    def keep(self) -> list[int]:
        """In the parent, once the program runs: the far ends of input, output and error; NOTHING for one that there is not."""
        self.let_go()
        if self.tty:
            master = receive(self.here)
            self.here.close()
            self.far = [os.dup(master), master, NOTHING]
        return self.far

    def drop(self) -> None:
        """In the parent, when the program could not be started."""
        self.let_go()
        if self.tty:
            self.here.close()
        close(self.far)

    def let_go(self) -> None:
        if self.tty:
            self.there.close()
        close(self.near)


def close(descriptors: list[int]) -> None:
    for fd in set(descriptors) - {NOTHING}:
        os.close(fd)


def send(connection: socket.socket, line: bytes, descriptors: list[int]) -> None:
    """Bytes, of which the first carries copies of the descriptors."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    sent = connection.sendmsg([line], [rights])
    connection.sendall(line[sent:])


def receive(connection: socket.socket) -> int:
    """The one descriptor that came; OSError when there is none."""
    _, notes, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            return array.array("i", data)[0]
    raise OSError("the terminal did not come")
