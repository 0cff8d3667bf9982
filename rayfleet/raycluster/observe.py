"""Reads what a RayCluster's decisions depend on from the caches. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rayfleet.api.config import Configuration
from rayfleet.api.labels import SUBMITTED_TO
from rayfleet.api.meta import (
    JOBS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    SECRETS,
    SERVICES,
    Key,
    Resource,
    controller_of,
)
from rayfleet.api.names import claim_name
from rayfleet.api.raycluster import OTHER_MANAGER, RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.api.views import ChildView
from rayfleet.raycluster.fences import comes_once
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.rivals import Rival, may_have, rival_of
from rayfleet.resources import tls


class Reader(Protocol):
    """The part of the runtime's reader that is used here."""

    def get(self, resource: Resource, key: Key) -> Any: ...

    def owned(self, resource: Resource, uid: str) -> Any: ...

    def gone(self, uid: str) -> frozenset[str]: ...

    def backoffs(self, key: Key) -> Any: ...

    def all(self, resource: Resource) -> Any: ...

    def alone(self, uid: str) -> bool: ...

    def unseen(self, resource: Resource) -> bool: ...


class Observer:
    """Observes with one configuration. `others` are the kinds of children that are watched besides those that have a field of their own.
    `has_jobs`: RayJobs are looked after by this process, too."""

    def __init__(self, config: Configuration, others: Sequence[Resource] = (), *, has_jobs: bool = False) -> None:
        self.config = config
        self.others = others
        self.has_jobs = has_jobs

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None when the object is gone."""
        cluster = reader.get(RAYCLUSTERS, key)
        if cluster is None:
            return None
        uid = cluster.metadata.uid
        return Observed(
            cluster=cluster,
            now=now,
            pods=tuple(reader.owned(PODS, uid)),
            services=tuple(reader.owned(SERVICES, uid)),
            jobs=tuple(reader.owned(JOBS, uid)),
            claim=self.claim(reader, key),
            others={resource: tuple(reader.owned(resource, uid)) for resource in self.others},
            gone=reader.gone(uid),
            alone=reader.alone(uid),
            unseen=frozenset(resource for resource in self.others if reader.unseen(resource)),
            ownerless=ownerless(reader, cluster),
            rival=rival(reader, cluster),
            unpermitted=self.has_jobs and unpermitted(reader, cluster),
            backoffs=reader.backoffs(key),
            config=self.config,
        )

    def claim(self, reader: Reader, key: Key) -> Any:
        if PERSISTENTVOLUMECLAIMS not in self.others:
            return None
        return reader.get(PERSISTENTVOLUMECLAIMS, Key(key.namespace, claim_name(key.name)))


def rival(reader: Reader, cluster: Any) -> Rival | None:
    """Who has its store; looked for only where somebody can."""
    if not isinstance(cluster, RayCluster) or not may_have(cluster):
        return None
    return rival_of(cluster, reader.all(RAYCLUSTERS), lambda uid: any(pod.is_head for pod in reader.owned(PODS, uid)))


def ownerless(reader: Reader, cluster: Any) -> tuple[ChildView, ...]:
    """The Secrets of its certificates that nobody owns."""
    if not isinstance(cluster, RayCluster) or not tls.is_on(cluster):
        return ()
    found = (reader.get(SECRETS, Key(cluster.metadata.namespace, name)) for name in tls.secret_names(cluster))
    return tuple(secret for secret in found if secret is not None and controller_of(secret.metadata) is None)


def unpermitted(reader: Reader, cluster: Any) -> bool:
    """Does the RayJob of a cluster whose head submits it not name this very cluster? One that somebody else looks after names none."""
    owner = controller_of(cluster.metadata)
    if not isinstance(cluster, RayCluster) or not comes_once(cluster) or owner is None or owner.kind != RAYJOBS.kind:
        return False
    job = reader.get(RAYJOBS, Key(cluster.metadata.namespace, owner.name))
    if reader.unseen(RAYJOBS) or (isinstance(job, RayJob) and job.spec.managed_by == OTHER_MANAGER):
        return False
    named = job.metadata.annotation(SUBMITTED_TO).partition(" ")[2] if job is not None else ""
    return bool(named.partition("/")[0] != cluster.metadata.uid)
