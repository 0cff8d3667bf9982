"""`up`: a holder and a door for a state directory, started or found alive. Safe to call again at any time, also by two at once."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.kube.errors import ApiError
from rayfleet.kubelet.cgroups import remove_recorded
from rayfleet.local import door
from rayfleet.local.configuration import Configuration, write_configuration
from rayfleet.local.credentials import issue
from rayfleet.local.end import remove_pods
from rayfleet.local.find import find_door, find_holder
from rayfleet.local.identity import stop
from rayfleet.local.lock import locked
from rayfleet.local.machine import Machine, write_machine
from rayfleet.local.namespaces import require, start_holder
from rayfleet.local.peers import surroundings
from rayfleet.local.ports import FIRST
from rayfleet.local.scope import lent
from rayfleet.local.state import State

DOOR_IN = 20.0
API_IN = 60.0
STEP = 0.05
DEFAULT = Configuration()
Say = Callable[[str], None]

# Probes that the operator adds are for a fleet of machines; here everything is near, and a person waits.
OPERATOR = {
    "apiVersion": "config.ray.io/v1alpha1",
    "kind": "Configuration",
    "injectedProbes": {"initialDelaySeconds": 1, "periodSeconds": 1},
    "headAddress": "pod",
    "autoscaling": "hosted",  # one process for all clusters, not a container beside each head
    # a claim is a directory here, and costs nothing; nobody but the fleet's user could open the other gates
    "featureGates": {"GCSFaultToleranceEmbeddedStorage": True, "RayClusterNetworkPolicy": True, "RayCronJob": True},
}


class NotUp(Exception):
    """The fleet did not come up; the text says which part and where its log is."""


def start(
    state: State,
    say: Say,
    *,
    auth: str = "token",
    configuration: Configuration = DEFAULT,
    egress: bool = False,
    machine: Machine | None = None,
) -> door.Record:
    """Make the fleet run; returns its living door once that listens. `auth` is the mode of clusters that say nothing of it: every user of
    this machine can reach their ports. With `egress` Pods may go out; `machine` counts for a fleet that is started now. Raises HostLacks,
    NotUp."""
    check(state)
    with locked(state):
        state.make()
        holder = find_holder(state)
        if holder is None:
            require()
            clear(state, say)
            issue(state)
            state.write(state.operator_config, json.dumps({**OPERATOR, "defaultAuthMode": auth}, indent=1) + "\n")
            state.egress.unlink(missing_ok=True)
            if egress:
                state.write(state.egress, json.dumps(configuration.egress_ports))
            write_machine(state, machine or Machine())
            state.write(state.started, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
            start_holder(state, lent()[0] if os.geteuid() else ())
            holder = find_holder(state)
            if holder is None:
                raise NotUp(f"the holder ended at once; its log is {state.log('holder')}")
        elif egress and not state.egress.exists():
            raise NotUp("this fleet runs without a way out; end it with `rayfleet down`, and begin it with `rayfleet up --egress`")
        write_configuration(state, configuration)
        record = find_door(state)
        return record or start_door(state, say)


def check(state: State) -> None:
    """Raises NotUp for a directory in which a fleet would not be its user's alone."""
    if state.path.resolve().is_relative_to("/run"):
        raise NotUp(f"the state directory cannot be below /run, which the fleet has for itself: {state.path}")
    if not state.path.exists():
        return
    found = state.path.stat()
    if found.st_uid != os.geteuid():
        raise NotUp(f"the state directory {state.path} belongs to another user (uid {found.st_uid}): name one of your own with --state")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotUp(f"others may write to the state directory {state.path}: chmod go-w {state.path}, or name another with --state")


def clear(state: State, say: Say) -> None:
    """Remove what a fleet that is no more has left: its door, if that still runs, and the files that name processes."""
    left = door.load_record(state)
    if left is None and not any(state.peers.iterdir()):
        return
    say(f"A fleet that is no more left files in {state.path}; they are cleared away, its objects are kept.")
    if left:
        stop(left.process, 5.0)
    for name in ("holder.sock", "relay.sock", "door.json", "kubeconfig"):
        (state.path / name).unlink(missing_ok=True)
    shutil.rmtree(state.peers, ignore_errors=True)
    remove_recorded(state.pods)
    remove_pods(state)
    state.make()


def start_door(state: State, say: Say) -> door.Record:
    """A new door, of its own session, so that it outlives the terminal."""
    command = [sys.executable, "-m", "rayfleet", "internal", "door", "--state", str(state.path)]
    with state.log("door").open("a") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=state.path, env=surroundings(os.environ)
        )
    deadline = time.monotonic() + DOOR_IN
    while time.monotonic() < deadline:
        record = find_door(state)
        if record and record.process.pid == process.pid:
            if record.port != FIRST["api"]:
                say(f"The API is on port {record.port} (the usual {FIRST['api']} is taken).")
            return record
        if process.poll() is not None:
            break
        time.sleep(STEP)
    process.kill()
    process.wait()
    raise NotUp(f"the door did not open; its log is {state.log('door')}")


def told(log: Path) -> str:
    """Where a log is, and how it ends: most often that says why."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return f"its log, {log}, ends: {lines[-1]}" if lines else f"its log is {log}"


async def api_answers(state: State, kubeconfig: Path) -> None:
    """Wait until the fleet's API server, reached by that kubeconfig, says that it is ready. Raises NotUp."""
    deadline = time.monotonic() + API_IN
    async with Client(load_kubeconfig(kubeconfig), timeout=5.0) as client:
        while True:
            try:
                await client.request("GET", "/readyz")
                return
            except ApiError as error:
                if time.monotonic() > deadline:
                    raise NotUp(f"the API server does not answer ({error}); {told(state.log('apiserver'))}") from error
            await asyncio.sleep(STEP)
