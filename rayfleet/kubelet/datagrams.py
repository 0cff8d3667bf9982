"""UDP to a Service: each caller has one Pod for as long as it goes on, and its answers come from the address that it called."""

from __future__ import annotations

import asyncio
import itertools
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rayfleet.kubelet.endpoints import Address

LARGEST = 65_535
SILENT = 120.0  # seconds without a word either way, after which a caller counts as a new one
MOST_CALLERS = 1024  # of one port; the one that was silent for longest is forgotten


@dataclass(slots=True)
class Conversation:
    """A socket of its own, so that the Pod's answers are known to be for this caller."""

    socket: socket.socket
    target: Address
    heard_at: float


class Datagrams(asyncio.DatagramProtocol):
    """One port. `targets(caller)` are those of the moment that are open to him, by his IP address."""

    def __init__(self, targets: Callable[[str], tuple[Address, ...]]) -> None:
        self.targets = targets
        self.conversations: dict[Any, Conversation] = {}  # by the caller's address, who spoke last at the end
        self.turns = itertools.count()
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.DatagramTransport = transport

    def close(self) -> None:
        for caller in list(self.conversations):
            self.forget(caller)
        self.transport.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        try:
            self.conversation(addr).socket.send(data)
        except OSError:  # nobody listens there now, or its queue is full: a datagram may be lost
            self.forget(addr)

    def conversation(self, caller: Any) -> Conversation:
        """Raises OSError when no Pod can be reached."""
        now, targets = time.monotonic(), self.targets(caller[0])
        known = self.conversations.pop(caller, None)
        if known and (known.target not in targets or now - known.heard_at > SILENT):
            self.end(known)
            known = None
        if known is None:
            self.tidy(now)
            known = self.begin(caller, targets)
        known.heard_at = now
        self.conversations[caller] = known
        return known

    def tidy(self, now: float) -> None:
        """Before another caller is added."""
        for caller, known in list(self.conversations.items()):
            if now - known.heard_at <= SILENT and len(self.conversations) < MOST_CALLERS:
                break
            self.forget(caller)

    def begin(self, caller: Any, targets: tuple[Address, ...]) -> Conversation:
        if not targets:
            raise ConnectionRefusedError
        target = targets[next(self.turns) % len(targets)]
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        near.setblocking(False)
        near.connect(target)
        self.loop.add_reader(near, self.answer, caller, near)
        return Conversation(near, target, 0.0)

    def answer(self, caller: Any, near: socket.socket) -> None:
        try:
            self.transport.sendto(near.recv(LARGEST), caller)
            self.conversations[caller].heard_at = time.monotonic()
        except BlockingIOError:
            pass
        except OSError:  # the Pod says that nobody listens
            self.forget(caller)

    def forget(self, caller: Any) -> None:
        if known := self.conversations.pop(caller, None):
            self.end(known)

    def end(self, conversation: Conversation) -> None:
        self.loop.remove_reader(conversation.socket)
        conversation.socket.close()


async def listen(address: Address, targets: Callable[[str], tuple[Address, ...]]) -> Datagrams:
    """Raises OSError when the port is taken."""
    _, found = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Datagrams(targets), local_addr=address, reuse_port=True)
    return found
