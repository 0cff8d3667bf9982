"""Plays the programs that submit jobs: a Pod of a submitter's Job, or the container beside the head. Each ends with its job."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError
from rayfleet.kubelet.hollow import Fate, Pod, fate
from rayfleet.kubelet.status import time_text
from rayfleet.resources.submitter import ADDRESS, SUBMISSION
from tests.parity.canonical import Json
from tests.parity.owners.dashboard import Dashboard

PACE = 0.05
SIDECAR_FAILS = 1  # the exit code beside a head, of a job that failed


def judged(pod: Pod) -> Fate:
    """What the hollow kubelet does with a Pod: a submitter runs until its job ends."""
    return Fate("Running") if pod.metadata.label("ray.io/originated-from-crd") == "RayJob" and is_of_job(pod) else fate(pod)


def is_of_job(pod: Pod) -> bool:
    return any(owner.kind == "Job" for owner in pod.metadata.owner_references or ())


@dataclass
class Submitter:
    """A Pod that submits, and what it has come to: its job's id, and the head Pod that took it."""

    pod: Json
    job: str = ""
    head: str = ""
    over: bool = False

    @property
    def container(self) -> Json:
        found: Json = next(each for each in self.pod["spec"]["containers"] if is_submitting(each))
        return found

    @property
    def runs(self) -> bool:
        statuses = (self.pod.get("status") or {}).get("containerStatuses") or ()
        return not self.over and any(each["name"] == self.container["name"] and "running" in each["state"] for each in statuses)

    def submit(self, dashboard: Dashboard) -> None:
        """Does nothing while nobody knows which Pod is the head."""
        env = {each["name"]: each.get("value", "") for each in self.container["env"]}
        host = env[ADDRESS].partition(":")[0]
        own = self.pod["metadata"]["name"] if host == "127.0.0.1" else ""
        if head := own or dashboard.heads.get(host.partition(".")[0].removesuffix("-head-svc"), ""):
            body = json.loads(env[SUBMISSION])
            dashboard.submit(head, body)
            self.job, self.head = body["submission_id"], head


def is_submitting(container: Json) -> bool:
    return any(each["name"] == SUBMISSION for each in container.get("env") or ())


@asynccontextmanager
async def submitting(
    client: Client, dashboards: Mapping[str, Dashboard], time: Callable[[], float], hanging: set[str]
) -> AsyncIterator[None]:
    """`hanging` are the namespaces whose submitters never end."""
    found: dict[str, Submitter] = {}
    page = json.loads(await client.list_page(PODS))
    tasks = [
        asyncio.create_task(follow(client, page["metadata"]["resourceVersion"], found)),
        asyncio.create_task(play(client, found, dashboards, time, hanging)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def follow(client: Client, version: str, found: dict[str, Submitter]) -> None:
    async for line in client.watch(PODS, resource_version=version):
        change = json.loads(line)
        pod = change["object"]
        if change["type"] == "BOOKMARK" or not any(map(is_submitting, pod["spec"]["containers"])):
            continue
        if change["type"] == "DELETED":
            found.pop(pod["metadata"]["uid"], None)
        else:
            found.setdefault(pod["metadata"]["uid"], Submitter(pod)).pod = pod


async def play(
    client: Client, found: dict[str, Submitter], dashboards: Mapping[str, Dashboard], time: Callable[[], float], hanging: set[str]
) -> None:
    while True:
        for each in [each for each in found.values() if each.runs]:
            namespace = each.pod["metadata"]["namespace"]
            dashboard = dashboards[namespace]
            if not each.job:
                each.submit(dashboard)
            elif namespace not in hanging and (word := dashboard.word(each.head, each.job)) in ("SUCCEEDED", "FAILED", "STOPPED"):
                each.over = True
                beside = len(each.pod["spec"]["containers"]) > 1
                await end(client, each, SIDECAR_FAILS if beside and word == "FAILED" else 0, time())
        await asyncio.sleep(PACE)


async def end(client: Client, submitter: Submitter, code: int, now: float) -> None:
    """The container ends; with it the Pod, unless another one runs on."""
    pod, name = submitter.pod, submitter.container["name"]
    stamp = time_text(now)
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": stamp, "finishedAt": stamp}}
    statuses = [{**each, "ready": False, "state": state} if each["name"] == name else each for each in pod["status"]["containerStatuses"]]
    status: Json = {"containerStatuses": statuses}
    if len(statuses) == 1:
        status["phase"] = "Failed" if code else "Succeeded"
    with suppress(ApiError):  # the Pod may be gone
        await client.patch(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], {"status": status}, subresource="status")
