"""A cluster's Serve applications, as the status tells of them (KubeRay, 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api.excerpt import tail
from rayfleet.api.rayservice import ApplicationStatus, RayService, ServeDeploymentStatus
from rayfleet.rayservice.observed import Member
from rayfleet.rayservice.serve import details_of


def applications_of(service: RayService, member: Member) -> Mapping[str, ApplicationStatus]:
    """What Serve says of its applications; while it says nothing, what it said last."""
    details = details_of(member)
    if details is not None:
        return {name: application_of(found) for name, found in sorted(details.applications.items())}
    for known in (service.status.active_service_status, service.status.pending_service_status):
        if known.ray_cluster_name == member.name:
            return known.application_statuses
    return {}


def application_of(found: Any) -> ApplicationStatus:
    deployments = {
        name: ServeDeploymentStatus(status=each.status, message=tail(each.message)) for name, each in sorted(found.deployments.items())
    }
    return ApplicationStatus(status=found.status, message=tail(found.message), serve_deployment_statuses=deployments)
