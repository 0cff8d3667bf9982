"""What a fleet makes of its machine: how many nodes it is, what Pods may ask of them, and which of them are stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api.quantity import parse
from rayfleet.kubelet.nodes import stopped_nodes
from rayfleet.kubelet.settings import LOCAL_NODE
from rayfleet.local.peers import load_record
from rayfleet.local.state import State

CPU_OVERCOMMIT = 10.0  # processors that nobody uses are anybody's; memory is not


class Machine(msgspec.Struct, frozen=True):
    """`overcommit`: how often what the machine has may be asked for. `devices`: amounts that count; any other device is simply there.
    `patience`: of how long a node may be silent and Pods may stay on a lost one, 1 is Kubernetes'."""

    nodes: int = 1
    patience: float = 1.0
    overcommit: dict[str, float] = msgspec.field(default_factory=lambda: {"cpu": CPU_OVERCOMMIT})
    devices: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return (LOCAL_NODE, *(f"{LOCAL_NODE}-{number}" for number in range(2, self.nodes + 1)))


class NoSuchNode(Exception):
    """The text names those that there are."""


def load_machine(state: State) -> Machine:
    try:
        return msgspec.json.decode(state.machine.read_bytes(), type=Machine)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Machine()


def write_machine(state: State, machine: Machine) -> None:
    """Of a fleet that starts: no node is stopped."""
    state.stopped.unlink(missing_ok=True)
    state.write(state.machine, msgspec.json.encode(machine).decode())


def declared(overcommit: Any, devices: Any) -> tuple[dict[str, float], dict[str, str]]:
    """What `local.yaml` says of both. Raises ValueError with a sentence."""
    for name, given in (("overcommit", overcommit), ("devices", devices)):
        if not isinstance(given, dict):
            raise ValueError(f"{name} must be a map, not {given!r}")
    amounts = {}
    for name, amount in devices.items():
        if "/" not in str(name):
            raise ValueError(f"devices[{name!r}]: a device's name has a domain, as nvidia.com/gpu")
        try:
            amounts[str(name)] = str(parse(amount))
        except ValueError as error:
            raise ValueError(f"devices[{name!r}]: {error}") from error
    return {"cpu": CPU_OVERCOMMIT, **factors_of(overcommit)}, amounts


def factors_of(overcommit: Mapping[Any, Any]) -> dict[str, float]:
    """How often each resource may be asked for. Raises ValueError with a sentence."""
    for name, factor in overcommit.items():
        if name not in ("cpu", "memory", "ephemeral-storage") or not isinstance(factor, int | float) or not 0 < factor <= 1000:
            raise ValueError(f"overcommit[{name!r}]: {factor!r} is not a number above 0, of cpu, memory or ephemeral-storage")
    return {name: float(factor) for name, factor in overcommit.items()}


def set_stopped(state: State, node: str, *, stopped: bool) -> bool:
    """Stops or starts a node of the living fleet; whether that was anything new. Raises NoSuchNode."""
    names = load_machine(state).names
    if node not in names:
        raise NoSuchNode(f"no node is called {node}; there are: {', '.join(names)} (make more with: rayfleet up --nodes N)")
    before = stopped_nodes(state.stopped)
    after = before | {node} if stopped else before - {node}
    if after == before:
        return False
    state.write(state.stopped, msgspec.json.encode(sorted(after)).decode())
    kubelet = load_record(state, "kubelet")
    if kubelet and kubelet.process.alive:
        os.kill(kubelet.process.pid, signal.SIGHUP)
    return True
