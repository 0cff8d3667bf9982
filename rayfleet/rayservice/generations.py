"""What is made, changed and deleted of the clusters: one for the present spec, the last one after a delay, none beyond two."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api import labels
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.ray_service import initializing_timeout
from rayfleet.planning.actions import Action, Create, Delete, Fence
from rayfleet.planning.clock import is_to_come, parse_rfc3339, rfc3339
from rayfleet.planning.newest import newest
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice.clusters import LIMIT, Roles, has_endpoints
from rayfleet.rayservice.in_place import in_place
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import is_incremental, migrated_at
from rayfleet.rayservice.serve import SUBJECT, annotate
from rayfleet.resources.ray_service import cluster_name, service_cluster

SCOPE = "clusters"
DELAY = 60
"""Seconds that a cluster is kept after its traffic was moved (KubeRay, 1.4)."""


def plan_clusters(observed: Observed, service: RayService, roles: Roles, config: ServeConfig) -> Iterator[Action]:
    if timed_out(observed, service, roles):
        yield from give_up(observed, service)
        return
    yield from retired(observed, service, roles)
    for member in filter(None, (roles.active, roles.goal if roles.goal is not roles.active else None)):
        if member.cluster.metadata.annotation(labels.UNUSED_SINCE):
            yield annotate(member, {labels.UNUSED_SINCE: None}, "it is of use again")
    if roles.goal is not None:
        yield from in_place(observed, service, roles.goal)
    elif may_make(observed, roles):
        yield from make(observed, service, config)


def may_make(observed: Observed, roles: Roles) -> bool:
    return not observed.paused and has_room(observed) and not observed.held_back(SCOPE)


def has_room(observed: Observed) -> bool:
    return sum(member.living for member in observed.members) + len(observed.spoiled) < LIMIT


def make(observed: Observed, service: RayService, config: ServeConfig) -> Iterator[Action]:
    """The API is asked first whether the spec is still the newest: a cluster is dear."""
    meta, living = service.metadata, {member.name for member in observed.members if member.living}
    name = cluster_name(service, living)
    if any(member.name == name for member in observed.members):
        return  # the last one of that name is still going
    yield newest(RAYSERVICES, meta, SCOPE, "a cluster is made for the newest spec only")
    yield Create(
        resource=RAYCLUSTERS,
        namespace=meta.namespace,
        name=name,
        manifest=service_cluster(
            service, name, observed.config, config.hash, config.proxy_location, empty=bool(living) and is_incremental(service)
        ),
        scope=SCOPE,
        reason="the spec asks for another one" if living else "the service has no cluster",
        subject=SUBJECT,
        event="CreatedRayCluster",
        failed_event="FailedToCreateRayCluster",
    )


def retired(observed: Observed, service: RayService, roles: Roles) -> Iterator[Action]:
    """Clusters that are of no use are marked, and go when the delay is over and no traffic leads to them. Who never had any goes at once
    where it stands in the way of the next one."""
    for member in roles.unused:
        since = member.cluster.metadata.annotation(labels.UNUSED_SINCE)
        never_served = was_only_pending(observed, service, member) and not has_endpoints(observed, member)
        if roles.goal is None and not has_room(observed) and never_served:
            yield from remove(observed, member, "the spec has changed before it served")
        elif not since or is_to_come(since, observed.now):
            yield annotate(member, {labels.UNUSED_SINCE: rfc3339(observed.now)}, "the service needs it no longer")
        elif left(observed, service, since) <= 0 and not has_endpoints(observed, member):
            yield from remove(observed, member, "the service needs it no longer, and its traffic has moved")


def was_only_pending(observed: Observed, service: RayService, member: Member) -> bool:
    """Did it never have any traffic? Where that moves step by step it must have moved since the cluster was made."""
    if is_incremental(service) and (moved := migrated_at(observed, service)):
        return moved < (member.cluster.metadata.creation_timestamp or "")
    status = service.status
    return status.pending_service_status.ray_cluster_name == member.name != status.active_service_status.ray_cluster_name


def left(observed: Observed, service: RayService, since: str) -> float:
    """Seconds until the delay is over. A mark that somebody spoiled counts as old."""
    asked = service.spec.ray_cluster_deletion_delay_seconds
    try:
        return parse_rfc3339(since) + (DELAY if asked is None else asked) - observed.now
    except ValueError:
        return 0.0


def remove(observed: Observed, member: Member, reason: str) -> Iterator[Delete]:
    meta = member.cluster.metadata
    scope = f"cluster/{meta.name}"
    if not observed.held_back(scope):
        yield Delete(
            resource=RAYCLUSTERS,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            scope=scope,
            reason=reason,
            subject=SUBJECT,
            event="DeletedRayCluster",
            failed_event="FailedToDeleteRayCluster",
        )


def timed_out(observed: Observed, service: RayService, roles: Roles) -> bool:
    """Did the first cluster for this very spec take too long to serve? The next spec is tried again."""
    if roles.active is not None:
        return False
    return has_given_up(service) or initializing_left(observed, service, roles) == 0.0


def has_given_up(service: RayService) -> bool:
    return service.metadata.annotation(labels.TIMED_OUT) == str(service.metadata.generation)


def initializing_left(observed: Observed, service: RayService, roles: Roles) -> float | None:
    """Seconds until the first cluster must serve; None where it may take as long as it likes."""
    limit = initializing_timeout(service.metadata.annotation(labels.INITIALIZING_TIMEOUT))
    created = roles.pending.cluster.metadata.creation_timestamp if roles.pending else None
    if not limit or roles.active is not None or created is None:
        return None
    return max(parse_rfc3339(created) + limit - observed.now, 0.0)


def give_up(observed: Observed, service: RayService) -> Iterator[Action]:
    meta = service.metadata
    if not has_given_up(service):
        if observed.held_back(SCOPE):
            return
        generation, reason = str(meta.generation), "its first cluster did not serve in time"
        yield Fence(RAYSERVICES, meta.namespace, meta.name, meta.resource_version, {labels.TIMED_OUT: generation}, SCOPE, reason)
    for member in observed.members:
        if member.living:
            yield from remove(observed, member, "it did not serve within the initializing timeout")


def waiting(observed: Observed, service: RayService, roles: Roles) -> Iterator[float]:
    """Seconds until something is due."""
    for member in roles.unused:
        if since := member.cluster.metadata.annotation(labels.UNUSED_SINCE):
            yield max(left(observed, service, since), 0.0)
    remaining = initializing_left(observed, service, roles)
    if remaining:
        yield remaining
