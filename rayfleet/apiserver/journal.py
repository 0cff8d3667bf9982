"""The durable log: one SQLite file in WAL mode with synchronous=FULL, so that a commit survives kill -9 and power loss."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

Row = tuple[str, str, str, int, bytes | None]
"""resource, namespace, name, version, JSON (None: deleted)."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name));
CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY CHECK (id = 0), version INTEGER NOT NULL);
"""


COPY_LIMIT = 64 << 20
"""bytes; the copy of a larger file would be waited for"""


class Damaged(Exception):
    """A file that is not what was written. The text says how to restore it."""

    def __init__(self, path: Path, why: object) -> None:
        copy = copy_of(path)
        known = f"put the copy that was made at the last start in its place (mv {copy} {path}; what was written since is lost), "
        super().__init__(
            f"{path} is damaged: {why}. Nothing was changed. To restore it, first rm -f {path}-wal {path}-shm, then "
            + (known if copy.exists() else "")
            + f"save what can be read (sqlite3 {path} .recover | sqlite3 NEW), or begin anew (rayfleet down --delete-data)"
        )


def copy_of(path: Path) -> Path:
    return path.with_name(path.name + ".copy")


class Journal:
    """Raises sqlite3.Error when the file cannot be read or written; sqlite3.OperationalError (locked) when another server holds it.

    Raises Damaged when it is no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._undamaged():
            self._open(path)

    def _open(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
        # Exclusive: a second server on the same state would hand out the same versions.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(SCHEMA)
        # The first write transaction takes the lock, so that a second server fails now and not at its first write.
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("COMMIT")

    def version(self) -> int:
        with self._undamaged():
            row = self._db.execute("SELECT version FROM clock").fetchone()
        return int(row[0]) if row else 0

    def rows(self) -> Iterator[tuple[str, str, str, int, bytes]]:
        """Raises Damaged."""
        with self._undamaged():
            yield from self._db.execute("SELECT resource, namespace, name, version, data FROM objects ORDER BY version")

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Raises Damaged for what is wrong with the file, not with the disk or another server."""
        try:
            yield
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as failure:
            raise Damaged(self.path, failure) from failure

    def keep_copy(self) -> None:
        """Beside the file, for the day on which it is damaged. A disk that is full is no reason not to start."""
        copy, draft = copy_of(self.path), copy_of(self.path).with_suffix(".new")
        if self.path.stat().st_size > COPY_LIMIT:
            return
        try:
            draft.unlink(missing_ok=True)
            self._db.execute("VACUUM INTO ?", (str(draft),))
            draft.replace(copy)
        except (sqlite3.Error, OSError) as failure:
            log.warning("no copy of %s was made: %s", self.path, failure)
            draft.unlink(missing_ok=True)

    def stage(self, rows: Sequence[Row], version: int) -> None:
        """Opens a transaction with these rows in it. Cheap (memory only); `commit` makes it durable."""
        # Only the last state of an object within a batch matters.
        last = {row[:3]: row for row in rows}
        kept = [row for row in last.values() if row[4] is not None]
        gone = [row[:3] for row in last.values() if row[4] is None]
        self._db.execute("BEGIN IMMEDIATE")
        if kept:
            self._db.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", kept)
        if gone:
            self._db.executemany("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", gone)
        self._db.execute("INSERT OR REPLACE INTO clock VALUES (0, ?)", (version,))

    def commit(self) -> None:
        """Blocks until the disk has it. May run in another thread than `stage`, never at the same time."""
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Of a transaction that could not be committed; SQLite may have done so itself."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        self._db.close()
