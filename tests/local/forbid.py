"""Run a program where no user namespace may be made: `python forbid.py PROGRAM...`, by root.

In a user namespace with every uid of the machine, whose own limit of further ones is 0 (namespaces(7)); nobody else sees that limit.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rayfleet.kubelet.shim import syscalls

CLONE_NEWUSER = 0x10000000
EVERYBODY = "0 0 4294967295"


def main(program: list[str]) -> None:
    """Who writes the map must stand outside, so the program is a child; its exit code becomes ours."""
    made, says_made = os.pipe()
    mapped, says_mapped = os.pipe()
    child = os.fork()
    if child == 0:
        syscalls.unshare(CLONE_NEWUSER)
        os.write(says_made, b"1")
        os.read(mapped, 1)
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
        os.execv(program[0], program)
    os.read(made, 1)
    for kind in ("uid", "gid"):
        Path(f"/proc/{child}/{kind}_map").write_text(EVERYBODY)
    os.write(says_mapped, b"1")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
