"""What of the machine is shown to containers cannot be written to, however many file systems it is made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.namespaces

TRIES = """
import os, sys
from rayfleet.kubelet.shim import syscalls
syscalls.unshare(syscalls.CLONE_NEWNS)
syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
outer, inner = sys.argv[1], sys.argv[1] + "/inner"
syscalls.mount("test", outer, "tmpfs")
os.mkdir(inner)
syscalls.mount("test", inner, "tmpfs")
syscalls.make_read_only(outer)
for place in (outer, inner):
    try:
        open(place + "/file", "w")
    except OSError as error:
        print(error.strerror)
"""


def test_a_file_system_below_a_read_only_one_is_read_only_too(tmp_path: Path, namespaces: None) -> None:
    done = subprocess.run([sys.executable, "-c", TRIES, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["Read-only file system"] * 2, done.stderr
