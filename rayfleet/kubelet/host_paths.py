"""hostPath volumes: where they may be, and what must be there. https://kubernetes.io/docs/concepts/storage/volumes/#hostpath"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rayfleet.kubelet.env import ConfigError

KINDS: Mapping[str, Callable[[int], bool]] = {
    "Directory": stat.S_ISDIR,
    "DirectoryOrCreate": stat.S_ISDIR,
    "File": stat.S_ISREG,
    "FileOrCreate": stat.S_ISREG,
    "Socket": stat.S_ISSOCK,
    "CharDevice": stat.S_ISCHR,
    "BlockDevice": stat.S_ISBLK,
}
MADE_AS_DIRECTORY = ("", "DirectoryOrCreate")


def admitted(volume: Mapping[str, Any], file: Path | None) -> Path:
    """The volume's place, links resolved, so that what was looked at is what is mounted. `file` is a list of the directories below which it
    may be, read anew each time; without a file it may be anywhere. Raises ConfigError."""
    path = Path(volume["hostPath"]["path"])
    found = path.resolve()
    if file is None or any(found.is_relative_to(Path(directory).resolve()) for directory in allowed(file)):
        return found
    raise ConfigError(f'volume "{volume["name"]}": hostPath {path} is below no directory that `hostPaths` of local.yaml allows')


def allowed(file: Path) -> list[str]:
    return msgspec.json.decode(file.read_bytes(), type=list[str]) if file.exists() else []


def prepare(volume: Mapping[str, Any], path: Path) -> None:
    """Makes what the type says may be made, and looks whether it is of that type. Raises ConfigError, OSError."""
    kind = volume["hostPath"].get("type") or ""
    if kind in MADE_AS_DIRECTORY and not path.exists():
        path.mkdir(mode=0o755, parents=True)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)
    if kind and kind not in KINDS:
        raise ConfigError(f'volume "{volume["name"]}": {kind} is no type of a hostPath')
    if kind and not (path.exists() and KINDS[kind](path.stat().st_mode)):
        raise ConfigError(f'volume "{volume["name"]}": hostPath type check failed: {path} is not a {kind.removesuffix("OrCreate")}')
