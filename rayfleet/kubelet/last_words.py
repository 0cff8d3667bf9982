"""What a container leaves as the message of its end. https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rayfleet.kubelet.attempt import Attempt
from rayfleet.kubelet.logs import Wanted, files, render, tail_offset

USUAL = "/dev/termination-log"
LONGEST = 4096  # bytes
LOG_LINES, LOG_BYTES = 80, 2048  # of a log that takes the message's place


def file_of(directory: Path, name: str, attempt: int) -> Path:
    """Where the container's `terminationMessagePath` lies on this machine."""
    return directory / "containers" / name / f"{attempt}.message"


def make(directory: Path, name: str, attempt: int) -> None:
    path = file_of(directory, name, attempt)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o666)


def message(directory: Path, attempt: Attempt, container: Mapping[str, Any]) -> str:
    """Of a life that has ended; "" when it left none."""
    path = file_of(directory, attempt.name, attempt.attempt)
    if path.exists():
        with path.open("rb") as file:
            if said := file.read(LONGEST):
                return said.decode(errors="replace")
    if container.get("terminationMessagePolicy") == "FallbackToLogsOnError" and attempt.exit_code:
        return end_of_log(directory / "containers" / attempt.name / f"{attempt.attempt}.log")
    return ""


def end_of_log(path: Path) -> str:
    newest = files(path)[-1]
    if not newest.exists():
        return ""
    with newest.open("rb") as file:
        file.seek(tail_offset(newest, LOG_LINES))
        said = b"".join(render(line, Wanted()) for line in file)
    return said[-LOG_BYTES:].decode(errors="replace")
