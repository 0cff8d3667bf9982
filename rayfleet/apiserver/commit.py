"""Group commit: the writes of many requests share one transaction and one wait for the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rayfleet.apiserver.record import Change
from rayfleet.apiserver.status_error import StatusError
from rayfleet.apiserver.store import Store

log = logging.getLogger(__name__)


class Committer:
    """Commits what the store has staged, in a thread, while the loop prepares the next batch."""

    def __init__(self, store: Store, on_failure: Callable[[BaseException], None]) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._batch: asyncio.Task[None] | None = None
        self._on_failure = on_failure
        self._failure: BaseException | None = None

    async def settled(self) -> None:
        """Returns when everything staged so far is durable and published.

        Every answer, of a read too, waits for this: nobody ever sees a state that a crash could take back.
        Raises StatusError 500 when the disk refused something: memory is then ahead of it for ever.
        """
        wanted = self._store.version
        while self._store.published < wanted and self._failure is None:
            await asyncio.shield(self.start())
        if self._failure is not None:
            raise StatusError(500, "InternalError", f"the state file cannot be written: {self._failure}")

    def start(self) -> asyncio.Task[None]:
        if self._batch is None:
            self._batch = asyncio.get_running_loop().create_task(self._commit())
        return self._batch

    def on_stage(self, change: Change) -> None:
        """For writes that no request waits for."""
        self.start()

    async def _commit(self) -> None:
        journal = self._store.journal
        assert journal is not None, "an in-memory store publishes at once"
        try:
            changes, rows = self._store.take()
            if changes:
                journal.stage(rows, changes[-1].version)
                await asyncio.get_running_loop().run_in_executor(self._thread, journal.commit)
                self._store.publish(changes)
        except Exception as failure:
            log.critical("the state file cannot be written", exc_info=failure)
            self._failure = failure
            self._on_failure(failure)
        finally:
            self._batch = None
        if self._failure is None and self._store.published < self._store.version:
            self.start()

    async def close(self) -> None:
        if self._failure is None:
            await self.settled()
        self._thread.shutdown(wait=True)
