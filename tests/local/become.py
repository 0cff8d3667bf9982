"""Become an ordinary user and run a program: `python become.py UID HOME PROGRAM...`, by root.

In a mount namespace of its own, so that nothing of the machine changes: the user has a line in /etc/passwd, and where the programs of this
test run lie below a directory that is root's alone (as /root), that directory shows him these and nothing else.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rayfleet.kubelet.shim import syscalls

CHECKOUT = Path(__file__).parents[2]


def main(uid: int, home: str, program: list[str]) -> None:
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    open_up({CHECKOUT, Path(sys.prefix), Path(sys.base_prefix)})
    add_line(uid, home)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.umask(0o077)  # a careful one: nothing may hang on what others may read
    os.chdir(home)
    os.execve(program[0], program, surroundings(home))


def surroundings(home: str) -> dict[str, str]:
    """As after a log-in; with what tests say by RAYFLEET_*."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("RAYFLEET_") or name == "PYTHONDONTWRITEBYTECODE"}
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    return {**kept, "HOME": home, "USER": "someone", "PATH": path, "PYTHONPATH": str(CHECKOUT), "LANG": "C.UTF-8"}


def open_up(wanted: set[Path]) -> None:
    """Put an empty directory over each one that keeps others out, with only what is wanted of it bound in."""
    for closed in {door for path in wanted if (door := shut(path))}:
        below = [path for path in wanted if path.is_relative_to(closed)]
        held = {path: os.open(path, os.O_PATH) for path in below}
        syscalls.mount("rayfleet", str(closed), "tmpfs", 0, "mode=755,size=1m")
        for path, descriptor in held.items():
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
            syscalls.mount(f"/proc/self/fd/{descriptor}", str(path), "", syscalls.MS_BIND | syscalls.MS_REC)
            os.close(descriptor)


def shut(path: Path) -> Path | None:
    """The outermost directory on the way that others may not pass."""
    way = [*reversed(path.parents), path]
    return next((each for each in way if not each.stat().st_mode & 0o001), None)


def add_line(uid: int, home: str) -> None:
    place = Path("/mnt")
    syscalls.mount("rayfleet", str(place), "tmpfs", 0, "mode=755,size=1m")
    line = f"someone:x:{uid}:{uid}::{home}:/bin/sh\n"
    (place / "passwd").write_text(Path("/etc/passwd").read_text() + line)
    syscalls.mount(str(place / "passwd"), "/etc/passwd", "", syscalls.MS_BIND)
    syscalls.detach(str(place))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
