"""The same kubelet in a user namespace, as an ordinary user has it: nothing of it needs more than that gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rayfleet.kubelet.network import tool

pytestmark = pytest.mark.namespaces
ENTRANCE = [tool("unshare"), "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def test_a_pods_life_in_a_user_namespace(tmp_path: Path) -> None:
    trial = subprocess.run([*ENTRANCE, "true"], capture_output=True, text=True, check=False)
    if trial.returncode:
        pytest.skip(f"user namespaces are refused here: {trial.stderr.strip()}")
    here = Path(__file__).parent
    wanted = [str(here / "test_pod_life.py"), f"--basetemp={tmp_path / 'inner'}", "-p", "no:cacheprovider", "-m", "namespaces"]
    inner = subprocess.run(
        [*ENTRANCE, sys.executable, "-m", "pytest", *wanted], capture_output=True, text=True, cwd=here.parent.parent, check=False
    )
    assert inner.returncode == 0, inner.stdout
    assert "skipped" not in inner.stdout
