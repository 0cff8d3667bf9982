"""A cgroup of the fleet's own for a user who is not root: systemd lends one, and Pods' limits are then the kubelet's to set.

Only where it lasts: a user's systemd ends with the last log-in, so who came by ssh would lose a fleet that otherwise stays.
Sources: https://systemd.io/CGROUP_DELEGATION/ and https://docs.kernel.org/admin-guide/cgroup-v2.html#delegation
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rayfleet.kubelet.cgroups import MEMBERS, MOUNT
from rayfleet.local.namespaces import find

OWN = Path("/proc/self/cgroup")
LINGERING = Path("/var/lib/systemd/linger")
LEND = ("--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes")
TRIAL_IN = 5.0
# Limits are for cgroups without processes of their own, so the fleet's live in one below; if not, Pods go without limits.
NEST = f'own={MOUNT}$(sed -n s/^0:://p /proc/self/cgroup)/{MEMBERS}; mkdir "$own" && echo $$ > "$own/cgroup.procs"; exec "$@"'


def lent(mount: Path = MOUNT) -> tuple[list[str], str]:
    """What to put before a command so that it runs in such a cgroup, and "" or why there is none."""
    if hinders := hindrance(mount):
        return [], hinders
    lend = [find("systemd-run") or "", *LEND]
    try:
        trial = subprocess.run([*lend, "true"], capture_output=True, text=True, timeout=TRIAL_IN)
    except subprocess.TimeoutExpired:
        return [], "the user's systemd does not answer"
    if trial.returncode:
        said = trial.stderr.strip().splitlines()
        return [], f"the user's systemd lends none: {said[-1] if said else 'no reason given'}"
    return [*lend, find("sh") or "sh", "-c", NEST, "sh"], ""


def hindrance(mount: Path, own: Path = OWN, lingering: Path = LINGERING) -> str:
    if not (mount / "cgroup.controllers").exists():
        return "this machine has cgroups of version 1, which are root's"
    if find("systemd-run") is None:
        return "systemd-run is not installed"
    if not any((lingering / name).exists() for name in names()) and f"/user@{os.getuid()}.service/" not in own.read_text():
        return "they would end with this log-in; let your systemd stay: loginctl enable-linger"
    return ""


def names() -> list[str]:
    """The user's, if the machine knows one."""
    import pwd

    try:
        return [pwd.getpwuid(os.getuid()).pw_name]
    except KeyError:
        return []
