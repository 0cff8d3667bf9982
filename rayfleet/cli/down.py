"""`rayfleet down`."""

from __future__ import annotations

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import state_of, state_option, words_for


@click.command()
@click.option("--delete-data", is_flag=True, help="Forget the objects and what claims hold, too.")
@state_option
def command(delete_data: bool, state: str | None) -> None:
    """Stop the local fleet, and see that no process of it is left.

    Its objects and the data of its claims are kept: the next `up` brings the clusters back.

    \b
    Examples:
      rayfleet down
      rayfleet down --delete-data
    """
    from rayfleet.local.end import end

    place = state_of(state)
    ended = end(place, forget=delete_data)
    if ended.left:
        raise Failure("the fleet is stopped, but this is left:\n" + "\n".join(f"  {what}" for what in ended.left))
    forgotten = " Its objects are forgotten." if delete_data else ""
    if not ended.ran:
        click.echo(f"No fleet runs in {place.path}.{forgotten}")
        return
    kept = forgotten or f" Its objects are kept in {place.path}; `rayfleet down{words_for(place)} --delete-data` forgets them."
    click.echo(f"The fleet is stopped: {ended.processes} processes ended, nothing is left.{kept}")
