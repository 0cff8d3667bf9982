"""The command `rayfleet`: which commands there are, and how their failures end."""

from __future__ import annotations

import importlib
import os
import sys

import click

from rayfleet.cli.failure import Failure, explain
from rayfleet.version import VERSION

COMMANDS = {
    "up": "up",
    "down": "down",
    "status": "status",
    "apply": "apply",
    "get": "get",
    "delete": "delete",
    "scale": "scale",
    "rollout": "rollout",
    "service": "service",
    "logs": "logs",
    "job": "job",
    "node": "node",
    "autoscaler": "autoscaler",
    "explain": "explain",
    "doctor": "doctor",
    "token": "token",
    "session": "session",
    "plan": "plan",
    "diff": "diff",
    "migrate": "migrate",
    "render": "render",
    "convert": "convert",
    "crds": "crds",
    "run": "run",
    "kubelet": "kubelet",
    "hollow-kubelet": "hollow_kubelet",
    "version": "version",
    "internal": "internal",
}


class Commands(click.Group):
    """Loads a command's module when it is asked for, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"rayfleet.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="rayfleet")
def rayfleet() -> None:
    """Fleets of Ray clusters: on Kubernetes, and on one machine without it.

    \b
    Two Ray clusters on this machine:
      rayfleet up -f examples/two-clusters.yaml
      rayfleet status
      rayfleet down
    """


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 asked wrongly, 130 interrupted; `job` exits as its job did."""
    try:
        code = rayfleet.main(prog_name="rayfleet", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader (head, less) has gone; nothing more can be said, also not at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        text = explain(error)
        if text is None:
            raise
        Failure(text).show()
        sys.exit(1)
