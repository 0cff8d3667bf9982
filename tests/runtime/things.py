"""A tiny kind: a Thing has `spec.replicas` Pods, told of in its status. Enough to prove the runtime, and nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rayfleet.api.meta import PODS, Key
from rayfleet.planning.actions import Action, Create, Delete, Fence, Subject
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.plan import Plan, StatusWrite
from rayfleet.runtime.gate import Hook, Write, nothing
from rayfleet.runtime.kind import Child, Kind
from rayfleet.runtime.manager import Manager, ManagerSettings
from rayfleet.runtime.reader import Reader
from tests.kube.fakeapi import FakeApi
from tests.runtime.nouns import THINGS, Pod, Thing

POD = Subject("Pod", "Pods")


@dataclass(frozen=True)
class Seen:
    thing: Thing
    pods: tuple[Pod, ...]
    now: float
    gone: frozenset[str]
    backoffs: Mapping[str, Backoff]


async def observe(reader: Reader, key: Key, now: float) -> Seen | None:
    thing = reader.get(THINGS, key)
    if thing is None or thing.metadata.deletion_timestamp:
        return None
    uid = thing.metadata.uid
    return Seen(thing, reader.owned(PODS, uid), now, reader.gone(uid), reader.backoffs(key))


def plan(seen: Seen) -> Plan:
    if seen.thing.metadata.annotation("poison"):
        raise RuntimeError("this spec is poison")
    waits = [backoff.retry_at - seen.now for backoff in seen.backoffs.values() if backoff.retry_at > seen.now]
    actions = tuple(wanted(seen)) if not waits else ()
    return Plan(actions, status(seen), requeue_after=min(waits, default=None))


def wanted(seen: Seen) -> list[Action]:
    meta, have = seen.thing.metadata, {pod.metadata.name: pod for pod in seen.pods}
    names = [f"{meta.name}-{number}" for number in range(seen.thing.spec.replicas)]
    failed = [pod for pod in seen.pods if pod.status.phase == "Failed" and not pod.metadata.deletion_timestamp]
    extra = [pod for pod in seen.pods if pod.metadata.name not in names and not pod.metadata.deletion_timestamp]
    lives = int(meta.annotation("lives") or 0)
    actions: list[Action] = []
    if failed:
        lived = {"lives": str(lives + 1)}
        actions.append(Fence(THINGS, meta.namespace, meta.name, meta.resource_version, lived, "pods", "a Pod failed"))
    actions += [delete(pod, "it is too many") for pod in extra]
    actions += [delete(pod, "it failed", setback=True) for pod in failed]
    return actions + [create(meta, name) for name in names if name not in have]


def create(meta: Any, name: str) -> Create:
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": meta.name, "uid": meta.uid, "controller": True}
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": meta.namespace, "labels": {"of": "thing"}, "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    return Create(PODS, meta.namespace, name, manifest, "pods", "it is missing", POD, "CreatedPod", "FailedToCreatePod")


def delete(pod: Pod, reason: str, *, setback: bool = False) -> Delete:
    meta = pod.metadata
    return Delete(PODS, meta.namespace, meta.name, meta.uid, "pods", reason, POD, "DeletedPod", "FailedToDeletePod", setback)


def status(seen: Seen) -> StatusWrite | None:
    was = seen.thing.status
    running = sum(pod.status.phase == "Running" for pod in seen.pods)
    phase = "Ready" if running == seen.thing.spec.replicas else "Pending"
    trouble = "; ".join(f"{backoff.event}: {backoff.message}" for backoff in seen.backoffs.values() if backoff.event)
    if (was.pods, was.phase, was.trouble) == (running, phase, trouble):
        return None
    urgent = (was.phase, was.trouble) != (phase, trouble)
    patch = {"pods": running, "phase": phase, "trouble": trouble}
    return StatusWrite(patch, seen.thing.metadata.resource_version, urgent, f"{running} Pods run")


THING_KIND: Kind[Seen] = Kind(THINGS, Thing, (Child(PODS, Pod, "of=thing"),), observe, plan)


class Crash(BaseException):
    """The process dies here."""


def crash_at(number: int, when: str) -> Hook:
    """Dies at the given write of its life, before it leaves or after its answer came, and stays dead."""
    writes = {"before": 0, "after": 0}

    async def hook(now: str, write: Write) -> None:
        writes[now] += 1
        if writes["before"] > number or (now, writes[now]) == (when, number):
            raise Crash

    return hook


@asynccontextmanager
async def managing(
    api: FakeApi, settings: ManagerSettings | None = None, hook: Hook = nothing, kind: Kind[Seen] = THING_KIND
) -> AsyncIterator[Manager]:
    manager = Manager(api.connection, [kind], settings or ManagerSettings(identity="test"), hook=hook)
    task = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        manager.stop()
        await task
