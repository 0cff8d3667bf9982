"""What the init container of a worker says, run by a real shell."""

from __future__ import annotations

import socket
import subprocess

from rayfleet.resources.gcs_wait import SCRIPT


def first_words(host: str, port: int) -> str:
    """The first line, by a script that says at once what hinders it."""
    script = SCRIPT.format(host=host, port=port, quiet=0, pause=60)
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.kill()
    return line


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def test_a_port_where_nobody_listens_is_told_in_the_shells_words() -> None:
    port = free_port()
    line = first_words("127.0.0.1", port)
    assert line.startswith(f"0 s: the GCS at 127.0.0.1:{port} does not answer yet: ")
    assert line.endswith("Connection refused\n")


def test_a_name_that_nobody_knows_is_told_as_such() -> None:
    assert "no-such-head.invalid: " in first_words("no-such-head.invalid", 6379)
