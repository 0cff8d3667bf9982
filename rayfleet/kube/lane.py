"""HTTP connections that are used again, until a new client certificate makes them strangers to the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp


class Lane:
    """A session that is made on first use, with at most `limit` connections (0: any number)."""

    def __init__(self, make: Callable[[int], aiohttp.ClientSession], limit: int) -> None:
        self._make = make
        self._limit = limit
        self._certificate = 0
        self._current: aiohttp.ClientSession | None = None
        self._busy: dict[aiohttp.ClientSession, int] = {}

    @asynccontextmanager
    async def session(self) -> AsyncIterator[aiohttp.ClientSession]:
        """The present one; one that was replaced is closed when the last request in it has ended."""
        if self._current is None:
            self._current = self._make(self._limit)
        session = self._current
        self._busy[session] = self._busy.get(session, 0) + 1
        try:
            yield session
        finally:
            self._busy[session] -= 1
            if not self._busy[session]:
                del self._busy[session]
                if session is not self._current:
                    await session.close()

    async def renew(self, certificate: int) -> None:
        """Begin anew if that is another certificate than the last one."""
        if certificate == self._certificate:
            return
        self._certificate = certificate
        old, self._current = self._current, None
        if old is not None and old not in self._busy:
            await old.close()

    async def close(self) -> None:
        """Also what is still in use: streams that are read end with an error."""
        sessions = {*self._busy, *([self._current] if self._current else [])}
        self._current = None
        for session in sessions:
            await session.close()
