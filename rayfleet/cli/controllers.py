"""Which kinds the operator looks after: words, children and decisions, handed to the runtime. The one place that knows both."""

from __future__ import annotations

from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode_cluster
from rayfleet.api.labels import CLEANUP_JOBS_SELECTOR, CLUSTER, RAY_PODS_SELECTOR
from rayfleet.api.meta import CERTIFICATES, JOBS, PODS, RAYCLUSTERS, SERVICES, Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import (
    CertificateView,
    ChildView,
    JobView,
    PodView,
    ServiceView,
    decode_certificate,
    decode_child,
    decode_service,
)
from rayfleet.raycluster.children import UNREAD, others
from rayfleet.raycluster.metrics import measure
from rayfleet.raycluster.observe import Observer
from rayfleet.raycluster.plan import plan
from rayfleet.raycluster.pods import is_progress
from rayfleet.runtime.kind import Child, Kind


def kinds_of(configuration: Configuration) -> tuple[Kind[Any], ...]:
    """Every kind that is reconciled. Of Pods only Ray's are watched; of Services all, as one of ours carries no label of its own."""
    watched = others(configuration)
    return (
        Kind(
            resource=RAYCLUSTERS,
            type=RayCluster,
            children=(
                Child(PODS, PodView, labels=RAY_PODS_SELECTOR, calm=is_progress),
                Child(SERVICES, ServiceView, decode=decode_service),
                Child(JOBS, JobView, labels=CLEANUP_JOBS_SELECTOR, required=False),
                *map(other, watched),
            ),
            observe=Observer(configuration, watched),
            plan=plan,
            decode=decode_cluster,
            measure=measure if configuration.enable_metrics else None,
        ),
    )


def other(resource: Resource) -> Child:
    """A kind of children that few clusters need: it may be unknown to the server, or not for the operator to see."""
    if resource == CERTIFICATES:
        return Child(resource, CertificateView, labels=CLUSTER, decode=decode_certificate, required=False)
    return Child(resource, ChildView, labels=CLUSTER, decode=decode_child, required=False, metadata_only=resource in UNREAD)
