"""`rayfleet diff`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.configuration import configuration_of, configuration_options
from rayfleet.cli.failure import Failure, explain
from rayfleet.cli.live import Case, as_applied, discovered, objects_of, unattended
from rayfleet.cli.options import api_options, client_of, connection_of, files_option, namespace_option, now_option
from rayfleet.cli.output import FORMS, output_option

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.sim.foresight import Change

NOTHING, SOMETHING, TROUBLE = 0, 1, 2
# Fields whose new value only new Pods get (KubeRay, 2.6).
OF_PODS = re.compile(r"spec\.(rayVersion|(headGroupSpec|workerGroupSpecs\[\d+\])\.(template|rayStartParams|resources|labels))\b")
KEPT = "living Pods keep what they were made from, and only new ones get this; upgradeStrategy.type: Recreate replaces them all"


class Trouble(Failure):
    """The question could not be answered; exit code 2, as 1 means that there is a difference."""

    exit_code = TROUBLE


@click.command()
@files_option
@namespace_option
@output_option
@now_option
@configuration_options
@api_options
def command(files: tuple[str, ...], namespace: str | None, output: str, now: float, file: str | None, gates: str, **api: Any) -> int:
    """Print what applying the Ray objects of files would change: the objects themselves, and in the end what hangs below them, and why.

    The API server is read, never written, and Ray is not asked: it is taken for granted that it runs what it was last given, and what it
    would be sent is printed. A job that would come to run is followed until it runs. Exit code: 0 nothing would change, 1 something would,
    2 it could not be found out.

    \b
    Examples:
      rayfleet diff -f changed.yaml && echo nothing to do
      rayfleet diff -f service.yaml -o yaml
    """
    with troubled():
        cases = compared(files, namespace, configuration_of(file, gates, os.environ), now, api)
    if output in FORMS:
        click.echo(FORMS[output](cases))
    else:
        click.echo("\n".join(line for case in cases for line in lines_of(case)))
    return SOMETHING if any(case["changes"] for case in cases) else NOTHING


@contextmanager
def troubled() -> Iterator[None]:
    """What fails inside is a question that could not be answered. Raises Trouble, UsageError."""
    try:
        yield
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise Trouble(error.format_message()) from error
    except Exception as error:
        if (text := explain(error)) is None:
            raise
        raise Trouble(text) from error


def compared(
    files: tuple[str, ...], namespace: str | None, configuration: Configuration, now: float, api: dict[str, Any]
) -> list[dict[str, Any]]:
    """Raises Trouble with every fault of every spec, ApiError, ConfigError."""
    from rayfleet.sim.ideal import Refused

    connection = connection_of(**api)

    async def read() -> tuple[Configuration, list[Case]]:
        async with client_of(connection) as client:
            cases = [await as_applied(client, each) for each in objects_of(files, namespace or connection.namespace)]
            return await discovered(client, configuration), cases

    found, faults = [], []
    whole, cases = asyncio.run(read())
    for case in cases:
        try:
            found.append(told(case, whole, now))
        except Refused as refusal:
            faults.append(str(refusal))
    if faults:
        raise Trouble("refused:\n" + "\n".join(faults))
    return found


def told(case: Case, configuration: Configuration, now: float) -> dict[str, Any]:
    """One object's entry of the JSON output. Raises Refused."""
    from rayfleet.sim.foresight import foresee

    below = foresee(case.wanted, configuration, now, case.children, case.found)
    fields = [] if case.found is None else [str(each) for each in fields_of(case)]
    own: list[dict[str, Any]] = []
    if case.found is None:
        own.append({"verb": "create", "kind": case.kind, "name": case.wanted["metadata"]["name"], "why": "it is not there"})
    elif fields:
        why = "the file says otherwise"
        own.append({"verb": "change", "kind": case.kind, "name": case.wanted["metadata"]["name"], "why": why, "fields": fields})
    kept = (
        case.kind == "RayCluster"
        and any(map(OF_PODS.match, fields))
        and not any((each.verb, each.kind) == ("replace", "Pod") for each in below)
    )
    notes = [*([KEPT] if kept else []), *unattended(case, configuration)]
    return {"kind": case.kind, "name": case.title, "changes": own + [entry(each) for each in below], "notes": notes}


def fields_of(case: Case) -> list[Any]:
    """What the file changes in the object; a default that is written out is no change."""
    import msgspec

    from rayfleet.cli.fields import differences
    from rayfleet.cli.merge import without_note
    from rayfleet.sim.ideal import typed

    def whole(each: dict[str, Any]) -> dict[str, Any]:
        decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(typed(each)))
        return {"metadata": without_note(each)["metadata"], "spec": decoded.get("spec", {})}

    return list(differences(whole(case.found or case.wanted), whole(case.wanted)))


def entry(change: Change) -> dict[str, Any]:
    found = {"verb": change.verb, "kind": change.kind, "name": change.name, "why": change.why}
    return found | ({"by": change.by} if change.by else {}) | ({"sends": change.what} if change.what else {})


def lines_of(case: dict[str, Any]) -> Iterator[str]:
    """Changes that share a reason share the line that tells it."""
    yield f"{case['kind'].lower()} {case['name']}"
    changes = case["changes"]
    for number, change in enumerate(changes):
        more = f" by {change['by']}" if "by" in change else f" {change['sends']}" if "sends" in change else ""
        yield f"  {change['verb']} {change['kind'].lower()}/{change['name']}{more}"
        yield from (f"      {field}" for field in change.get("fields", ()))
        following = changes[number + 1] if number + 1 < len(changes) else {}
        if (following.get("verb"), following.get("why")) != (change["verb"], change["why"]):
            yield f"    because {change['why']}"
    if not changes:
        yield "  nothing to do"
    yield from (f"  note: {note}" for note in case["notes"])
