"""Logs that outgrow one file: what is kept of them, and that a reader loses nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayfleet.kubelet import logs
from rayfleet.kubelet.logs import Wanted
from rayfleet.kubelet.shim.record import LOG_FILES, Log

LIMIT = 2_000  # bytes: some thirty of the lines below


def words(first: int, last: int) -> bytes:
    return b"".join(b"line %05d\n" % number for number in range(first, last))


async def shown(path: Path, wanted: Wanted = Wanted()) -> bytes:  # noqa: B008 - it is frozen
    return b"".join([piece async for piece in logs.read(path, wanted, lambda: True)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


@pytest.fixture
def log(path: Path) -> Log:
    return Log(str(path), LIMIT)


def feed(log: Log, first: int, last: int) -> None:
    for number in range(first, last):
        log.feed(words(number, number + 1))


async def test_a_log_in_several_files_reads_as_one(log: Log, path: Path) -> None:
    feed(log, 0, 100)
    assert len(logs.files(path)) > 2
    assert await shown(path) == words(0, 100)
    assert await shown(path, Wanted(limit_bytes=500)) == words(0, 100)[:500]


@pytest.mark.parametrize("lines", [0, 1, 7, 60, 99, 100, 500])
async def test_the_last_lines_are_found_in_older_files_too(log: Log, path: Path, lines: int) -> None:
    feed(log, 0, 100)
    assert await shown(path, Wanted(tail_lines=lines)) == words(max(0, 100 - lines), 100)


async def test_a_log_without_end_keeps_its_newest_files(log: Log, path: Path) -> None:
    feed(log, 0, 2_000)
    kept = logs.files(path)
    assert len(kept) == LOG_FILES
    assert all(file.stat().st_size <= LIMIT for file in kept)
    found = await shown(path)
    assert found.count(b"\n") == sum(file.read_bytes().count(b"\n") for file in kept)
    assert words(0, 2_000).endswith(found)


async def test_a_follower_goes_on_through_full_files(log: Log, path: Path) -> None:
    feed(log, 0, 10)
    written = [10]

    def ended() -> bool:
        """Each look of the reader finds more: a file is filled now and then."""
        if written[0] >= 200:
            return True
        feed(log, written[0], written[0] + 19)
        written[0] += 19
        return False

    pieces = [piece async for piece in logs.read(path, Wanted(follow=True), ended)]
    assert b"".join(pieces) == words(0, 200)


async def test_a_follower_that_was_too_slow_goes_on_with_what_is_left(log: Log, path: Path) -> None:
    feed(log, 0, 10)
    reader = logs.read(path, Wanted(follow=True), lambda: True)
    first = await anext(reader)
    feed(log, 10, 2_000)
    rest = b"".join([piece async for piece in reader])
    numbers = [int(line.split()[1]) for line in (first + rest).splitlines()]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (0, 1_999)
