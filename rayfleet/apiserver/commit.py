"""Group commit: the writes of many requests share one transaction and one wait for the disk."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from rayfleet.apiserver.record import Change
from rayfleet.apiserver.status_error import StatusError
from rayfleet.apiserver.store import Store

log = logging.getLogger(__name__)


class Committer:
    """Commits what the store has staged, in a thread, while the loop prepares the next batch.

    What the disk refuses is taken back: its writers are told, and reads go on with what is durable.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._batch: asyncio.Task[None] | None = None
        self._losses = 0
        self.failure: Exception | None = None
        """of the last commit"""

    async def settled(self) -> None:
        """Returns when everything staged so far is durable and published.

        Every answer, of a read too, waits for this: nobody ever sees a state that a crash could take back.
        Raises StatusError 500 when the disk refused it; then nothing has changed.
        """
        wanted, losses = self._store.version, self._losses
        while self._store.published < wanted:
            await asyncio.shield(self.start())
            if self._losses != losses:
                why = f"the state file cannot be written: {self.failure}; nothing was changed, and what is stored can be read"
                raise StatusError(500, "InternalError", f"Internal error occurred: {why}")

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
        changes, rows = self._store.take()
        try:
            if changes:
                journal.stage(rows, changes[-1].version)
                await asyncio.get_running_loop().run_in_executor(self._thread, journal.commit)
                self._store.publish(changes)
                self.failure = None
        except sqlite3.Error as failure:
            log.critical("the state file cannot be written", exc_info=failure)
            self.failure = failure
            self._losses += 1
            journal.rollback()
            self._store.revert(changes)
        finally:
            self._batch = None
        if self._store.published < self._store.version:
            self.start()

    async def close(self) -> None:
        with contextlib.suppress(StatusError):
            await self.settled()
        self._thread.shutdown(wait=True)
