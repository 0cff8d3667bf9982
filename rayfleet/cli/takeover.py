"""What would change if rayfleet took live RayClusters over from another operator: read, never written."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rayfleet.api.meta import LEASES, PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Resource
from rayfleet.cli.live import Case, Obj, children_in, discovered

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.kube.client import Client

DELETED = "it is being deleted"
UNATTENDED = "this version does not look after it: with no other operator nobody would"


async def surveyed(client: Client, namespace: str | None, configuration: Configuration) -> dict[str, Any]:
    """The whole report. No namespace: all. Raises ApiError when RayClusters, or their Pods and Services, may not be listed.

    `clusters` are as `diff` tells them, `unattended` are objects of other Ray kinds, `operators` hold the lease, `unseen` may not be read.
    """
    whole = await discovered(client, configuration)
    found = await client.list(RAYCLUSTERS, namespace)
    clusters: list[dict[str, Any]] = []
    unseen: list[str] = []
    for place in sorted({each["metadata"]["namespace"] for each in found}):
        children, hidden = await children_in(client, place)
        unseen += [f"{resource.plural} in {place}" for resource in sorted(hidden, key=lambda each: each.plural)]
        clusters += [judged(each, children, hidden, whole) for each in found if each["metadata"]["namespace"] == place]
    left = [entry async for entry in unattended(client, namespace, whole, unseen)]
    return {"clusters": clusters, "unattended": left, "operators": await operators(client, namespace, unseen), "unseen": unseen}


def judged(cluster: Obj, children: tuple[Obj, ...], hidden: Iterable[Resource], configuration: Configuration) -> dict[str, Any]:
    """One cluster's entry. What hangs on kinds that may not be read is not guessed at."""
    from rayfleet.cli.diff import told
    from rayfleet.sim.ideal import Refused

    case = Case(cluster, cluster, children)
    if cluster["metadata"].get("deletionTimestamp"):
        return {"kind": "RayCluster", "name": case.title, "changes": [], "notes": [DELETED]}
    try:
        found = told(case, configuration, time.time())
    except Refused as refusal:
        change = {"verb": "refuse", "kind": "RayCluster", "name": cluster["metadata"]["name"], "why": str(refusal)}
        return {"kind": "RayCluster", "name": case.title, "changes": [change], "notes": []}
    kinds = {resource.kind for resource in hidden}
    found["changes"] = [change for change in found["changes"] if change["kind"] not in kinds]
    found["notes"] += renewals(case, configuration)
    return found


def renewals(case: Case, configuration: Configuration) -> Iterator[str]:
    """Annotations of a living Pod that are written anew, which moves nothing: hashes of two operators differ (`raycluster.recreate`)."""
    from rayfleet.planning.actions import Patch
    from rayfleet.sim.ideal import next_steps

    for action in next_steps(case.wanted, configuration, time.time(), case.children).plan.actions:
        if isinstance(action, Patch) and action.resource == PODS and not action.event:
            yield f"pod/{action.name} gets new annotations, once, and stays: {action.reason}"


async def unattended(
    client: Client, namespace: str | None, configuration: Configuration, unseen: list[str]
) -> AsyncIterator[dict[str, Any]]:
    """Ray objects of the kinds that nobody would look after."""
    from rayfleet.controllers import resources_of
    from rayfleet.kube.errors import Forbidden, NotFound

    served = resources_of(configuration)
    for resource in (RAYJOBS, RAYSERVICES, RAYCRONJOBS):
        try:
            found = await client.list(resource, namespace)
        except NotFound:
            continue
        except Forbidden:
            unseen.append(f"{resource.plural} in {namespace or 'all namespaces'}")
            continue
        for each in (each for each in found if resource not in served):
            yield {"kind": resource.kind, "name": f"{each['metadata']['namespace']}/{each['metadata']['name']}", "why": UNATTENDED}


async def operators(client: Client, namespace: str | None, unseen: list[str]) -> list[str]:
    """Who holds the lease, and lives: in all namespaces, or in the one that may be read."""
    from rayfleet.kube.errors import Forbidden
    from rayfleet.runtime.lease import NAME
    from rayfleet.runtime.rivals import holder_of, overlap, renewed, told, watched_by

    fields = f"metadata.name={NAME}"
    try:
        leases = await client.list(LEASES, fields=fields)
    except Forbidden:
        unseen.append("leases of other namespaces, and so operators there")
        try:
            leases = await client.list(LEASES, namespace, fields=fields) if namespace else []
        except Forbidden:
            leases = []
    found = []
    for lease in leases:
        spec, where = lease.get("spec") or {}, f"{lease['metadata']['namespace']}/{lease['metadata']['name']}"
        alive = time.time() - renewed(spec) < float(spec.get("leaseDurationSeconds") or 0)
        if holder_of(lease) and alive and overlap((namespace,) if namespace else (), watched_by(lease)):
            found.append(f"{holder_of(lease)} holds the lease {where} and looks after {told(watched_by(lease))}")
    return found


def lines_of(report: dict[str, Any]) -> Iterator[str]:
    """Only what is out of the ordinary, and a line that sums up."""
    from rayfleet.cli.diff import lines_of as lines_of_case

    for case in report["clusters"]:
        if case["changes"] or case["notes"]:
            yield from lines_of_case(case)
    for each in report["unattended"]:
        yield f"{each['kind'].lower()} {each['name']}"
    if report["unattended"]:
        yield f"  because {UNATTENDED}"
    yield from (f"operator: {each}; rayfleet would wait for its end" for each in report["operators"])
    yield from (f"cannot see: {each}" for each in report["unseen"])
    places = {case["name"].partition("/")[0] for case in report["clusters"]}
    changed = sum(bool(case["changes"]) for case in report["clusters"])
    yield f"{counted(len(report['clusters']), 'RayCluster')} in {counted(len(places), 'namespace')}: {changed or 'nothing'} would change"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
