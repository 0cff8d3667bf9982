"""`rayfleet autoscaler`: how a cluster is sized, by whom, and why."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.logs import CLUSTER_WORDS
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option, state_of
from rayfleet.cli.output import columns, dump_json, dump_yaml

if TYPE_CHECKING:
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State

Obj = dict[str, Any]
DECISIONS = 10
WAITING = "limit=1000&detail=1&filter_keys=state&filter_predicates=%3D&filter_values="
DEMAND = (("tasks", "PENDING_NODE_ASSIGNMENT"), ("actors", "PENDING_CREATION"), ("placement_groups", "PENDING"))


@click.command()
@click.argument("target", metavar="NAME | raycluster/NAME")
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Instead of tables.")
@namespace_option
@api_options
def command(target: str, output: str | None, namespace: str | None, **api: Any) -> None:
    """Show what waits for room in a RayCluster, its groups, its Pods with their nodes, and the last ten decisions.

    \b
    Examples:
      rayfleet autoscaler one
      rayfleet autoscaler raycluster/one -n team -o json
    """
    name = name_of(target)
    connection = connection_of(**api)

    async def run() -> Obj:
        async with client_of(connection) as client:
            return await read(client, state_of(api["state"]), namespace or connection.namespace, name)

    found = asyncio.run(run())
    if output:
        click.echo(dump_json(found) if output == "json" else dump_yaml(found), nl=output == "json")
    else:
        show(found)


def name_of(target: str) -> str:
    word, slash, name = target.rpartition("/")
    if (slash and word.lower() not in CLUSTER_WORDS) or not name:
        raise click.UsageError(f"{target!r} is not autoscaled here; write a RayCluster's NAME or raycluster/NAME")
    return name


async def read(client: Client, state: State, namespace: str, name: str) -> Obj:
    """Raises Failure when there is no such cluster."""
    from rayfleet.api.labels import CLUSTER
    from rayfleet.api.meta import EVENTS, PODS, RAYCLUSTERS
    from rayfleet.cli.near import find

    cluster = await find(client, RAYCLUSTERS, namespace, name)
    pods = await client.list(PODS, namespace, labels=f"{CLUSTER}={name}")
    events = await client.list(EVENTS, namespace)
    nodes, demand, unread = await ask_ray(client, state, cluster)
    return {
        "cluster": f"{namespace}/{name}",
        "sizedBy": who(cluster, pods),
        "condition": condition(cluster),
        "groups": [group(spec, pods) for spec in cluster["spec"].get("workerGroupSpecs") or ()],
        "instances": [instance(pod, nodes) for pod in sorted(pods, key=lambda pod: pod["metadata"]["name"])],
        "demand": demand,
        "decisions": decisions(events, cluster)[-DECISIONS:],
        "unread": unread,
    }


def who(cluster: Obj, pods: list[Obj]) -> str:
    if not cluster["spec"].get("enableInTreeAutoscaling"):
        return "nobody: enableInTreeAutoscaling is not set"
    if any(container["name"] == "autoscaler" for pod in pods for container in pod["spec"]["containers"]):
        return "Ray's autoscaler beside the head"
    return "the operator" if condition(cluster) else "nobody yet"


def condition(cluster: Obj) -> Obj:
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == "Autoscaling"), {})


def group(spec: Obj, pods: list[Obj]) -> Obj:
    mine = [pod for pod in pods if pod["metadata"]["labels"].get("ray.io/group") == spec["groupName"]]
    return {
        "group": spec["groupName"],
        "replicas": spec.get("replicas", 0),
        "min": spec.get("minReplicas", 0),
        "max": spec.get("maxReplicas", 2**31 - 1),
        "hosts": spec.get("numOfHosts", 1),
        "pods": len(mine),
        "toDelete": len((spec.get("scaleStrategy") or {}).get("workersToDelete") or ()),
    }


def instance(pod: Obj, nodes: dict[str, Obj]) -> Obj:
    node = nodes.get((pod.get("status") or {}).get("podIP", ""), {})
    phase = "Terminating" if pod["metadata"].get("deletionTimestamp") else (pod.get("status") or {}).get("phase", "")
    return {
        "pod": pod["metadata"]["name"],
        "group": pod["metadata"]["labels"].get("ray.io/group", ""),
        "phase": phase,
        "node": str(node.get("node_id", ""))[:12],
        "state": node.get("state", "not joined" if nodes else ""),
        "resources": shown(node.get("resources_total") or {}),
    }


def shown(resources: Obj) -> str:
    """Without what every node has of its own."""
    named = {name: amount for name, amount in resources.items() if not name.startswith("node:")}
    return ", ".join(f"{name}: {amount:g}" for name, amount in sorted(named.items()))


def decisions(events: list[Obj], cluster: Obj) -> list[Obj]:
    """Oldest first."""
    from rayfleet.cli.story import RESIZE, about, told_by_event

    name, uid = cluster["metadata"]["name"], cluster["metadata"]["uid"]
    mine = [each for each in events if about(each) == ("RayCluster", name) and (each["regarding"].get("uid") or uid) == uid]
    lines = sorted(told_by_event(each) for each in mine if each.get("action") == RESIZE)
    return [{"time": line.time, "why": line.text} for line in lines]


async def ask_ray(client: Client, state: State, cluster: Obj) -> tuple[dict[str, Obj], list[Obj], str]:
    """The living nodes by address, what waits for room, and why there is no more."""
    from rayfleet.cli.dashboard import ask
    from rayfleet.kube.errors import ApiError

    async def listed(what: str, query: str) -> Obj:
        return dict(json.loads(await ask(client, state, cluster, f"/api/v0/{what}?{query}"))["data"]["result"])

    try:
        nodes = {node["node_ip"]: node for node in (await listed("nodes", "limit=1000&detail=1"))["result"] if node.get("state") == "ALIVE"}
        waiting = {kind: await listed(kind, WAITING + pending) for kind, pending in DEMAND}
    except (ApiError, Failure, LookupError, ValueError, TypeError) as error:
        return {}, [], f"the head's dashboard does not say what waits: {error}"
    counts = Counter((kind, wanted(each)) for kind, found in waiting.items() for each in found["result"])
    rows = [{"count": count, "what": kind, "resources": what} for (kind, what), count in sorted(counts.items())]
    return nodes, rows, "; ".join(filter(None, (more_than_shown(kind, found) for kind, found in waiting.items())))


def more_than_shown(kind: str, found: Obj) -> str:
    """Ray hands out no more than so many; "" where that was all."""
    shown, there = len(found["result"]), found.get("num_filtered", 0)
    return f"only {shown} of at least {there} {kind} that wait are counted" if there > shown else ""


def wanted(waiting: Obj) -> str:
    """What one of them wants."""
    if bundles := waiting.get("bundles"):
        return "; ".join(shown(bundle.get("unit_resources") or {}) for bundle in bundles)
    return shown(waiting.get("required_resources") or {})


def show(found: Obj) -> None:
    told = found["condition"]
    word = f"{told['status']} ({told['reason']}){': ' + told['message'] if told.get('message') else ''}" if told else "not told"
    click.echo(f"{found['cluster']} is sized by {found['sizedBy']}. Autoscaling: {word}")
    for title, rows in (("Groups", "groups"), ("Pods", "instances"), ("Waiting", "demand"), ("Last decisions", "decisions")):
        click.echo(f"\n{title}")
        if found[rows]:
            click.echo(columns(list(found[rows][0]), [list(each.values()) for each in found[rows]]))
        elif rows != "demand" or not found["unread"]:
            click.echo("(none)")
        if rows == "demand" and found["unread"]:
            click.echo(f"({found['unread']})")
