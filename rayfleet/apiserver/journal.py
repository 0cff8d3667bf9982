"""The durable log: one SQLite file in WAL mode with synchronous=FULL, so that a commit survives kill -9 and power loss."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

Row = tuple[str, str, str, int, bytes | None]
"""resource, namespace, name, version, JSON (None: deleted)."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name));
CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY CHECK (id = 0), version INTEGER NOT NULL);
"""


class Journal:
    """Raises sqlite3.Error when the file cannot be read or written; sqlite3.OperationalError (locked) when another server holds it."""

    def __init__(self, path: Path) -> None:
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
        row = self._db.execute("SELECT version FROM clock").fetchone()
        return int(row[0]) if row else 0

    def rows(self) -> Iterator[tuple[str, str, str, int, bytes]]:
        yield from self._db.execute("SELECT resource, namespace, name, version, data FROM objects ORDER BY version")

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

    def close(self) -> None:
        self._db.close()
