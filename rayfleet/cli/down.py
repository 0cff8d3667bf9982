"""`rayfleet down`."""

from __future__ import annotations

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import state_of, state_option


@click.command()
@click.option("--keep", is_flag=True, help="Keep the objects: the next `up` brings the clusters back.")
@state_option
def command(keep: bool, state: str | None) -> None:
    """Stop the local fleet, and see that nothing of it is left.

    \b
    Examples:
      rayfleet down
      rayfleet down --keep
    """
    from rayfleet.local.end import end

    place = state_of(state)
    ended = end(place, keep=keep)
    if ended.left:
        raise Failure("the fleet is stopped, but this is left:\n" + "\n".join(f"  {what}" for what in ended.left))
    if not ended.ran:
        click.echo(f"No fleet runs in {place.path}.")
        return
    kept = f" Its objects are kept in {place.path}." if keep else ""
    click.echo(f"The fleet is stopped: {ended.processes} processes ended, nothing is left.{kept}")
