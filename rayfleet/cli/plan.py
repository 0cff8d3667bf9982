"""`rayfleet plan`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.live import Case, as_applied, discovered, objects_of, unattended
from rayfleet.cli.options import api_options, client_of, connection_of, files_option, namespace_option, now_option
from rayfleet.cli.output import FORMS, output_option

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.planning.actions import Action
    from rayfleet.sim.ideal import NextSteps


@click.command()
@files_option
@namespace_option
@click.option("--live", is_flag=True, help="Against what the API server has now; it is read, never written.")
@output_option
@now_option
@configuration_options
@api_options
def command(
    files: tuple[str, ...], namespace: str | None, live: bool, output: str, now: float, file: str | None, gates: str, **api: Any
) -> None:
    """Print what the operator would do next for the RayClusters, RayJobs, RayServices and RayCronJobs of files, and why.

    Without --live no API server is asked: the objects are taken for new ones. Ray is never asked: what it would be asked, or told, is
    printed.

    \b
    Examples:
      rayfleet plan -f examples/two-clusters.yaml
      rayfleet plan --live -f changed.yaml
      rayfleet plan -f nightly.yaml --now 2026-12-24T03:00:00Z -o json
    """
    from rayfleet.sim.ideal import next_steps

    configuration = configuration_of(file, gates, os.environ)
    if live:
        connection = connection_of(**api)

        async def run() -> tuple[Configuration, list[Case]]:
            async with client_of(connection) as client:
                cases = [await as_applied(client, each) for each in objects_of(files, namespace or connection.namespace)]
                return await discovered(client, configuration), cases

        configuration, cases = asyncio.run(run())
    else:
        cases = [Case(each) for each in objects_of(files, namespace or "default")]
    found = [(case, next_steps(case.wanted, configuration, now, case.children)) for case in cases]
    if output == "text":
        click.echo("\n".join(line for case, steps in found for line in lines_of(case, steps, configuration, now)))
    else:
        click.echo(FORMS[output]([entry(case, steps, configuration, now) for case, steps in found]))


def lines_of(case: Case, steps: NextSteps, configuration: Configuration, now: float) -> Iterator[str]:
    from rayfleet.sim.transcript import plan_told

    lines = plan_told(*steps)
    if again := next_look(steps, now):
        lines.append(f"look again at {again}")
    yield f"{case.kind.lower()} {case.title}"
    yield from (f"  {line}" for line in lines or ["nothing to do"])
    yield from (f"  note: {note}" for note in unattended(case, configuration))


def next_look(steps: NextSteps, now: float) -> str | None:
    """The time at which something is due by itself; None when nothing is, or at once."""
    from rayfleet.planning.clock import rfc3339

    wait = steps.plan.requeue_after
    return rfc3339(now + wait) if wait else None


def entry(case: Case, steps: NextSteps, configuration: Configuration, now: float) -> dict[str, Any]:
    """One object's part of the output for programs."""
    from rayfleet.sim.transcript import told

    def action(each: Action) -> dict[str, Any]:
        return {"does": told(each), "kind": each.resource.kind, "name": each.name, "why": each.reason}

    plan, asked = steps
    calls = [(call.target.cluster.name, f"{call.message.method} {call.message.path}", call.note) for call in plan.calls]
    return {
        "kind": case.kind,
        "name": case.title,
        "actions": [action(each) for each in plan.actions],
        "calls": [{"rayCluster": cluster, "sends": what, "why": why} for cluster, what, why in calls],
        "asks": [{"rayCluster": each.cluster.name, "sends": each.what} for each in asked],
        "events": [{"type": each.type, "reason": each.reason, "note": each.note} for each in plan.events],
        "status": plan.status.reason if plan.status else None,
        "looksAgain": next_look(steps, now),
        "notes": list(unattended(case, configuration)),
    }
