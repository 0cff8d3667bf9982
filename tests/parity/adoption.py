"""rayfleet is started over what another operator left: which writes does it make?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rayfleet.api.config import Configuration
from rayfleet.api.meta import CERTIFICATES, PODS, RAYCLUSTERS, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import Invalid
from tests.issuer.issuer import Mood
from tests.parity.canonical import Json
from tests.parity.configurations import configuration
from tests.parity.grounds import Grounds
from tests.parity.ledger import Entry, Ledger
from tests.parity.replay import FATES
from tests.parity.stage import KINDS, issuer_of, kubelet_of, open_namespace, operator, until
from tests.parity.standing import Moment, placed
from tests.parity.steps import HOLLOW

QUIET = 1.5  # seconds: a status write may be held back for one
LATER_KINDS = ("Issuer", "Certificate")  # which name the addresses of Pods


@dataclass
class Seen:
    """`first` and `second`: what the operator wrote at its first start over the cluster, and at another. `pods` were there."""

    moment: Moment
    pods: int = 0
    first: list[Entry] = field(default_factory=list)
    second: list[Entry] = field(default_factory=list)
    kept: bool = False

    def count(self, verb: str, resource: str, subresource: str = "") -> int:
        """Refused ones too: they were tried."""
        return sum((each.verb, each.resource, each.subresource) == (verb, resource, subresource) for each in self.first)

    @property
    def others(self) -> Counter[str]:
        """Writes that concern neither Pods' lives nor a status, nor Events."""
        known = {("create", "pods"), ("delete", "pods"), ("create", "events"), ("patch", "events")}
        rest = [each for each in self.first if (each.verb, each.resource) not in known and each.subresource != "status"]
        return Counter(f"{each.verb} {each.resource}" for each in rest)


async def taken_over(chosen: Sequence[Moment], on: Grounds, directory: Path) -> list[Seen]:
    """On a ground for each configuration. What the API server refuses is left out."""
    by_configuration: dict[str, list[Moment]] = {}
    for moment in chosen:
        by_configuration.setdefault(moment.configuration, []).append(moment)
    runs = [run(found, configuration(name, directory), on, gated=name == "gates") for name, found in by_configuration.items()]
    return [seen for found in await asyncio.gather(*runs) for seen in found]


async def run(chosen: Sequence[Moment], config: Configuration, on: Grounds, *, gated: bool) -> list[Seen]:
    ledger = Ledger()
    async with AsyncExitStack() as stack:
        ground = await stack.enter_async_context(on(ledger))
        client = await stack.enter_async_context(Client(ground.user, user_agent="user"))
        await until(lambda: client.serves(RAYCLUSTERS))
        kubelet = await stack.enter_async_context(Client(ground.kubelet, user_agent="kubelet"))
        await stack.enter_async_context(kubelet_of(kubelet, 0.01))
        await stack.enter_async_context(issuer_of(ground.user, Mood.WILLING if gated else None))
        standing = [seen for seen in await asyncio.gather(*(erected(client, moment) for moment in chosen)) if seen]
        before = [await pods_of(client, seen.moment) for seen in standing]
        async with started(ground.operator, config, ledger, standing, "first"):
            await until(lambda: all_judged(client, standing), 60.0, what="a cluster was never looked at")
            await quiet(ledger, standing)
        for seen, pods in zip(standing, before, strict=True):
            seen.pods, seen.kept = len(pods), pods <= await pods_of(client, seen.moment)
        async with started(ground.operator, config, ledger, standing, "second"):
            await quiet(ledger, standing)
    return standing


@asynccontextmanager
async def started(way: Connection, config: Configuration, ledger: Ledger, standing: Iterable[Seen], name: str) -> AsyncIterator[None]:
    marks = [(seen, len(ledger.of(seen.moment.namespace))) for seen in standing]
    async with operator(way, config) as manager:

        async def synced() -> bool:
            return not manager._unsynced()

        await until(synced)
        yield
    for seen, mark in marks:
        setattr(seen, name, ledger.of(seen.moment.namespace)[mark:])


async def erected(client: Client, moment: Moment) -> Seen | None:
    """All that stood, as the user made it; None when the API server refuses the cluster."""
    await open_namespace(client, moment.namespace)
    for other in moment.others:
        await client.create(KINDS[other["kind"]], {**other, "metadata": {**other["metadata"], "namespace": moment.namespace}})
    try:
        cluster = await client.create(*addressed(moment))
    except Invalid:
        return None
    uid, addresses = cluster["metadata"]["uid"], {}
    early = sorted((each for each in moment.children if each["kind"] not in LATER_KINDS), key=lambda each: each["kind"] == "Pod")
    for child in early:
        await client.create(KINDS[child["kind"]], with_fate(moment, placed(child, moment, uid, {})))
    for pod in await until(lambda: settled(client, moment)) if any(each["kind"] == "Pod" for each in early) else ():
        addresses[pod["metadata"]["labels"]["ray.io/node-type"]] = pod["status"].get("podIP", "")
    for child in (each for each in moment.children if each["kind"] in LATER_KINDS):
        await client.create(KINDS[child["kind"]], placed(child, moment, uid, addresses))
    if any(child["kind"] == "Certificate" for child in moment.children):
        await until(lambda: issued(client, moment))
    status = placed({**moment.cluster}, moment, uid, addresses)["status"]
    if status:
        await client.patch(RAYCLUSTERS, cluster["metadata"]["name"], moment.namespace, {"status": status}, subresource="status")
    return Seen(moment)


def addressed(moment: Moment) -> tuple[Resource, Json]:
    body = {name: value for name, value in moment.cluster.items() if name != "status"}
    group, _, version = body["apiVersion"].rpartition("/")
    resource = Resource(group, version, RAYCLUSTERS.plural, RAYCLUSTERS.kind)
    return resource, {**body, "metadata": {**body["metadata"], "namespace": moment.namespace}}


def with_fate(moment: Moment, child: Json) -> Json:
    """Pods that were pending stay so."""
    if child["kind"] == "Pod" and is_stuck(moment, child):
        child["metadata"].setdefault("annotations", {})[HOLLOW] = "pending"
    return child


def is_stuck(moment: Moment, pod: Json) -> bool:
    place, fate = FATES.get(moment.case, ((), {}))
    if fate.get(HOLLOW) != "pending":
        return False
    group = moment.cluster["spec"]
    for part in place:
        group = group[part]
    return bool(pod["metadata"]["labels"]["ray.io/group"] == group.get("groupName", "headgroup"))


async def settled(client: Client, moment: Moment) -> list[Json] | None:
    """Its Pods, once all are ready that are to be."""
    pods = await client.list(PODS, moment.namespace)
    stuck = [(pod["metadata"].get("annotations") or {}).get(HOLLOW) == "pending" for pod in pods]
    return (
        pods if all(waits or (pod.get("status") or {}).get("phase") == "Running" for pod, waits in zip(pods, stuck, strict=True)) else None
    )


async def issued(client: Client, moment: Moment) -> bool:
    found = await client.list(CERTIFICATES, moment.namespace)
    return all(
        any(c["type"] == "Ready" and c["status"] == "True" for c in (each.get("status") or {}).get("conditions", ())) for each in found
    )


async def pods_of(client: Client, moment: Moment) -> set[str]:
    return {pod["metadata"]["uid"] for pod in await client.list(PODS, moment.namespace)}


async def all_judged(client: Client, standing: Iterable[Seen]) -> bool:
    """Does every cluster's status say what the operator thinks of its spec?"""
    found = await client.list(RAYCLUSTERS)
    judged = {
        each["metadata"]["namespace"]
        for each in found
        if any(c["type"] == "Valid" for c in (each.get("status") or {}).get("conditions", ()))
    }
    return judged >= {seen.moment.namespace for seen in standing}


async def quiet(ledger: Ledger, standing: Iterable[Seen]) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def silent() -> bool:
        calm = min((ledger.quiet_for(seen.moment.namespace) for seen in standing), default=QUIET)
        return calm >= QUIET and loop.time() - began >= QUIET

    await until(silent, 60.0, what="never quiet")
