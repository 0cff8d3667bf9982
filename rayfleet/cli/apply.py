"""`rayfleet apply`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure, explain
from rayfleet.cli.options import api_options, client_of, connection_of, files_option, namespace_option

if TYPE_CHECKING:
    from rayfleet.cli.kinds import Kinds
    from rayfleet.cli.manifests import Manifest
    from rayfleet.kube.client import Client

CRD_IN = 5.0  # seconds for a kind whose CustomResourceDefinition was applied just before


@click.command()
@files_option
@namespace_option
@api_options
def command(files: tuple[str, ...], namespace: str | None, kubeconfig: str | None, context: str | None, state: str | None) -> None:
    """Create or change the objects of files, of any kind.

    What another program changed stays, unless the file says otherwise (a three-way merge, as kubectl does it).

    \b
    Example:
      rayfleet apply -f examples/two-clusters.yaml
      rayfleet get raycluster one -o yaml | rayfleet apply -f -
    """
    from rayfleet.cli.manifests import load_manifests

    manifests = load_manifests(files)
    if not manifests:
        raise Failure(f"no object in {', '.join(files)}")
    connection = connection_of(kubeconfig, context, state)

    async def run() -> list[str]:
        async with client_of(connection) as client:
            return await apply_all(client, manifests, namespace, connection.namespace)

    if failures := asyncio.run(run()):
        raise Failure("\n".join(failures))


async def apply_all(client: Client, manifests: list[Manifest], namespace: str | None, usual: str) -> list[str]:
    """Apply each in turn, telling what was done; one that fails does not stop the others. Returns the failures as sentences."""
    from rayfleet.cli.kinds import Kinds

    kinds = Kinds(client)
    failures = []
    for manifest in manifests:
        for warning in doubts(manifest):
            click.echo(f"Warning: {manifest.place}: {warning}", err=True)
        try:
            click.echo(await apply_one(client, kinds, manifest, namespace, usual))
        except Exception as error:
            text = error.message if isinstance(error, click.ClickException) else explain(error)
            if text is None:
                raise
            failures.append(f"{manifest.place}: {manifest.kind} {manifest.name}: {text}")
    return failures


def doubts(manifest: Manifest) -> list[str]:
    """Fields of our own kinds that nobody knows; the API server would drop them without a word."""
    import msgspec

    from rayfleet.api.load import unknown_fields

    try:
        return [str(field) for field in unknown_fields(msgspec.json.encode(manifest.sendable()))]
    except ValueError as error:
        return [str(error)]


async def apply_one(client: Client, kinds: Kinds, manifest: Manifest, namespace: str | None, usual: str) -> str:
    """Create or patch one object; the sentence says which: `raycluster.ray.io/one created`."""
    from rayfleet.cli.kinds import qualified
    from rayfleet.cli.merge import patch_for, remembered
    from rayfleet.kube.errors import AlreadyExists, NotFound

    resource = await served(kinds, manifest)
    body = manifest.sendable()
    place = place_of(body, namespace, usual) if resource.namespaced else None
    title = f"{qualified(resource)}/{manifest.name}"
    if not manifest.name:
        made = await client.create(resource, body, place)
        return f"{title}{made['metadata']['name']} created"
    try:
        live = await client.get(resource, manifest.name, place)
    except NotFound:
        try:
            await client.create(resource, remembered(body), place)
            return f"{title} created"
        except AlreadyExists:
            live = await client.get(resource, manifest.name, place)
    patch = patch_for(live, body)
    if not patch:
        return f"{title} unchanged"
    await client.patch(resource, manifest.name, place, patch, kind="merge")
    return f"{title} configured"


async def served(kinds: Kinds, manifest: Manifest) -> Any:
    """The resource of an object; a little patience, as its CRD may have been applied a moment ago. Raises Failure."""
    deadline = asyncio.get_running_loop().time() + CRD_IN
    while True:
        try:
            return await kinds.of_object(manifest.body["apiVersion"], manifest.kind)
        except Failure:
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.2)


def place_of(body: dict[str, Any], namespace: str | None, usual: str) -> str:
    """The namespace an object goes to. Raises Failure when the file and -n disagree."""
    written = body["metadata"].get("namespace")
    if written and namespace and written != namespace:
        raise Failure(f"the file says namespace {written}, -n says {namespace}; leave one of them out")
    return str(written or namespace or usual)
