from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rayfleet.cli.main import rayfleet

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line in this process, without a kubeconfig of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return lambda *words, **more: CliRunner().invoke(rayfleet, list(words), prog_name="rayfleet", **more)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line as a process of its own, for exit codes and what is printed where."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "rayfleet", *words], input=text, capture_output=True, text=True, timeout=120)

    return run
