"""Objects and tables as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

Command = Callable[..., Any]


def output_option(command: Command) -> Command:
    choice = click.Choice(["text", "json", "yaml"])
    return click.option("-o", "--output", type=choice, default="text", show_default=True)(command)


def dump_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def dump_yaml(value: Any) -> str:
    """Texts of several lines stand as they are read."""
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Its own, so that nobody else's texts look different for it."""

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=140))


def columns(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Cells under their titles, left-aligned, three blanks between; no line ends in blanks."""
    texts = [[title.upper() for title in header], *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(line[index]) for line in texts) for index in range(len(header))]
    return "\n".join("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in texts)


def shown(cell: Any) -> str:
    return "" if cell is None else str(cell).replace("\n", " ")


FORMS: dict[str, Callable[[Any], str]] = {"json": dump_json, "yaml": lambda value: dump_yaml(value).rstrip("\n")}
"""What `-o` names, as text without a last newline."""
