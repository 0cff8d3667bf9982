"""Reads what a diagnosis of a RayService, RayJob or RayCronJob needs. What may not be read is said, and the rest goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rayfleet.api.config import Configuration
from rayfleet.api.labels import CLUSTER
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Resource
from rayfleet.api.names import cron_job_name
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation.ray_cron_job import ALLOW
from rayfleet.cli.situation import Unread, events_about, listed, read_pods, read_situation, told, uid_of
from rayfleet.diagnosis.cron_jobs import diagnose_cron_job
from rayfleet.diagnosis.diagnose import PATIENCE, diagnose
from rayfleet.diagnosis.finding import Diagnosis
from rayfleet.diagnosis.jobs import ENDED, diagnose_job
from rayfleet.diagnosis.maker import Maker
from rayfleet.diagnosis.pods import of_pod
from rayfleet.diagnosis.services import diagnose_service
from rayfleet.diagnosis.situation import Cluster, Situation
from rayfleet.kube.client import Client
from rayfleet.kube.errors import NotFound
from rayfleet.planning.clock import rfc3339
from rayfleet.raycronjob import policy, schedule
from rayfleet.raycronjob.plan import since
from rayfleet.sim.ideal import refusals, typed

Obj = dict[str, Any]
DIAGNOSES: dict[Resource, Callable[[Maker], Diagnosis]] = {
    RAYSERVICES: diagnose_service,
    RAYJOBS: diagnose_job,
    RAYCRONJOBS: diagnose_cron_job,
}


async def explained(client: Client, resource: Resource, namespace: str, name: str) -> Diagnosis:
    """Raises NotFound when there is no such object, ApiError when nothing at all can be read."""
    found = {**await client.get(resource, name, namespace), "apiVersion": resource.api_version, "kind": resource.kind}
    unread, now = Unread(), time.time()
    events = [event for event in await events_about(client, namespace, resource.kind, name, unread) if is_about(event, found)]
    maker = Maker(object=typed(found), now=now, events=tuple(told(event) for event in events))
    if resource == RAYCRONJOBS:
        maker = await with_jobs(client, found, maker, unread)
    else:
        maker = await with_clusters(client, found, maker, unread)
    return DIAGNOSES[resource](msgspec.structs.replace(maker, unread=tuple(unread.told)))


def is_about(event: Mapping[str, Any], found: Obj) -> bool:
    return uid_of(event) in ("", found["metadata"]["uid"])


async def with_clusters(client: Client, found: Obj, maker: Maker, unread: Unread) -> Maker:
    meta = found["metadata"]
    clusters = await listed(client, RAYCLUSTERS, meta["namespace"], unread, metadata_only=True) or []
    names = {each["metadata"]["name"] for each in clusters if is_owned(each, meta["uid"])}
    if isinstance(maker.object, RayJob) and (selected := maker.object.spec.cluster_selector.get(CLUSTER)):
        names.add(selected)
    diagnoses = await asyncio.gather(*(of_cluster(client, meta["namespace"], name) for name in sorted(names)))
    maker = await with_submitter(client, found, maker, unread)
    return msgspec.structs.replace(maker, clusters=tuple(each for each in diagnoses if each is not None))


async def of_cluster(client: Client, namespace: str, name: str) -> Diagnosis | None:
    """None when it is gone, or was never there."""
    try:
        return diagnose(await read_situation(client, namespace, name))
    except NotFound:
        return None


async def with_submitter(client: Client, found: Obj, maker: Maker, unread: Unread) -> Maker:
    """What is wrong with the Pods that submit a job that still goes on, or why there are none."""
    job = maker.object
    if not isinstance(job, RayJob) or job.status.job_deployment_status in ENDED:
        return maker
    meta = found["metadata"]
    made = [each for each in await listed(client, JOBS, meta["namespace"], unread) or () if is_owned(each, meta["uid"])]
    uids = {each["metadata"]["uid"] for each in made}
    pods = await listed(client, PODS, meta["namespace"], unread, labels=f"job-name={meta['name']}") or []
    own = [pod for pod in pods if any(is_owned(pod, uid) for uid in uids)]
    if uids and not own:
        said = await events_about(client, meta["namespace"], JOBS.kind, meta["name"], unread)
        return msgspec.structs.replace(maker, events=(*maker.events, *(told(event) for event in said if uid_of(event) in uids)))
    states, events, logs = await read_pods(client, meta["namespace"], own, unread)
    whole = Situation(Cluster(maker.metadata), maker.now, states, tuple(events), logs)
    return msgspec.structs.replace(maker, submitter=tuple(finding for pod in states for finding in of_pod(whole, pod)))


def is_owned(child: Obj, uid: str) -> bool:
    return any(owner.get("controller") and owner.get("uid") == uid for owner in child["metadata"].get("ownerReferences") or ())


async def with_jobs(client: Client, found: Obj, maker: Maker, unread: Unread) -> Maker:
    """Of a RayCronJob, whose status says nearly nothing: what the operator would refuse, and when which job was due, is found out here."""
    meta, cron, now = found["metadata"], maker.object, maker.now
    jobs = [each for each in await listed(client, RAYJOBS, meta["namespace"], unread) or () if is_owned(each, meta["uid"])]
    views = tuple(typed({**each, "apiVersion": RAYJOBS.api_version, "kind": RAYJOBS.kind}) for each in jobs)
    faults = refusals(found, Configuration(), now)
    maker = msgspec.structs.replace(maker, jobs=views, faults=faults)
    if faults or not isinstance(cron, RayCronJob) or cron.spec.suspend:
        return maker
    following = schedule.following(cron.spec, since(cron, now), now)
    due = schedule.latest(cron.spec, since(cron, now), now - PATIENCE)
    made = {each["metadata"]["name"] for each in jobs}
    waits = due is None or cron_job_name(meta["name"], due) in made or is_held(cron, views)
    return msgspec.structs.replace(
        maker, due="" if waits or due is None else rfc3339(due), following="" if following is None else rfc3339(following)
    )


def is_held(cron: RayCronJob, jobs: tuple[Any, ...]) -> bool:
    """Does a job that runs keep the next one from being made, as its owner wants?"""
    running = any(isinstance(each, RayJob) and policy.active(each) for each in jobs)
    return policy.starting_deadline(cron.metadata) is not None or (running and policy.concurrency(cron.metadata) != ALLOW)
