"""Which kinds the operator looks after: words, children and decisions, handed to the runtime. The one place that knows both."""

from __future__ import annotations

from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode, decode_cluster, decode_job
from rayfleet.api.gateway import GatewayView, RouteView, decode_gateway, decode_route
from rayfleet.api.labels import (
    CLEANUP_JOBS_SELECTOR,
    CLUSTER,
    OLD_PODS_SELECTOR,
    RAY_PODS_SELECTOR,
    SERVE,
    SUBMITTED_TO,
    SUBMITTERS_SELECTOR,
)
from rayfleet.api.legacy.object import OldCluster, decode_old
from rayfleet.api.meta import (
    CERTIFICATES,
    ENDPOINTSLICES,
    GATEWAYS,
    HTTPROUTES,
    JOBS,
    OLD_RAYCLUSTERS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
    SERVICES,
    Resource,
)
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.ray_service import GATE
from rayfleet.api.views import (
    CertificateView,
    ChildView,
    JobView,
    PodView,
    ServiceView,
    SliceView,
    decode_certificate,
    decode_child,
    decode_service,
)
from rayfleet.autoscaling import metrics as scaling_metrics
from rayfleet.autoscaling import observe as scaling_observe
from rayfleet.autoscaling import sizing
from rayfleet.autoscaling.scaler import Scaler
from rayfleet.legacy import observe as old_observe
from rayfleet.legacy import plan as old_plan
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.pool import Pool
from rayfleet.raycluster.children import UNREAD, others
from rayfleet.raycluster.fences import comes_once
from rayfleet.raycluster.metrics import measure
from rayfleet.raycluster.observe import Observer
from rayfleet.raycluster.plan import plan
from rayfleet.raycluster.pods import is_progress
from rayfleet.raycronjob import observe as cron_observe
from rayfleet.raycronjob import plan as cron_plan
from rayfleet.rayjob import metrics as job_metrics
from rayfleet.rayjob import observe as job_observe
from rayfleet.rayjob import plan as job_plan
from rayfleet.rayservice import metrics as service_metrics
from rayfleet.rayservice import observe as service_observe
from rayfleet.rayservice import plan as service_plan
from rayfleet.runtime.clock import SYSTEM
from rayfleet.runtime.kind import Child, Kind


def kinds_of(configuration: Configuration, pool: Pool | None = None, scaler: Scaler | None = None) -> tuple[Kind[Any], ...]:
    """Every kind that is reconciled; without a pool and a scaler those that speak to Ray are left out. Of Pods only Ray's are watched; of
    Services all, as one of ours carries no label of its own."""
    spoken_to = (services(configuration, pool), jobs(configuration, pool)) if pool else ()
    sized = (sizes(configuration, scaler),) if scaler else ()
    due = (cron_jobs(configuration),) if configuration.gate("RayCronJob") else ()
    old = (old_clusters(configuration),) if configuration.has_old_clusters else ()
    return (clusters(configuration, has_jobs=bool(pool)), *sized, *spoken_to, *due, *old)


def resources_of(configuration: Configuration) -> frozenset[Resource]:
    """Of every kind that is reconciled."""
    return frozenset(kind.resource for kind in kinds_of(configuration, Pool(unasked, SYSTEM)))


async def unasked(target: Target, call: Question | Act) -> tuple[int, bytes]:
    raise OSError("nobody is asked")


def clusters(configuration: Configuration, *, has_jobs: bool) -> Kind[Any]:
    watched = others(configuration)
    return Kind(
        resource=RAYCLUSTERS,
        type=RayCluster,
        children=(
            Child(PODS, PodView, labels=RAY_PODS_SELECTOR, calm=is_progress),
            Child(SERVICES, ServiceView, decode=decode_service),
            Child(JOBS, JobView, labels=CLEANUP_JOBS_SELECTOR, required=False),
            *map(other, watched),
            *((RAYJOBS_ABOVE,) if has_jobs else ()),
        ),
        observe=Observer(configuration, watched, has_jobs=has_jobs),
        plan=plan,
        decode=decode_cluster,
        measure=measure if configuration.enable_metrics else None,
    )


def sizes(configuration: Configuration, scaler: Scaler) -> Kind[Any]:
    """Clusters once more, as far as their groups are the operator's to size."""
    return Kind(
        resource=RAYCLUSTERS,
        type=RayCluster,
        children=(Child(PODS, PodView, labels=RAY_PODS_SELECTOR, calm=always_calm),),
        observe=scaling_observe.Observer(configuration, scaler.loop, scaler.judge),
        plan=sizing.plan,
        decode=decode_cluster,
        measure=scaling_metrics.Measure(scaler.loop.tally, scaler.loop.unmet) if configuration.enable_metrics else None,
        outside=scaler.loop,
        concerns=has_a_size_of_its_own,
        called="Autoscaling",
    )


def has_a_size_of_its_own(cluster: RayCluster | Undecodable) -> bool:
    """Does anybody but its owner say how large it is?"""
    return isinstance(cluster, RayCluster) and bool(cluster.spec.enable_in_tree_autoscaling)


def services(configuration: Configuration, pool: Pool) -> Kind[Any]:
    desk = pool.desk()
    return Kind(
        resource=RAYSERVICES,
        type=RayService,
        children=(
            *WITH_CLUSTERS,
            Child(ENDPOINTSLICES, SliceView, labels=SERVE, required=False, calm=always_calm, through=SERVICES),
            *(STEP_BY_STEP if configuration.gate(GATE) else ()),
        ),
        observe=service_observe.Observer(configuration, desk),
        plan=service_plan.plan,
        decode=decode_service_kind,
        measure=service_metrics.measure if configuration.enable_metrics else None,
        outside=desk,
        required=False,
    )


def jobs(configuration: Configuration, pool: Pool) -> Kind[Any]:
    desk = pool.desk()
    return Kind(
        resource=RAYJOBS,
        type=RayJob,
        children=(
            *WITH_CLUSTERS,
            Child(JOBS, JobView, labels=SUBMITTERS_SELECTOR, required=False),
            Child(PODS, PodView, labels=RAY_PODS_SELECTOR, calm=always_calm, through=JOBS),
        ),
        observe=job_observe.Observer(configuration, desk),
        plan=job_plan.plan,
        decode=decode_job,
        measure=job_metrics.measure if configuration.enable_metrics else None,
        outside=desk,
        required=False,
    )


def cron_jobs(configuration: Configuration) -> Kind[Any]:
    return Kind(
        resource=RAYCRONJOBS,
        type=RayCronJob,
        children=(Child(RAYJOBS, RayJob, decode=decode_job),),
        observe=cron_observe.Observer(configuration),
        plan=cron_plan.plan,
        decode=decode_cron_job,
        required=False,
    )


def old_clusters(configuration: Configuration) -> Kind[Any]:
    """Those of the Python operator; only its own Pods carry that label and belong to the old object itself."""
    return Kind(
        resource=OLD_RAYCLUSTERS,
        type=OldCluster,
        children=(
            Child(RAYCLUSTERS, RayCluster, decode=decode_cluster, calm=lives_on),
            Child(SERVICES, ServiceView, decode=decode_service),
            Child(PODS, PodView, labels=OLD_PODS_SELECTOR),
        ),
        observe=old_observe.Observer(configuration),
        plan=old_plan.plan,
        decode=decode_old,
        required=False,
        called="OldRayCluster",
    )


def decode_cron_job(raw: bytes) -> RayCronJob | Undecodable:
    return decode(raw, RayCronJob)


def decode_service_kind(raw: bytes) -> RayService | Undecodable:
    return decode(raw, RayService)


def lives_on(old: RayCluster | Undecodable | None, new: RayCluster | Undecodable | None) -> bool:
    """Has only something happened to a cluster that is there before and after?"""
    return old is not None and new is not None and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp


def always_calm(old: Any, new: Any) -> bool:
    """A moment later there may be more to see."""
    return True


def other(resource: Resource) -> Child:
    """A kind of children that few clusters need: it may be unknown to the server, or not for the operator to see."""
    if resource == CERTIFICATES:
        return Child(resource, CertificateView, labels=CLUSTER, decode=decode_certificate, required=False)
    return Child(resource, ChildView, labels=CLUSTER, decode=decode_child, required=False, metadata_only=resource in UNREAD)


def is_unmarked(old: RayJob | Undecodable | None, new: RayJob | Undecodable | None) -> bool:
    """Does the job still say the same of where it may be submitted?"""
    marks = {found.metadata.annotation(SUBMITTED_TO) for found in (old, new) if found is not None}
    return len(marks) == 1 and old is not None


def submits_itself(cluster: RayCluster | Undecodable) -> bool:
    return isinstance(cluster, RayCluster) and comes_once(cluster)


RAYJOBS_ABOVE = Child(RAYJOBS, RayJob, decode=decode_job, required=False, calm=is_unmarked, owns=True, concerns=submits_itself)
"""A head that submits a job waits for a word on the job."""

WITH_CLUSTERS = (
    Child(RAYCLUSTERS, RayCluster, decode=decode_cluster, calm=lives_on),
    Child(SERVICES, ServiceView, decode=decode_service),
    Child(PODS, PodView, labels=RAY_PODS_SELECTOR, calm=always_calm, through=RAYCLUSTERS),
)
"""What belongs to those who have clusters made for them."""

STEP_BY_STEP = (
    Child(SERVICES, ServiceView, decode=decode_service, through=RAYCLUSTERS),
    Child(GATEWAYS, GatewayView, decode=decode_gateway, required=False),
    Child(HTTPROUTES, RouteView, decode=decode_route, required=False),
)
"""What an incremental upgrade of a RayService needs besides."""
