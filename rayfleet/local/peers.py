"""The peers of a fleet: what is started inside the namespaces, and with which surroundings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

import rayfleet
from rayfleet.local.identity import Identity
from rayfleet.local.namespaces import SYSTEM_PATH
from rayfleet.local.state import State

# In the order of starting; stopping goes the other way.
PEERS = ("relay", "apiserver", "kubelet", "operator")
INHERITED = ("HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SSL_CERT_FILE")


class Record(msgspec.Struct, frozen=True):
    """What the supervisor knows of one peer, in `peers/NAME.json`."""

    process: Identity
    starts: int = 1


def command(name: str, state: State) -> list[str]:
    """How to run one peer."""
    program = [sys.executable, "-m", "rayfleet"]
    if name == "operator":
        # No lease: the holder starts one operator at a time, and a new one need not wait for a dead one's lease to run out.
        operator = ["run", "--no-leader-election", "--listen", "127.0.0.1:8080", "--config", str(state.operator_config)]
        return [*program, *operator, "--kubeconfig", str(state.inner_kubeconfig("operator"))]
    return [*program, "internal", name, "--state", str(state.path)]


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a peer: named variables only. A user's RAY_*, KUBECONFIG or proxies must not steer a fleet."""
    kept = {name: environ[name] for name in INHERITED if name in environ}
    own = Path(sys.executable).parent
    home = Path(rayfleet.__file__).parent.parent
    modules = [str(home), *filter(None, environ.get("PYTHONPATH", "").split(":"))]
    return kept | {"PATH": f"{own}:{environ.get('PATH', '')}:{SYSTEM_PATH}", "PYTHONPATH": ":".join(modules), "PYTHONUNBUFFERED": "1"}


def load_record(state: State, name: str) -> Record | None:
    """None when there is none, or when it cannot be read (then the process, if any, ends with the holder)."""
    try:
        return msgspec.json.decode((state.peers / f"{name}.json").read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def save_record(state: State, name: str, record: Record) -> None:
    state.write(state.peers / f"{name}.json", msgspec.json.encode(record).decode())
