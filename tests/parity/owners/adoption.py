"""rayfleet is started over what another operator left of services and jobs: what does it write, and what does it tell Ray?"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rayfleet.api.config import Configuration
from rayfleet.api.crds import crds
from rayfleet.api.meta import GATEWAYS, HTTPROUTES, JOBS, PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, SERVICES
from rayfleet.kube.client import Client
from rayfleet.kube.errors import Invalid
from rayfleet.kubelet.hollow import Fate, Pod
from rayfleet.kubelet.status import time_text
from rayfleet.runtime.clock import SYSTEM
from rayfleet.sim.serve import Head
from tests.gateway.controller import heeding
from tests.gateway.definitions import DEFINITIONS
from tests.parity.canonical import Json
from tests.parity.configurations import configuration
from tests.parity.grounds import embedded_with
from tests.parity.ledger import Entry, Ledger
from tests.parity.owners.dashboard import Dashboard, Dashboards
from tests.parity.owners.play import manners
from tests.parity.owners.recording import recording
from tests.parity.owners.replay import SHARED
from tests.parity.owners.standing import Moment
from tests.parity.owners.submitters import judged
from tests.parity.stage import KINDS, kubelet_of, open_namespace, operator, until

RESOURCES = {**KINDS, **{each.kind: each for each in (RAYCLUSTERS, RAYJOBS, RAYSERVICES, RAYCRONJOBS, GATEWAYS, HTTPROUTES)}}
ORDER = ("RayJob", "RayCluster", "Service", "ServiceAccount", "Role", "RoleBinding", "Secret", "Gateway", "HTTPRoute", "Job", "Pod")
OF_JOB_CONTROLLER = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
MOODS = {
    ("rayservice-dashboard-errors", 1): "errors",
    ("rayservice-head-not-proxy", 0): "no proxy",
    ("rayjob-dashboard-503", 1): "hides jobs",
}
LOOKED = 5.0  # seconds in which the operator has looked at everything and heard from Ray
QUIET = 1.5


@dataclass
class Seen:
    """`first` and `second`: what the operator wrote, and told Ray, at its first start over the object, and at another."""

    moment: Moment
    pods: set[str] = field(default_factory=set)
    first: list[Entry] = field(default_factory=list)
    second: list[Entry] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    kept: bool = False

    @property
    def clusters(self) -> int:
        return len({pod["metadata"]["labels"]["ray.io/cluster"] for pod in self.moment.children if pod["kind"] == "Pod"})

    @property
    def changes(self) -> Iterator[str]:
        """What is more than the usual, which is no more than one write of the object's own status, and of each RayCluster one of its status
        and one of its annotations. Nothing for a takeover in silence. Events are not counted."""
        most = Counter({"patch rayclusters/status": self.clusters, "patch rayclusters": self.clusters if self.moment.serve else 0})
        most[f"patch {RESOURCES[self.moment.owner['kind']].plural}/status"] = 1
        written = Counter(
            f"{each.verb} {each.resource}{'/' if each.subresource else ''}{each.subresource}"
            for each in self.first
            if each.resource != "events"
        )
        yield from (f"{what} x{times}" for what, times in sorted((written - most).items()))
        yield from (f"told Ray: {act}" for act in self.told)
        if not self.kept:
            yield "a Pod is gone"
        yield from (f"at a second start: {each}" for each in self.second if each.resource != "events")


async def taken_over(chosen: Sequence[Moment], directory: Path) -> list[Seen]:
    """On a ground for each configuration."""
    groups: dict[str, list[Moment]] = {}
    for moment in chosen:
        groups.setdefault(moment.configuration, []).append(moment)
    runs = [run(found, configuration(name, directory)) for name, found in groups.items()]
    return [seen for found in await asyncio.gather(*runs) for seen in found]


async def run(chosen: Sequence[Moment], config: Configuration) -> list[Seen]:
    ledger, rays = Ledger(), Dashboards()
    stuck = {moment.namespace for moment in chosen if (own := manners().get(moment.case)) and own.own == "heads stay pending"}

    def judge(pod: Pod) -> Fate:
        stays = pod.metadata.namespace in stuck and pod.metadata.label("ray.io/node-type") == "head"
        return Fate("Pending") if stays else judged(pod)

    async with AsyncExitStack() as stack:
        ground = await stack.enter_async_context(embedded_with(lambda: (*crds(), *DEFINITIONS))(ledger))
        client = await stack.enter_async_context(Client(ground.user, user_agent="user"))
        kubelet = await stack.enter_async_context(Client(ground.kubelet, user_agent="kubelet"))
        await stack.enter_async_context(kubelet_of(kubelet, 0.01, judge))
        await stack.enter_async_context(heeding(client))
        found = await asyncio.gather(*(Setting(client, moment, rays).erect() for moment in chosen))
        standing = [seen for seen in found if seen]
        for start in ("first", "second"):
            marks = [(seen, len(ledger.of(seen.moment.namespace)), len(rays.of[seen.moment.namespace].acts)) for seen in standing]
            async with operator(ground.operator, config, ray=rays):
                await SYSTEM.sleep(LOOKED)
                await until(lambda: calm(ledger, standing), 60.0, what="never quiet")
            for seen, mark, acts in marks:
                setattr(seen, start, ledger.of(seen.moment.namespace)[mark:])
                seen.told += rays.of[seen.moment.namespace].acts[acts:]
                seen.kept = seen.pods <= {pod["metadata"]["uid"] for pod in await client.list(PODS, seen.moment.namespace)}
    return standing


async def calm(ledger: Ledger, standing: Sequence[Seen]) -> bool:
    return min(ledger.quiet_for(seen.moment.namespace) for seen in standing) >= QUIET


@dataclass
class Setting:
    """A moment that is set up. `uids` are those of what was made, by kind and name; `addresses` those of head Pods, by cluster."""

    client: Client
    moment: Moment
    rays: Dashboards
    uids: dict[tuple[str, str], str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)

    async def erect(self) -> Seen | None:
        """None when the API server refuses the object."""
        moment = self.moment
        await open_namespace(self.client, moment.namespace)
        self.rays.of[moment.namespace] = self.ray()
        for other in moment.others:
            await self.make(other)
        try:
            await self.make(moment.owner)
        except Invalid:
            return None
        if moment.case == SHARED:
            await self.make({"kind": "RayCluster", **shared()})
        for child in sorted(moment.children, key=lambda each: ORDER.index(each["kind"])):
            await self.make(child)
        await until(self.settled, what=f"{moment.namespace}: Pods")
        for each in (*moment.children, moment.owner):
            if each.get("status") and each["apiVersion"].startswith("ray.io/"):
                await self.report(each)
        return Seen(moment, {pod["metadata"]["uid"] for pod in await self.client.list(PODS, moment.namespace)})

    async def make(self, obj: Json) -> None:
        body = self.placed({name: value for name, value in obj.items() if name != "status"})
        made = await self.client.create(RESOURCES[body["kind"]], body)
        self.uids[made["kind"], made["metadata"]["name"]] = made["metadata"]["uid"]

    async def report(self, obj: Json) -> None:
        name, status = obj["metadata"]["name"], self.placed({**obj})["status"]
        await self.client.patch(RESOURCES[obj["kind"]], name, self.moment.namespace, {"status": status}, subresource="status")

    async def settled(self) -> bool:
        """Do all Pods run that are to?"""
        pods = await self.client.list(PODS, self.moment.namespace)
        for pod in pods:
            labels = pod["metadata"].get("labels") or {}
            if labels.get("ray.io/node-type") == "head" and (address := (pod.get("status") or {}).get("podIP")):
                self.addresses[labels["ray.io/cluster"]] = address
        pending = manners().get(self.moment.case)
        waits = pending is not None and pending.own == "heads stay pending"
        return waits or all((pod.get("status") or {}).get("phase") == "Running" for pod in pods)

    def placed(self, obj: Json) -> Json:
        """As it is created in the moment's namespace."""
        cluster = obj["metadata"]["name"] if obj["kind"] == "RayCluster" else next(iter(self.addresses), "")
        text = json.dumps(obj).replace('"namespace": "demo"', f'"namespace": "{self.moment.namespace}"')
        text = text.replace(".demo.svc", f".{self.moment.namespace}.svc").replace("<podip>", self.addresses.get(cluster, "192.0.2.9"))
        body: Json = json.loads(text.replace("<time>", stamp()))
        for owner in body["metadata"].get("ownerReferences") or ():
            owner["uid"] = self.uids[owner["kind"], owner["name"]]
        PLACING.get(body["kind"], as_it_is)(body)
        return {**body, "metadata": {**body["metadata"], "namespace": self.moment.namespace}}

    def ray(self) -> Dashboard:
        """Says what the recorded one must have said."""
        moment, status = self.moment, self.moment.owner.get("status") or {}
        ray = Dashboard(SYSTEM.time, mood=MOODS.get((moment.case, moment.step), ""))
        heads = {pod["metadata"]["labels"]["ray.io/cluster"]: pod["metadata"]["name"] for pod in moment.children if is_head(pod)}
        for cluster, config in moment.serve.items():
            if cluster in heads:
                ray.serve.heads[heads[cluster]] = Head(config, 0.0)
        for part in ("activeServiceStatus", "pendingServiceStatus"):
            words = {each["status"] for each in ((status.get(part) or {}).get("applicationStatuses") or {}).values()}
            if words - {"RUNNING"}:
                ray.serve.stuck[status[part]["rayClusterName"]] = words.pop()
        if (word := status.get("jobStatus")) and (head := heads.get(status["rayClusterName"])):
            own = ray.ray(head)
            own.jobs[status["jobId"]] = {"status": word, "submission_id": status["jobId"], "message": f"pretend message for {word}"}
            own.begun[status["jobId"]] = (SYSTEM.time() - 3.0, "")
        return ray


def shared() -> Json:
    spec = recording("rayjob-minimal").owner["spec"]["rayClusterSpec"]
    return {"apiVersion": RAYCLUSTERS.api_version, "metadata": {"name": "shared"}, "spec": spec}


def stamp() -> str:
    return time_text(SYSTEM.time())


def is_head(obj: Json) -> bool:
    return bool(obj["kind"] == "Pod" and (obj["metadata"].get("labels") or {}).get("ray.io/node-type") == "head")


def as_it_is(body: Json) -> None:
    pass


def of_pod(body: Json) -> None:
    body["spec"].pop("nodeName", None)


def of_service(body: Json) -> None:
    if body["spec"].get("clusterIP") != "None":
        body["spec"].pop("clusterIP", None)
        body["spec"].pop("clusterIPs", None)
    for port in body["spec"].get("ports") or ():
        port.pop("nodePort", None)


def of_job(body: Json) -> None:
    """What the Job controller's defaults add is not for a user to give."""
    body["spec"].pop("selector", None)
    body["spec"].pop("manualSelector", None)
    for holder in (body, body["spec"]["template"]):
        labels = holder["metadata"].get("labels") or {}
        for name in OF_JOB_CONTROLLER:
            labels.pop(name, None)


PLACING: dict[str, Callable[[Json], None]] = {PODS.kind: of_pod, SERVICES.kind: of_service, JOBS.kind: of_job}
