"""What the process says: one line a record, as JSON for machines or as text for people. Each line names its object, when it has one."""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

import msgspec

COLOURS = {"DEBUG": "\x1b[2m", "INFO": "", "WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}
PLAIN = "\x1b[0m"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


# KubeRay's, but for the age: old files are as many as they are (reference: KubeRay, 5.1).
FILE_BYTES = 500 * 1024 * 1024
OLD_FILES = 10


def setup(form: str = "auto", level: str = "info", stream: TextIO | None = None, *, file: str = "", file_form: str = "json") -> None:
    """Send all logs to `stream` (standard error), and to a file as well when one is named.

    A form is json, console, or auto: console on a terminal, JSON elsewhere. Raises ValueError for an unknown form or level, OSError when
    the file cannot be written.
    """
    stream = stream or sys.stderr
    handlers: list[logging.Handler] = [logging.StreamHandler(stream)]
    handlers[0].setFormatter(formatter(form, terminal=stream.isatty()))
    if file:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        handlers.append(RotatingFileHandler(file, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8"))
        handlers[1].setFormatter(formatter(file_form, terminal=False))
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(level.upper())


def formatter(form: str, *, terminal: bool) -> logging.Formatter:
    if form not in ("auto", "json", "console"):
        raise ValueError(f"no log format is named {form}: json, console or auto")
    if form == "json" or (form == "auto" and not terminal):
        return JsonLines()
    return Console(colours=terminal and "NO_COLOR" not in os.environ)


class JsonLines(logging.Formatter):
    """`{"time":...,"level":...,"object":...,"message":...}`"""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"time": when(record).isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        if subject := getattr(record, "object", None):
            line["object"] = str(subject)
        line["message"] = record.getMessage()
        line["logger"] = record.name
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(line).decode()


class Console(logging.Formatter):
    """`12:00:00 WARNING default/demo  the message`, without what could move a terminal's cursor."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        subject = getattr(record, "object", None)
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        line = f"{when(record):%H:%M:%S} {record.levelname:<7} {f'{subject}  ' if subject else ''}{text}"
        line = CONTROL.sub("?", line)
        colour = COLOURS.get(record.levelname, "") if self._colours else ""
        return f"{colour}{line}{PLAIN}" if colour else line


def when(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)
