"""`rayfleet version`."""

from __future__ import annotations

import click

from rayfleet.version import VERSION


@click.command()
def command() -> None:
    """Print the version.

    \b
    Example:
      rayfleet version
    """
    click.echo(VERSION)
