"""`rayfleet get`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure, explain
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option

if TYPE_CHECKING:
    from rayfleet.api.meta import Resource
    from rayfleet.cli.table import Query
    from rayfleet.kube.client import Client
    from rayfleet.kube.connection import Connection

ALL = ("rayclusters", "rayjobs", "rayservices", "raycronjobs")


@click.command()
@click.argument("words", nargs=-1, metavar="[TYPE[,TYPE] | TYPE/NAME] [NAME]...")
@namespace_option
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Of all namespaces.")
@click.option("-l", "--selector", default="", metavar="LABELS", help="Only objects with these labels.")
@click.option("-o", "--output", type=click.Choice(["wide", "json", "yaml", "name"]), help="Instead of a table.")
@api_options
def command(words: tuple[str, ...], namespace: str | None, everywhere: bool, selector: str, output: str | None, **api: Any) -> None:
    """List objects, of any kind that the API server has. Without a type: the Ray kinds.

    \b
    Examples:
      rayfleet get
      rayfleet get pods -A -o wide
      rayfleet get raycluster/one -o yaml
    """
    connection = connection_of(**api)
    if everywhere and namespace:
        raise click.UsageError("-n and -A exclude each other")

    async def run() -> bool:
        async with client_of(connection) as client:
            place = None if everywhere else namespace or connection.namespace
            queries = await queries_of(client, words, place, selector)
            if everywhere and any(query.name for query in queries):
                raise click.UsageError("a name belongs to one namespace: use -n instead of -A")
            if output in ("json", "yaml", "name"):
                return await show_objects(client, queries, output)
            return await show_tables(connection, queries, wide=output == "wide", namespaces=everywhere)

    if not asyncio.run(run()):
        where = "any namespace" if everywhere else f"namespace {namespace or connection.namespace}"
        click.echo(f"No {' or '.join(words) or 'Ray object'} in {where}.", err=True)


async def queries_of(client: Client, words: tuple[str, ...], namespace: str | None, labels: str) -> list[Query]:
    """What the words mean. Raises Failure for a type that does not exist, UsageError for a mixture."""
    from rayfleet.cli.kinds import Kinds
    from rayfleet.cli.table import Query

    kinds = Kinds(client)

    async def query(word: str, name: str | None) -> Query:
        resource = await kinds.of_word(word)
        return Query(resource, namespace if resource.namespaced else None, name, labels)

    if not words:
        return [await query(word, None) for word in ALL if word != "raycronjobs" or await kinds.has(word)]  # older definitions lack them
    if any("/" in word for word in words):
        if not all("/" in word for word in words):
            raise click.UsageError("write either TYPE NAME... or TYPE/NAME..., not both")
        return [await query(*split(word)) for word in words]
    types = words[0].split(",")
    if words[1:]:
        if len(types) > 1:
            raise click.UsageError("names go with one type only; write TYPE/NAME TYPE/NAME")
        return [await query(types[0], name) for name in words[1:]]
    return [await query(word, None) for word in types]


def split(word: str) -> tuple[str, str]:
    kind, _, name = word.partition("/")
    if not kind or not name:
        raise click.UsageError(f"{word!r} is no TYPE/NAME")
    return kind, name


async def objects_of(client: Client, query: Query) -> list[dict[str, Any]]:
    if query.name:
        return [await client.get(query.resource, query.name, query.namespace)]
    found = await client.list(query.resource, query.namespace, labels=query.labels)
    return [{"apiVersion": query.resource.api_version, "kind": query.resource.kind} | item for item in found]


async def show_objects(client: Client, queries: list[Query], form: str) -> bool:
    """Objects as JSON, YAML or names; a single one that was asked for by name stands alone, others in a List."""
    from rayfleet.cli.kinds import qualified
    from rayfleet.cli.output import dump_json, dump_yaml

    found = [(query.resource, item) for query in queries for item in await objects_of(client, query)]
    if form == "name":
        for resource, item in found:
            click.echo(f"{qualified(resource)}/{item['metadata']['name']}")
        return bool(found)
    alone = len(queries) == 1 and queries[0].name
    value = found[0][1] if alone else {"apiVersion": "v1", "kind": "List", "items": [item for _, item in found]}
    click.echo(dump_json(value) if form == "json" else dump_yaml(value), nl=form == "json")
    return True


async def show_tables(connection: Connection, queries: list[Query], *, wide: bool, namespaces: bool) -> bool:
    """One table a type. An object that is not there fails the command, after the others have been shown."""
    from rayfleet.cli.kinds import qualified
    from rayfleet.cli.table import fetch_table, render_table

    tables: dict[Resource, dict[str, Any]] = {}
    failures = []
    for query in queries:
        try:
            table = await fetch_table(connection, query)
        except Exception as error:
            if (text := explain(error)) is None:
                raise
            failures.append(text)
            continue
        tables.setdefault(query.resource, table | {"rows": []})["rows"] += table["rows"]
    shown = {resource: table for resource, table in tables.items() if table["rows"]}
    several = len(shown) > 1
    texts = [
        render_table(table, wide=wide, namespaces=namespaces and resource.namespaced, prefix=f"{qualified(resource)}/" if several else "")
        for resource, table in shown.items()
    ]
    if texts:
        click.echo("\n\n".join(texts))
    if failures:
        raise Failure("\n".join(failures))
    return bool(shown)
