from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.runtime.logs import setup


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def undo() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def say(stream: io.StringIO, form: str = "auto") -> str:
    setup(form, "info", stream)
    log = logging.getLogger("rayfleet.test")
    log.debug("unheard")
    log.warning("quota of %s\x1b[2J is used up", "team", extra={"object": "team/demo"})
    return stream.getvalue()


def test_elsewhere_than_on_a_terminal_each_line_is_json_with_its_object() -> None:
    line = json.loads(say(io.StringIO()))
    assert line["object"] == "team/demo" and line["level"] == "warning" and line["message"] == "quota of team\x1b[2J is used up"
    assert line["time"].endswith("+00:00")


def test_on_a_terminal_it_is_text_in_colour_that_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = say(Terminal())
    assert text.startswith("\x1b[33m") and "WARNING team/demo  quota of team?[2J is used up" in text
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in say(Terminal())
    assert "\x1b" not in say(io.StringIO(), "console")


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_failure_brings_its_trace(form: str) -> None:
    stream = io.StringIO()
    setup(form, "info", stream)
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        logging.getLogger("rayfleet.test").exception("the look failed")
    text = stream.getvalue()
    assert "the look failed" in text and "RuntimeError: broken" in text and "Traceback" in text


def test_unknown_forms_and_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="json, console or auto"):
        setup("xml")
    with pytest.raises(ValueError, match="LOUD"):
        setup("json", "loud", io.StringIO())


def test_a_file_gets_the_same_lines_in_a_form_of_its_own(tmp_path: Path) -> None:
    stream, file = io.StringIO(), tmp_path / "new" / "operator.log"
    setup("console", "info", stream, file=str(file))
    logging.getLogger("rayfleet.test").info("heard", extra={"object": "team/demo"})
    assert "INFO" in stream.getvalue() and "heard" in stream.getvalue()
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["object"] == "team/demo"
