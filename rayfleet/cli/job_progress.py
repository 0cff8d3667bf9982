"""What a person sees while a job is waited for: its standing on standard error, its log on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from rayfleet.cli.output import dump_json, dump_yaml

COLOURS = {"SUCCEEDED": "green", "FAILED": "red", "STOPPED": "yellow"}


@contextmanager
def progress(*, log_to_error: bool = False) -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """(tell, write). On a terminal the standing is one line that turns until there is a log; elsewhere a line for each change."""
    stream = sys.stderr if log_to_error else sys.stdout

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    if not sys.stderr.isatty():
        yield say, write
        return
    from rich.console import Console
    from rich.text import Text

    waiting = Console(stderr=True).status("")

    def tell(text: str) -> None:
        if colour_of(text):
            waiting.stop()
            say(text)
        else:
            waiting.update(Text(text))
            waiting.start()

    def write_alone(text: str) -> None:
        waiting.stop()
        write(text)

    try:
        yield tell, write_alone
    finally:
        waiting.stop()


def say(text: str) -> None:
    """Coloured on a terminal only."""
    click.echo(click.style(text, fg=colour) if (colour := colour_of(text)) else text, err=True)


def colour_of(text: str) -> str | None:
    """None for a job that is not over."""
    return next((colour for word, colour in COLOURS.items() if f" {word}" in text), None)


def show(job: dict[str, Any], form: str) -> None:
    """As JSON, YAML, or its name."""
    if form == "name":
        click.echo(f"rayjob.ray.io/{job['metadata']['name']}")
    else:
        click.echo(dump_json(job) if form == "json" else dump_yaml(job), nl=form == "json")
