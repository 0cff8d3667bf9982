"""Options that several commands share, each in one place."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.kube.connection import Connection
    from rayfleet.local.state import State

Command = Callable[..., Any]


FLEET = "rayfleet.fleet"


def state_option(command: Command) -> Command:
    """--state, and --fleet for those who do not care where."""
    told = "The local fleet's directory [default: $XDG_STATE_HOME/rayfleet]."
    command = click.option("--state", metavar="DIR", callback=lambda context, _, value: value or context.meta.get(FLEET), help=told)(
        command
    )
    told = "The local fleet of this name: several live side by side [default: $RAYFLEET_FLEET]."
    return click.option(
        "--fleet", metavar="NAME", envvar="RAYFLEET_FLEET", is_eager=True, expose_value=False, callback=remember_fleet, help=told
    )(command)


def remember_fleet(context: click.Context, _: click.Parameter, name: str | None) -> None:
    from rayfleet.local.state import default_state, is_fleet_name

    if name and not is_fleet_name(name):
        raise click.BadParameter(f"{name!r} is no name of a fleet: lower-case letters, digits and dashes, at most 40", context)
    if name:
        context.meta[FLEET] = str(default_state(os.environ, name))


def api_options(command: Command) -> Command:
    """Which API server to talk to."""
    for option in (
        click.option("--kubeconfig", metavar="FILE", help="A kubeconfig [default: $KUBECONFIG, the local fleet's, ~/.kube/config]."),
        click.option("--context", metavar="NAME", help="A context of the kubeconfig."),
    ):
        command = option(command)
    return state_option(command)


def namespace_option(command: Command) -> Command:
    return click.option("-n", "--namespace", metavar="NAME", help="The namespace [default: the kubeconfig's].")(command)


def files_option(command: Command) -> Command:
    told = "YAML or JSON, also of several objects; - is standard input. May be given again."
    return click.option("-f", "--filename", "files", multiple=True, required=True, metavar="FILE", help=told)(command)


def now_option(command: Command) -> Command:
    told = "Take this time (RFC 3339) for now, instead of the clock's."
    return click.option("--now", metavar="TIME", callback=seconds_of, help=told)(command)


def seconds_of(context: click.Context, parameter: click.Parameter, value: str | None) -> float:
    """Seconds since 1970. Raises BadParameter."""
    from rayfleet.planning.clock import parse_rfc3339

    if value is None:
        return time.time()
    try:
        return parse_rfc3339(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no time; write it as 2026-01-31T08:00:00Z") from error


def state_of(path: str | None) -> State:
    """The state directory meant by --state."""
    from rayfleet.local.state import State, default_state

    return State(Path(path).expanduser().resolve() if path else default_state(os.environ))


def connection_of(kubeconfig: str | None, context: str | None, state: str | None) -> Connection:
    """--kubeconfig, else KUBECONFIG, else the local fleet that is up, else ~/.kube/config. --state names a fleet, and so comes first too.

    Raises ConfigError, also where it is that of a local fleet which nobody can reach: then with the mend.
    """
    from rayfleet.kube.connection import ConfigError, default_path, load_kubeconfig
    from rayfleet.local.state import State

    if kubeconfig is None and (state or not os.environ.get("KUBECONFIG")):
        place = state_of(state)
        if place.kubeconfig.exists():
            kubeconfig = str(place.kubeconfig)
        elif state:
            raise ConfigError(no_fleet(place))
        elif not default_path().exists():
            raise ConfigError(f"{no_fleet(place)}\nNor is there {default_path()}; --kubeconfig or KUBECONFIG names another API server.")
    if closed := closed_fleet(State((Path(kubeconfig) if kubeconfig else default_path()).resolve().parent)):
        raise ConfigError(closed)
    return load_kubeconfig(kubeconfig, context)


def closed_fleet(place: State) -> str:
    """Why nobody reaches the local fleet that was begun in this directory, and the mend; "" where one lives, and where none was begun."""
    from rayfleet.local.find import find_door, find_holder

    if not place.started.exists() or find_door(place):
        return ""
    if find_holder(place) is None:
        return no_fleet(place)
    return (
        f"the door of the local fleet in {place.path} is dead, so the host's ports are closed; clusters live on. "
        f"Open it again with: rayfleet up{words_for(place)}"
    )


def no_fleet(place: State) -> str:
    """What to tell where a fleet is needed and none runs: how to start this one."""
    return f"no local fleet runs in {place.path}; start one with: rayfleet up{words_for(place)}"


def words_for(place: State) -> str:
    """The flag that names this fleet in a command to be typed, "" for the one that needs none."""
    from rayfleet.local.state import default_state

    usual = default_state(os.environ)
    if place.path == usual.resolve():
        return ""
    name = place.path.name.removeprefix(f"{usual.name}-")
    return f" --fleet {name}" if place.path == default_state(os.environ, name).resolve() else f" --state {shlex.quote(str(place.path))}"


def client_of(connection: Connection) -> Client:
    """A client that tells the API server's warnings on standard error."""
    from rayfleet.kube.client import Client

    return Client(connection, user_agent="rayfleet-cli", on_warning=lambda path, text: click.echo(f"Warning: {text}", err=True))
