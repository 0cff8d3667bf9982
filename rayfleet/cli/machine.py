"""What `rayfleet doctor` says of this machine: what `rayfleet up` needs, and what a fleet here will lack."""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from rayfleet.cli.check import MISSING, OFF, OK, Row
from rayfleet.cli.options import closed_fleet, words_for
from rayfleet.cli.progress import dead_peers
from rayfleet.kubelet.cgroups import MOUNT
from rayfleet.kubelet.enforcer import NFT
from rayfleet.kubelet.filter_rules import script
from rayfleet.kubelet.images import installed_ray
from rayfleet.kubelet.policies import Isolation
from rayfleet.kubelet.settings import CLUSTER_ADDRESSES
from rayfleet.local.find import find_holder
from rayfleet.local.namespaces import entrance, find, missing, setting
from rayfleet.local.ports import FIRST, LOOPBACK, Ports
from rayfleet.local.scope import lent
from rayfleet.local.state import State
from rayfleet.resources.ports import DEFAULTS

MODULES = {"jsonschema_rs": "jsonschema-rs", "cryptography": "cryptography"}
OPEN_FILES = 65536  # what Ray's start commands ask for
FULL = 0.95  # Ray writes no object to a disk that is fuller (RAY_local_fs_capacity_threshold)
WATCHES = {"fs.inotify.max_user_instances": 128, "fs.inotify.max_user_watches": 8192}
GIB = 1 << 30
MEMORY_GROUPS = MOUNT / "memory"  # of version 1
MEMORY = 2 * GIB  # bytes: a head, a worker and room for a job


def of_machine(state: State) -> Iterator[Row]:
    """What `up` needs, in its own words."""
    lacks = list(missing())
    for reason in lacks:
        yield Row("machine", "namespaces", MISSING, reason)
    if not lacks:
        yield Row("machine", "namespaces", OK, "namespaces, a bridge and veth pairs can be made")
    yield from user_rows()
    yield disk_row(state.path)
    yield memory_row()
    if not lacks:
        yield policies_row()
    yield watches_row()
    yield ports_row(state)
    kubectl = find("kubectl")
    yield Row("machine", "kubectl", OK if kubectl else OFF, kubectl or "not installed; rayfleet get, logs and delete do without it")
    yield from environment_rows()
    yield from fleet_rows(state)


def fleet_rows(state: State) -> Iterator[Row]:
    """Whether a fleet runs, and what of it does not."""
    if find_holder(state) is None:
        yield Row("fleet", "local fleet", OFF, f"none runs; start one with: rayfleet up{words_for(state)}")
        return
    closed = closed_fleet(state)
    yield Row("fleet", "local fleet", OFF if closed else OK, closed or f"runs in {state.path}")
    for words in [] if closed else dead_peers(state):
        yield Row("fleet", "local fleet", OFF, words)


def environment_rows() -> Iterator[Row]:
    """The Python environment, which stands for every image."""
    lacking = [package for module, package in MODULES.items() if importlib.util.find_spec(module) is None]
    told = f"not installed: {', '.join(lacking)} (pip install 'rayfleet[local]')" if lacking else "everything that the embedded API needs"
    yield Row("environment", "packages", MISSING if lacking else OK, told)
    ray = installed_ray(Path(sys.prefix))
    yield Row("environment", "Ray", OK if ray else MISSING, f"Ray {ray}" if ray else "not installed (pip install 'rayfleet[local]')")


def user_rows() -> Iterator[Row]:
    """Whose the fleet would be. Root lets containers open as many files as they usually may, whatever its own limit."""
    if os.geteuid() == 0:
        yield Row("machine", "user", OK, "root")
        yield limits_row("" if os.access(MEMORY_GROUPS if MEMORY_GROUPS.is_dir() else MOUNT, os.W_OK) else f"{MOUNT} cannot be written")
        return
    yield Row("machine", "user", OFF, "an ordinary one: no other users in Pods (runAsUser)")
    yield limits_row(lent()[1])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= most < OPEN_FILES:
        told = f"{most} at most for a process, Ray asks for {OPEN_FILES}: raise nofile in /etc/security/limits.conf"
        yield Row("machine", "open files", OFF, told)
    else:
        yield Row("machine", "open files", OK, "no limit" if most < 0 else f"{most} for a process")


def limits_row(hinders: str) -> Row:
    """Of Pods' memory and processors, by cgroups."""
    return Row(
        "machine",
        "limits",
        OFF if hinders else OK,
        f"nobody enforces those of Pods: {hinders}" if hinders else "those of Pods are enforced",
    )


def policies_row() -> Row:
    """Tried, in namespaces that vanish at once: the command may be there, and the kernel's part not."""
    off = "NetworkPolicies are not enforced"
    if find(NFT) is None:
        return Row("machine", "policies", OFF, f"{off}: the command nft is not installed (apt-get install nftables)")
    rules = script(Isolation((), ()), IPv4Address("10.88.0.1"), CLUSTER_ADDRESSES)
    trial = subprocess.run([*entrance(), find(NFT) or NFT, "-f", "-"], input=rules, capture_output=True, text=True)
    if trial.returncode:
        return Row("machine", "policies", OFF, f"{off}: {' '.join(trial.stderr.split())}")
    return Row("machine", "policies", OK, "NetworkPolicies are enforced")


def disk_row(directory: Path) -> Row:
    place = next(path for path in (directory, *directory.parents) if os.access(path, os.F_OK))
    disk = shutil.disk_usage(place)
    used = 1 - disk.free / disk.total
    told = f"{disk.free / GIB:.1f} GiB free below {place}"
    if used >= FULL:
        return Row("machine", "disk", OFF, f"{told}: {used:.0%} full, and from {FULL:.0%} on Ray writes no object to it")
    return Row("machine", "disk", OK, told)


def memory_row() -> Row:
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) * 1024
    few = free < MEMORY
    return Row(
        "machine", "memory", OFF if few else OK, f"{free / GIB:.1f} GiB free{': little, as a head alone takes 0.7 GiB' if few else ''}"
    )


def watches_row() -> Row:
    """What log shippers, reloaders and editors follow files with; each user has so many at a time, in all Pods together."""
    told = {name: int(setting(name) or 0) for name in WATCHES}
    if few := [f"sysctl -w {name}={WATCHES[name]}" for name, number in told.items() if number < WATCHES[name]]:
        return Row("machine", "inotify", OFF, f"few files can be followed at a time; as root: {'; '.join(few)} (to stay: in /etc/sysctl.d)")
    return Row("machine", "inotify", OK, ", ".join(f"{name.rpartition('.')[2]} {number}" for name, number in told.items()))


def ports_row(state: State) -> Row:
    """The fleet and `rayfleet session` take the next free ones instead of those that others have."""
    given = set(Ports(state).given.values()) if find_holder(state) else set()
    wanted = {**FIRST, **{f"session: {name}": DEFAULTS[name] for name in ("client", "serve")}}
    taken = [f"{port} ({name})" for name, port in wanted.items() if port not in given and not is_free(port)]
    if taken:
        return Row("machine", "ports", OFF, f"another program has {', '.join(taken)}: the next free ones are taken instead")
    return Row("machine", "ports", OK, f"{', '.join(str(port) for port in wanted.values())} are free, or this fleet's")


def is_free(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex((LOOPBACK, port)) != 0
