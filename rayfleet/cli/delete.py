"""`rayfleet delete`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option

if TYPE_CHECKING:
    from rayfleet.api.meta import Resource
    from rayfleet.kube.client import Client

STEP = 0.2
Target = tuple["Resource", "str | None", str]


@click.command()
@click.argument("words", nargs=-1, metavar="[TYPE NAME... | TYPE/NAME...]")
@click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="The objects of YAML or JSON files.")
@click.option("--all", "every", is_flag=True, help="All objects of the type in the namespace.")
@click.option("--ignore-not-found", is_flag=True, help="What is not there is no failure.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Until the objects are gone.")
@click.option("--timeout", default=120.0, show_default=True, metavar="SECONDS", help="How long to wait.")
@namespace_option
@api_options
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    ignore_not_found: bool,
    wait: bool,
    timeout: float,
    namespace: str | None,
    **api: Any,
) -> None:
    """Delete objects by name, by file, or all of a type.

    \b
    Examples:
      rayfleet delete raycluster one
      rayfleet delete -f examples/two-clusters.yaml
      rayfleet delete pods --all -n test
    """
    if bool(words) == bool(files):
        raise click.UsageError("name what to delete: TYPE NAME, TYPE --all, or -f FILE")
    connection = connection_of(**api)

    async def run() -> list[str]:
        async with client_of(connection) as client:
            place = namespace or connection.namespace
            targets = await from_files(client, files, namespace, place) if files else await from_words(client, words, place, every)
            return await delete_all(client, targets, ignore_not_found, timeout if wait else 0.0)

    if failures := asyncio.run(run()):
        raise Failure("\n".join(failures))


async def from_files(client: Client, files: tuple[str, ...], namespace: str | None, usual: str) -> list[Target]:
    """In the reverse order of the files: what stands on others goes first."""
    from rayfleet.cli.apply import place_of
    from rayfleet.cli.kinds import Kinds
    from rayfleet.cli.manifests import load_manifests

    kinds = Kinds(client)
    targets: list[Target] = []
    for manifest in reversed(load_manifests(files)):
        resource = await kinds.of_object(manifest.body["apiVersion"], manifest.kind)
        targets.append((resource, place_of(manifest.body, namespace, usual) if resource.namespaced else None, manifest.name))
    return targets


async def from_words(client: Client, words: tuple[str, ...], place: str, every: bool) -> list[Target]:
    from rayfleet.cli.get import objects_of, queries_of

    queries = await queries_of(client, words, place, "")
    if every:
        found = [(query.resource, item["metadata"]) for query in queries for item in await objects_of(client, query)]
        return [(resource, metadata.get("namespace"), metadata["name"]) for resource, metadata in found]
    if any(query.name is None for query in queries):
        raise click.UsageError("name the objects, or write --all to delete every one of the type")
    return [(query.resource, query.namespace, str(query.name)) for query in queries]


async def delete_all(client: Client, targets: list[Target], ignore: bool, patience: float) -> list[str]:
    """Delete each, then wait for all to be gone. Returns the failures as sentences."""
    from rayfleet.cli.kinds import qualified
    from rayfleet.kube.errors import ApiError, NotFound

    failures, going = [], []
    for resource, place, name in targets:
        title = f"{qualified(resource)}/{name}"
        try:
            uid = (await client.get(resource, name, place))["metadata"]["uid"]
            await client.delete(resource, name, place, uid=uid, propagation="Background")
            click.echo(f"{title} deleted")
            going.append((resource, place, name, uid))
        except NotFound:
            if not ignore:
                failures.append(f"{title} is not there")
        except ApiError as error:
            failures.append(f"{title}: {error}")
    deadline = asyncio.get_running_loop().time() + patience
    for resource, place, name, uid in going if patience else ():
        if not await gone(client, resource, place, name, uid, deadline):
            failures.append(f"{qualified(resource)}/{name} is still there; a finalizer or a Pod that takes its time holds it (--no-wait)")
    return failures


async def gone(client: Client, resource: Resource, place: str | None, name: str, uid: str, deadline: float) -> bool:
    """Whether the object, or at least this one of its name, went before the deadline (of the loop's clock)."""
    from rayfleet.kube.errors import NotFound

    while True:
        try:
            if (await client.get(resource, name, place))["metadata"]["uid"] != uid:
                return True
        except NotFound:
            return True
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(STEP)
