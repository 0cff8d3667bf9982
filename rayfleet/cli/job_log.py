"""The log of a Ray job as it grows, each part once, however often the connection breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rayfleet.cli.dashboard import Dashboard


class Log:
    """Every connection tells the log from its beginning; `write(text)` gets what it has not got yet."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._written = self._position = 0

    def begin(self) -> None:
        """Another connection."""
        self._position = 0

    def add(self, text: str) -> None:
        news = text[max(self._written - self._position, 0) :]
        self._position += len(text)
        self._written = max(self._written, self._position)
        if news:
            self._write(news)


async def tail(dashboard: Dashboard, path: str, log: Log) -> None:
    """Until the job has ended or the connection breaks; `path` is the job's. Raises ApiError, ClientError or OSError."""
    import aiohttp

    log.begin()
    async with dashboard.websocket(f"{path}/logs/tail") as socket:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                log.add(message.data)


async def whole(dashboard: Dashboard, path: str) -> str:
    """All there is at present. Raises OSError when Ray does not give it."""
    status, content = await dashboard.ask("GET", f"{path}/logs")
    if status != 200:
        raise OSError(f"Ray answered {status}: {content[:300].decode(errors='replace')}")
    return str(json.loads(content)["logs"])


def last_lines(text: str, number: int | None) -> str:
    """The last so many; all when None."""
    lines = text.splitlines(keepends=True)
    return text if number is None else "".join(lines[max(len(lines) - number, 0) :])
