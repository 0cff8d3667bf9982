"""Reads what a diagnosis of one RayCluster needs. What may not be read is said, and the rest goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from rayfleet.api.labels import CLUSTER, SUBMISSION_MODE, SUBMITTED_TO
from rayfleet.api.meta import EVENTS, NETWORKPOLICIES, PODS, RAYCLUSTERS, RAYJOBS, SERVICES, Resource, controller_of
from rayfleet.api.raycluster import OTHER_MANAGER
from rayfleet.api.validation.ray_job import SIDECAR
from rayfleet.diagnosis.pod_state import PodState, pod_state
from rayfleet.diagnosis.reading import TAIL, LogPlace, is_well, logs_of, of_interest
from rayfleet.diagnosis.replaced import BROKEN, gone
from rayfleet.diagnosis.situation import Awaited, Cluster, Log, Situation, Told, cluster_of
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, BadRequest, Forbidden, NotFound

LONGEST_LOG = 256 * 1024  # bytes
GONE_PODS = 10  # that had failed and are gone; only Events still tell of them


class Unread:
    """What could not be read, each thing once."""

    def __init__(self) -> None:
        self.told: dict[str, None] = {}

    def add(self, what: str, error: ApiError) -> None:
        self.told[f"{what}: {error}"] = None


async def read_situation(client: Client, namespace: str, name: str) -> Situation:
    """Raises NotFound when there is no such cluster, ApiError when nothing at all can be read."""
    cluster = cluster_of(await client.get(RAYCLUSTERS, name, namespace))
    unread = Unread()
    found = await listed(client, PODS, namespace, unread, labels=f"{CLUSTER}={name}")
    pods = tuple(pod_state(pod) for pod in found or () if is_of(pod, cluster))
    chosen = of_interest(pods)
    told, services, policies, logs, awaited = await asyncio.gather(
        events(client, namespace, cluster, chosen, unread),
        listed(client, SERVICES, namespace, unread, metadata_only=True),
        listed(client, NETWORKPOLICIES, namespace, Unread()),
        read_logs(client, namespace, [place for pod in chosen for place in logs_of(pod)], unread),
        awaited_job(client, cluster, pods, unread),
    )
    return Situation(
        cluster=cluster,
        now=time.time(),
        pods=pods,
        events=tuple(told),
        logs=tuple(logs),
        services=None if services is None else frozenset(each["metadata"]["name"] for each in services),
        policies=None if policies is None else tuple(policies),
        unread=tuple(unread.told),
        passed_over=frozenset(pod.name for pod in pods if not is_well(pod) and pod not in chosen),
        awaited=awaited,
    )


async def awaited_job(client: Client, cluster: Cluster, pods: Iterable[PodState], unread: Unread) -> Awaited | None:
    """The job for whose word the head of this cluster waits (see `raycluster.observe.unpermitted`)."""
    meta = cluster.metadata
    owner = controller_of(meta)
    if meta.label(SUBMISSION_MODE) != SIDECAR or owner is None or owner.kind != RAYJOBS.kind or any(pod.is_head for pod in pods):
        return None
    try:
        job = await client.get(RAYJOBS, owner.name, meta.namespace)
    except (Forbidden, NotFound) as error:
        unread.add(f"rayjob {owner.name}", error)
        return None
    named = (job["metadata"].get("annotations") or {}).get(SUBMITTED_TO, "").partition(" ")[2].partition("/")[0]
    elsewhere = (job.get("spec") or {}).get("managedBy") == OTHER_MANAGER
    state = str((job.get("status") or {}).get("jobDeploymentStatus") or "")
    return None if elsewhere or named == meta.uid else Awaited(owner.name, state, named)


async def read_pods(
    client: Client, namespace: str, pods: Iterable[Mapping[str, Any]], unread: Unread
) -> tuple[tuple[PodState, ...], list[Told], tuple[Log, ...]]:
    """Some Pods, their Events and the ends of their logs."""
    states = tuple(map(pod_state, pods))
    found, logs = await asyncio.gather(
        asyncio.gather(*(events_about(client, namespace, "Pod", pod.name, unread) for pod in states)),
        read_logs(client, namespace, [place for pod in states for place in logs_of(pod)], unread),
    )
    return states, [told(event) for group in found for event in group], tuple(logs)


def is_of(pod: Mapping[str, Any], cluster: Cluster) -> bool:
    """Its controller is this very cluster: a label alone says nothing."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == cluster.metadata.uid for owner in owners)


async def listed(client: Client, resource: Resource, namespace: str, unread: Unread, **how: Any) -> list[dict[str, Any]] | None:
    try:
        return await client.list(resource, namespace, **how)
    except (Forbidden, NotFound) as error:
        unread.add(resource.plural, error)
        return None


async def events(client: Client, namespace: str, cluster: Cluster, pods: Iterable[PodState], unread: Unread) -> list[Told]:
    """Of the cluster, of the Pods that matter, and of broken ones that are gone by now."""
    mine = await events_about(client, namespace, "RayCluster", cluster.metadata.name, unread)
    mine = [event for event in mine if uid_of(event) in ("", cluster.metadata.uid)]
    deleted = [name for event in mine if any(word in note_of(event) for word in BROKEN) for name in gone(note_of(event))]
    names = sorted({*(pod.name for pod in pods), *deleted[-GONE_PODS:]})
    found = await asyncio.gather(*(events_about(client, namespace, "Pod", name, unread) for name in names))
    return [told(event) for event in (*mine, *(event for group in found for event in group))]


async def events_about(client: Client, namespace: str, kind: str, name: str, unread: Unread) -> list[dict[str, Any]]:
    return await listed(client, EVENTS, namespace, unread, fields=f"regarding.kind={kind},regarding.name={name}") or []


def uid_of(event: Mapping[str, Any]) -> str:
    return str((event.get("regarding") or {}).get("uid") or "")


def note_of(event: Mapping[str, Any]) -> str:
    return str(event.get("note") or "")


def told(event: Mapping[str, Any]) -> Told:
    """Events of old clients carry their times and counts in fields of their own."""
    series, regarding = event.get("series") or {}, event.get("regarding") or {}
    time = series.get("lastObservedTime") or event.get("deprecatedLastTimestamp") or event.get("eventTime")
    return Told(
        about=(str(regarding.get("kind")), str(regarding.get("name"))),
        type=str(event.get("type") or ""),
        reason=str(event.get("reason") or ""),
        note=note_of(event),
        time=str(time or event["metadata"].get("creationTimestamp") or ""),
        count=int(series.get("count") or event.get("deprecatedCount") or 1),
    )


async def read_logs(client: Client, namespace: str, places: Iterable[LogPlace], unread: Unread) -> list[Log]:
    return list(await asyncio.gather(*(read_log(client, namespace, place, unread) for place in places)))


async def read_log(client: Client, namespace: str, place: LogPlace, unread: Unread) -> Log:
    """The last lines; a kubelet that does not answer is no reason to give up the rest."""
    query = {"container": place.container, "tailLines": str(TAIL), "limitBytes": str(LONGEST_LOG)}
    if place.previous:
        query["previous"] = "true"
    try:
        content = await client.request("GET", f"{PODS.path(namespace, place.pod, 'log')}?{urlencode(query)}")
    except ApiError as error:
        if not isinstance(error, (BadRequest, NotFound)):  # those say that there is no such life, or not any more
            unread.add(f"log of {place.pod}, container {place.container}", error)
        return Log(*place, refused=str(error))
    return Log(*place, lines=tuple(content.decode(errors="replace").splitlines()))
