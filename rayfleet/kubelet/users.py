"""As whom a container runs: runAsUser, runAsGroup, runAsNonRoot, supplementalGroups and fsGroup, where the machine lets us.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayfleet.kubelet.env import ConfigError

RAY_USER, RAY_GROUP = 1000, 100  # of Ray's images: whom "not root" means where nobody says more


@dataclass(frozen=True, slots=True)
class Account:
    user: int
    group: int
    groups: tuple[int, ...] = ()


def as_request(account: Account | None) -> list[Any] | None:
    """As the shim is asked for it."""
    return None if account is None else [account.user, account.group, list(account.groups)]


def account_of(spec: Mapping[str, Any], container: Mapping[str, Any]) -> Account | None:
    """None: nothing is asked for. Raises ConfigError where the container must not be root, and is."""
    whole, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
    asked = {name: own.get(name, whole.get(name)) for name in ("runAsUser", "runAsGroup", "runAsNonRoot")}
    user, group = asked["runAsUser"], asked["runAsGroup"]
    if asked["runAsNonRoot"]:
        if user == 0:
            raise ConfigError("container's runAsUser breaks non-root policy")
        if user is None:
            user, group = RAY_USER, RAY_GROUP if group is None else group
    groups = tuple(sorted({*(whole.get("supplementalGroups") or ()), *([whole["fsGroup"]] if whole.get("fsGroup") else [])}))
    if user is None and group is None and not groups:
        return None
    return Account(user or 0, group or 0, groups)


def hindrance(account: Account, maps: Path = Path("/proc/self")) -> str:
    """Why this process cannot make others run so; "" when it can."""
    users, groups = ranges(maps / "uid_map"), ranges(maps / "gid_map")
    wanted = [(account.user, users), *((group, groups) for group in (account.group, *account.groups))]
    if any(not any(first <= number < first + count for first, count in known) for number, known in wanted):
        return "only root can have processes of other users"
    return ""


def ranges(file: Path) -> list[tuple[int, int]]:
    """(first, how many) of the numbers that there are in this user namespace."""
    return [(int(first), int(count)) for first, _, count in (line.split() for line in file.read_text().splitlines())]


def closed(path: Path) -> Iterator[Path]:
    """The first directory on the way to the path that others may not enter, if there is one."""
    for at in reversed(path.parents):
        if at.exists() and not at.stat().st_mode & stat.S_IXOTH:
            yield at
            return


def give(volume: Path, group: int) -> None:
    """A volume's content belongs to the group, now and what comes (fsGroup). Once, before a container has it: what they close stays so."""
    for at, names, files in os.walk(volume):
        for path in (Path(at), *(Path(at, name) for name in (*names, *files))):
            if not path.is_symlink():
                mode = path.stat().st_mode
                os.chown(path, -1, group)
                path.chmod(stat.S_IMODE(mode) | (0o2070 if path.is_dir() else for_group(mode)))


def for_group(mode: int) -> int:
    """What a group may do with a file that its owner may use so."""
    return 0o060 if mode & 0o200 else 0o040
