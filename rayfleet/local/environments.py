"""Makes the Python environments that stand for images, as the kubelet orders them. On the host's side: a fleet has no way out.

They lie below the user's cache, by what they hold, so that every fleet and every later one shares them.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rayfleet.kubelet.images import MADE, Order, Orders
from rayfleet.local.state import State

LOG = logging.getLogger("rayfleet.door")
LOOK = 0.5  # seconds between two looks for orders
TELL = 3.0  # seconds between two words of progress: each is a write of the Pod's status
SAID = 160  # characters of pip's last line
LINES = 5  # of a failure's end


class NotMade(Exception):
    """The text is the end of what the failing command said."""


def environments_directory(environ: Mapping[str, str]) -> Path:
    """Below `XDG_CACHE_HOME` (https://specifications.freedesktop.org/basedir-spec)."""
    base = environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "rayfleet" / "environments"


async def make_environments(state: State) -> None:
    """Takes orders, one after the other, until cancelled."""
    orders = Orders(state.images)
    while True:
        for path in sorted(state.images.glob("*.order")):
            await take(orders, path.stem, msgspec.json.decode(path.read_bytes(), type=Order))
        await asyncio.sleep(LOOK)


async def take(orders: Orders, key: str, order: Order) -> None:
    """One order: made, or told why not. Either way it is done with."""
    directory = Path(order.directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    LOG.info("making the environment %s", directory)
    try:
        with (directory.parent / f"{key}.lock").open("w") as lock:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)  # another fleet may be making the same
            if not (directory / MADE).exists():
                await make(orders, key, directory, order.requirements)
    except (NotMade, OSError) as error:
        LOG.warning("the environment %s could not be made: %s", directory, error)
        orders.failure(key).write_text(str(error))
    else:
        LOG.info("the environment %s is made", directory)
    finally:
        orders.progress(key).unlink(missing_ok=True)
        orders.order(key).unlink(missing_ok=True)


async def make(orders: Orders, key: str, directory: Path, wanted: tuple[str, ...]) -> None:
    """Raises NotMade, OSError. What is half made goes."""
    try:
        shutil.rmtree(directory, ignore_errors=True)
        await run(orders, key, [sys.executable, "-m", "venv", str(directory)])
        pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", *wanted]
        await run(orders, key, pip)
        (directory / MADE).touch()
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


async def run(orders: Orders, key: str, command: list[str]) -> None:
    """Its last line is what is told of the progress. Raises NotMade; a command that is no longer awaited is ended."""
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=surroundings
    )
    assert process.stdout is not None
    said: list[str] = []
    told, clock = 0.0, asyncio.get_running_loop().time
    try:
        async for line in process.stdout:
            text = line.decode(errors="replace").strip()
            if text:
                said = [*said[1 - LINES :], text]
            if text and clock() - told > TELL:
                orders.progress(key).write_text(text[:SAID])
                told = clock()
        code = await process.wait()
    except BaseException:
        process.kill()
        raise
    if code:
        raise NotMade("\n".join(said))
