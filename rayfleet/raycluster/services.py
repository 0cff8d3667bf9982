"""The Services that a RayCluster must have, and keeping them as they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api.meta import SERVICES
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ServiceView
from rayfleet.planning.actions import Action, Create, Patch, Subject
from rayfleet.raycluster.observed import Observed
from rayfleet.resources.services import head_service, headless_service

SUBJECT = Subject("Service", "Services")


def plan_services(observed: Observed, cluster: RayCluster) -> Iterator[Action]:
    yield from plan_service(observed, head_service(cluster), "the cluster has no head Service")
    if any(group.num_of_hosts > 1 for group in cluster.spec.worker_group_specs):
        yield from plan_service(observed, headless_service(cluster), "replicas of several hosts need names in DNS")


def plan_service(observed: Observed, wanted: Mapping[str, Any], missing: str) -> Iterator[Action]:
    """Create the Service, or put its selector right when somebody changed it: a wrong one leads traffic astray."""
    metadata = wanted["metadata"]
    scope = f"service/{metadata['name']}"
    found = find(observed.services, metadata["name"])
    if observed.held_back(scope):
        return
    if found is None:
        yield Create(
            resource=SERVICES,
            namespace=metadata["namespace"],
            name=metadata["name"],
            manifest=wanted,
            scope=scope,
            reason=missing,
            subject=SUBJECT,
            event="CreatedService",
            failed_event="FailedToCreateService",
        )
    elif found.metadata.deletion_timestamp is None and (found.spec.selector or {}) != wanted["spec"]["selector"]:
        removed = dict.fromkeys((found.spec.selector or {}).keys() - wanted["spec"]["selector"].keys())
        yield Patch(
            resource=SERVICES,
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=found.metadata.uid,
            patch={"spec": {"selector": {**wanted["spec"]["selector"], **removed}}},
            scope=scope,
            reason="its selector is not the one that finds this cluster's Pods",
            subject=SUBJECT,
            event="UpdatedService",
            failed_event="FailedToUpdateService",
        )


def find(services: tuple[ServiceView, ...], name: str) -> ServiceView | None:
    for service in services:
        if service.name == name:
            return service
    return None
