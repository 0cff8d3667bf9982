"""`rayfleet convert`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import files_option
from rayfleet.cli.output import dump_yaml

if TYPE_CHECKING:
    from rayfleet.api.legacy import Converted, Note

Obj = dict[str, Any]


@click.command()
@files_option
@click.option("--hosted-autoscaling", "hosted", is_flag=True, help="Let the operator scale the clusters, not a container.")
def command(files: tuple[str, ...], hosted: bool) -> int:
    """Turn manifests of other times into ray.io/v1, on standard output.

    \b
    Taken are
      the cluster YAML of `ray up` for the provider kubernetes, also in its older shapes
      RayClusters of cluster.ray.io/v1, the Python operator's
      RayClusters, RayJobs and RayServices of ray.io/v1alpha1

    Objects of other kinds are passed on as they are. What has no counterpart today, and what to do instead, is listed on standard error.
    Exit code: 0 all was said again, 1 something was lost or could not be read.

    \b
    Examples:
      rayfleet convert -f cluster.yaml > raycluster.yaml
      rayfleet convert -f old-resources/ | kubectl apply -f -
    """
    done = list(converted(files, hosted))
    click.echo("---\n".join(dump_yaml(each) for found in done for each in found.objects), nl=False)
    notes = [note for found in done for note in found.notes]
    for note in notes:
        click.echo(f"{'lost' if note.lost else 'note'}: {note}", err=True)
    return 1 if any(note.lost for note in notes) else 0


def converted(files: tuple[str, ...], hosted: bool) -> Iterator[Converted]:
    """Raises Failure with file and line, BadManifest."""
    from rayfleet.api.legacy import Converted, Inconvertible, convert
    from rayfleet.cli.manifests import read_documents

    for place, document in read_documents(files):
        try:
            found = convert(document, hosted=hosted)
        except Inconvertible as error:
            raise Failure(f"{place}: {error}") from error
        yield Converted(found.objects, (*found.notes, *refusals(found)))


def refusals(found: Converted) -> Iterator[Note]:
    """What the operator would not take of the result."""
    from rayfleet.api.config import Configuration
    from rayfleet.api.legacy import Note
    from rayfleet.sim.ideal import is_ray, refusals

    for each in found.objects:
        if is_ray(each):
            for fault in refusals(each, Configuration(), 0.0):
                yield Note(f"result: {fault.path}", fault.value, fault.allowed, lost=True)
