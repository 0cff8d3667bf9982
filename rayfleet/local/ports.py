"""Ports on the host's loopback: who had which, so that a bookmark or a kubeconfig goes on working after a restart."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections.abc import Awaitable, Callable, Iterator

from rayfleet.local.state import State

LOOPBACK = "127.0.0.1"
FIRST = {"api": 16443, "dashboard": 8265, "serve": 18000}  # not 8000, which whoever develops needs for himself
TRIES = 200
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Ports:
    """The remembered ports. A name is `api`, or `dashboard/NAMESPACE/SERVICE` or `serve/NAMESPACE/SERVICE`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.given: dict[str, int] = json.loads(state.ports.read_text()) if state.ports.exists() else {}

    async def listen(self, name: str, handler: Handler) -> tuple[asyncio.Server, int]:
        """A listening server on the port that `name` had before, or else on the next free one, which is remembered.

        Raises OSError when no port can be had.
        """
        for port in self._candidates(name):
            try:
                server = await asyncio.start_server(handler, LOOPBACK, port, family=socket.AF_INET)
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
                continue
            self._remember(name, port)
            return server, port
        raise OSError(errno.EADDRINUSE, f"no free port for {name} on {LOOPBACK} from {first(name)} on")

    def forget(self, name: str) -> None:
        if self.given.pop(name, None) is not None:
            self._save()

    def keep_only(self, names: set[str]) -> None:
        """Forget those of Services that went while no door was there."""
        for name in [name for name in self.given if "/" in name and name not in names]:
            self.forget(name)

    def _candidates(self, name: str) -> Iterator[int]:
        if name in self.given:
            yield self.given[name]
        taken = set(self.given.values())
        yield from (port for port in range(first(name), first(name) + TRIES) if port not in taken)

    def _remember(self, name: str, port: int) -> None:
        if self.given.get(name) != port:
            self.given[name] = port
            self._save()

    def _save(self) -> None:
        self._state.write(self._state.ports, json.dumps(self.given, indent=1, sort_keys=True) + "\n")


def first(name: str) -> int:
    return FIRST[name.partition("/")[0]]
