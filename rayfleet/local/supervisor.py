"""Keep the peers alive: a dead one is started again, with a pause that doubles. Part of the door's process."""

from __future__ import annotations

import asyncio
import logging
import os

from rayfleet.local.identity import Identity
from rayfleet.local.peers import PEERS, Record, command, load_record, save_record, surroundings
from rayfleet.local.spawn import NotStarted, spawn
from rayfleet.local.state import State

FIRST_PAUSE = 0.2
LAST_PAUSE = 10.0
STEADY = 20.0  # seconds of life after which a death counts as the first one again
LOG = logging.getLogger("rayfleet.door")


async def supervise(state: State) -> None:
    """Start, or take over, every peer, and keep each alive until cancelled. Cancelling ends no peer."""
    async with asyncio.TaskGroup() as group:
        for name in PEERS:
            group.create_task(keep(state, name))


async def keep(state: State, name: str) -> None:
    loop = asyncio.get_running_loop()
    pause = FIRST_PAUSE
    while True:
        begun = loop.time()
        try:
            process = take_over_or_start(state, name)
        except (NotStarted, OSError) as error:
            LOG.error("%s: %s", name, error)
        else:
            await ended(process)
        if loop.time() - begun > STEADY:
            pause = FIRST_PAUSE
        LOG.warning("%s has ended; it is started again in %.1f s (its log: %s)", name, pause, state.log(name))
        await asyncio.sleep(pause)
        pause = min(pause * 2, LAST_PAUSE)


def take_over_or_start(state: State, name: str) -> Identity:
    """The living process of this peer: one that an earlier door left, or a new one. Raises NotStarted."""
    record = load_record(state, name)
    if record and record.process.alive:
        LOG.info("%s is alive (pid %d) and is kept", name, record.process.pid)
        return record.process
    process = spawn(state, command(name, state), surroundings(os.environ), state.log(name), state.peers / f"{name}.lock")
    save_record(state, name, Record(process, record.starts + 1 if record else 1))
    LOG.info("%s started (pid %d)", name, process.pid)
    return process


async def ended(process: Identity) -> None:
    """Until the process has ended, without asking again and again."""
    descriptor = process.descriptor()
    if descriptor is None:
        return
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
