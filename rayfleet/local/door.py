"""The door: one process on the host's side. It listens on loopback, carries each connection through the relay's Unix socket into the
fleet's network, and keeps the peers alive. No route and no link appears on the host.

It may die: peers and Pods live on, only the host's ports close; `rayfleet up` starts another one, which takes the peers over.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import msgspec

from rayfleet.kubelet.loop import again_and_again
from rayfleet.kubelet.pipe import allow_many
from rayfleet.local.credentials import kubeconfig
from rayfleet.local.identity import Identity, identify
from rayfleet.local.ports import LOOPBACK, Ports
from rayfleet.local.relay import towards
from rayfleet.local.state import State
from rayfleet.local.supervisor import ended, supervise

API = "127.0.0.1:6443"  # as the fleet's own network sees it
LOG = logging.getLogger("rayfleet.door")


class Record(msgspec.Struct, frozen=True):
    """The living door, in `door.json`; written when its API port is open."""

    process: Identity
    port: int


async def serve(state: State, holder: Identity) -> None:
    """Until SIGTERM, or the holder's end."""
    from rayfleet.local.dashboards import open_dashboards
    from rayfleet.local.egress import let_out
    from rayfleet.local.environments import make_environments
    from rayfleet.local.node_ports import open_node_ports

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    allow_many()
    os.chdir(state.path)
    ports = Ports(state)
    server, port = await ports.listen("api", towards(API))
    state.write(state.kubeconfig, kubeconfig(state, "admin", f"https://{LOOPBACK}:{port}"))
    own = identify(os.getpid())
    assert own is not None
    state.write(record_path(state), msgspec.json.encode(Record(own, port)).decode())
    LOG.info("the API is on https://%s:%d", LOOPBACK, port)
    works = {
        "dashboards": lambda: open_dashboards(state, ports),
        "environments": lambda: make_environments(state),
        "node ports": lambda: open_node_ports(state),
    }
    if state.egress.exists():
        works["egress"] = lambda: let_out(state)
    tasks = [asyncio.create_task(supervise(state)), *(asyncio.create_task(again_and_again(name, work)) for name, work in works.items())]
    await first_of(asyncio.create_task(told_to_stop()), asyncio.create_task(ended(holder)), *tasks)
    server.close()


def record_path(state: State) -> Path:
    return state.path / "door.json"


def load_record(state: State) -> Record | None:
    try:
        return msgspec.json.decode(record_path(state).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


async def told_to_stop() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


async def first_of(*tasks: asyncio.Task[None]) -> None:
    """Until one ends; the others are cancelled, and an error of any is raised."""
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()
