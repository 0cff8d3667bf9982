"""`rayfleet logs`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.api.meta import RAYCLUSTERS, Resource
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option, state_of
from rayfleet.cli.ray_kinds import RAY_WORDS

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

CLUSTER_WORDS = tuple(word for word, each in RAY_WORDS.items() if each == RAYCLUSTERS)
POD_WORDS = ("pod", "pods", "po")


@click.command()
@click.argument("target", metavar="POD | UID | KIND/NAME", required=False)
@click.option("-c", "--container", metavar="NAME", help="Of which container; the first one by default.")
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come.")
@click.option("-p", "--previous", is_flag=True, help="Of the container's life before its restart, or of the Pod before.")
@click.option("--kept", is_flag=True, help="List the logs that a local fleet keeps of Pods that are gone.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("--autoscaler", is_flag=True, help="Of a RayCluster: only how it was sized, and why.")
@click.option("--monitor", is_flag=True, help="Of a RayCluster: the log of the head's own monitor (its autoscaler).")
@namespace_option
@api_options
def command(
    target: str | None,
    container: str | None,
    follow: bool,
    previous: bool,
    kept: bool,
    tail: int | None,
    autoscaler: bool,
    monitor: bool,
    namespace: str | None,
    **api: Any,
) -> None:
    """Print a Pod's log, or what the operator did for a RayCluster, RayService, RayJob or RayCronJob, and why.

    A local fleet keeps the logs of Pods that are gone, at most 256 MiB of them: they are found by the Pod's name or UID.

    \b
    Examples:
      rayfleet logs one-head-x2k7p -f
      rayfleet logs one-head-x2k7p --previous
      rayfleet logs --kept
      rayfleet logs raycluster/one
      rayfleet logs rayservice/shop
      rayfleet logs raycluster/one --autoscaler -f
      rayfleet logs raycluster/one --monitor --tail 20
    """
    if kept:
        from rayfleet.cli.kept_log import show_kept

        show_kept(state_of(api["state"]))
        return
    if not target:
        raise click.UsageError("say whose log: a Pod's name or UID, or KIND/NAME; --kept lists those of Pods that are gone")
    kind, name = kind_of(target)
    if kind != RAYCLUSTERS and (monitor or autoscaler):
        raise click.UsageError(f"--monitor and --autoscaler are of a RayCluster; write raycluster/NAME instead of {target}")
    if kind is not None and (container or previous or (follow and monitor)):
        raise click.UsageError("-c and --previous (and -f with --monitor) go with a Pod")
    connection = connection_of(**api)
    place = namespace or connection.namespace

    async def run() -> None:
        async with client_of(connection) as client:
            if kind is None:
                await print_log(client, state_of(api["state"]), place, name, container, follow=follow, previous=previous, tail=tail)
            elif monitor:
                from rayfleet.cli.monitor_log import print_monitor_log

                await print_monitor_log(client, state_of(api["state"]), place, name, tail)
            else:
                from rayfleet.cli.story import print_story

                await print_story(client, state_of(api["state"]), kind, place, name, follow=follow, tail=tail, sizes=autoscaler)

    asyncio.run(run())


def kind_of(target: str) -> tuple[Resource | None, str]:
    """None for a Pod, and the name."""
    word, slash, name = target.rpartition("/")
    if not slash or word in POD_WORDS:
        return None, name
    if name and (kind := RAY_WORDS.get(word.lower())):
        return kind, name
    raise click.UsageError(f"{target!r} has no log here; write a Pod's name, raycluster/NAME, rayservice/NAME or rayjob/NAME")


async def print_log(
    client: Client, state: State, namespace: str, name: str, container: str | None, *, follow: bool, previous: bool, tail: int | None
) -> None:
    """Of a Pod that is there, else of what is kept."""
    from rayfleet.cli.kept_log import is_of, print_kept
    from rayfleet.kube.errors import BadRequest, NotFound

    try:
        await print_pod_log(client, namespace, name, container, follow=follow, previous=previous, tail=tail)
    except (NotFound, BadRequest) as error:
        gone = isinstance(error, NotFound)
        if not (gone or previous) or not is_of(state, client):
            raise
        if not await print_kept(state, namespace, name, container, previous=gone and previous, unseen=gone, tail=tail):
            raise


async def print_pod_log(
    client: Client, namespace: str, name: str, container: str | None, *, follow: bool, previous: bool, tail: int | None
) -> None:
    """As it comes, byte for byte."""
    import sys
    from urllib.parse import urlencode

    from rayfleet.api.meta import PODS

    chosen = container or first_container(await client.get(PODS, name, namespace))
    query = {"container": chosen, "follow": "true" if follow else None, "previous": "true" if previous else None}
    query["tailLines"] = None if tail is None else str(tail)
    given = urlencode({key: value for key, value in query.items() if value is not None})
    async for part in client.stream(f"{PODS.path(namespace, name, 'log')}?{given}"):
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def first_container(pod: dict[str, Any]) -> str:
    """The one that an annotation names, as kubectl does it, else the first."""
    named = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    return str(named or pod["spec"]["containers"][0]["name"])
