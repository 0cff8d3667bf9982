"""The wget that containers find on a machine without one."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.kubelet.substitutes import WGET


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of a web server with one page, `/health`."""
    (tmp_path / "health").write_text("success")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path))  # type: ignore[arg-type]

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def wget(url: str) -> tuple[int, str]:
    command = [sys.executable, "-S", "-E", "-c", WGET, "--tries", "1", "-T", "2", "-q", "-O-", url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_it_fetches_as_health_checks_ask_it_to(port: int) -> None:
    assert wget(f"http://localhost:{port}/health") == (0, "success")
    assert wget(f"http://localhost:{port}/absent") == (8, "")
    assert wget("http://localhost:1/health") == (4, "")
