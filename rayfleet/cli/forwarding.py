"""Listening ports on this machine, each connection carried to the Pod that is the head at that moment."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Mapping

from rayfleet.cli.failure import Failure
from rayfleet.cli.heads import Heads
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Forbidden
from rayfleet.kube.port_forward import NobodyListens, carry
from rayfleet.resources.ports import DEFAULTS

LOOPBACK = "127.0.0.1"
TRIES = 200
HEAD_IN = 60.0  # seconds for which a connection waits for a head
WHY = {"serve": " (Serve begins with the first application)"}


class Forwarding:
    """`told` hears, in a sentence, why a connection came to nothing."""

    def __init__(self, client: Client, heads: Heads, told: Callable[[str], None]) -> None:
        self.client, self.heads, self.told = client, heads, told
        self.ports: dict[str, int] = {}
        self.servers: list[asyncio.Server] = []
        self.carrying: set[asyncio.Task[None]] = set()

    async def open(self, wanted: Mapping[str, int | None]) -> None:
        """A port for each name: the one that is wanted, or the first free one from Ray's own on. Raises Failure."""
        for name, port in wanted.items():
            server = await self.listen(name, port)
            self.servers.append(server)
            self.ports[name] = server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        for server in self.servers:
            server.close()
        for task in self.carrying:
            task.cancel()
        await asyncio.gather(*self.carrying, return_exceptions=True)

    async def listen(self, name: str, port: int | None) -> asyncio.Server:
        for number in [port] if port else range(DEFAULTS[name], DEFAULTS[name] + TRIES):
            try:
                return await asyncio.start_server(lambda *streams: self.begin(name, *streams), LOOPBACK, number, family=socket.AF_INET)
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
        raise Failure(f"port {port or DEFAULTS[name]} of this machine cannot be had; name another with --{name}-port")

    def begin(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self.carry(name, reader, writer))
        self.carrying.add(task)
        task.add_done_callback(self.carrying.discard)

    async def carry(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_IN) as patience:
                head = await self.heads.head()
                patience.reschedule(None)
                await carry(self.client, head.metadata.key, head.port(name), reader, writer)
            writer.close()
        except NobodyListens:
            self.told(f"{name}: nobody listens on port {head.port(name)} of {head.metadata.name}{WHY.get(name, '')}.")
        except Forbidden as error:
            self.told(f"{name}: {error.message}; who holds a session needs the right to create pods/portforward.")
        except ApiError as error:
            self.told(f"{name}: {error.message}; the next connection tries anew.")
        except (OSError, TimeoutError):
            pass  # who asked has gone, or there is no head, which was told
        finally:
            if not writer.is_closing():  # not a good end, and not to be taken for one
                writer.transport.abort()
