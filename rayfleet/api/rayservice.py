"""RayService of `ray.io/v1`: Serve applications on a cluster that is replaced without a gap. Declared; a later kind reconciles it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rayfleet.api.declare import ABSENT, Declared, Int32, Int64, Opaque, Time, schema
from rayfleet.api.meta import Condition, ObjectMeta
from rayfleet.api.raycluster import MANAGED_BY, RayClusterSpec, RayClusterStatus


class ClusterUpgradeOptions(Declared, frozen=True, gc=False, kw_only=True):
    """Steps of the incremental upgrade; percentages of the capacity and of the traffic."""

    max_surge_percent: Annotated[Int32, schema(default=True)] = 100
    step_size_percent: Annotated[Int32 | None, schema(required=True)] = None
    interval_seconds: Annotated[Int32 | None, schema(required=True)] = None
    gateway_class_name: Annotated[str, schema(required=True)] = ""


class ServiceUpgradeStrategy(Declared, frozen=True, gc=False, kw_only=True):
    """What a change of the cluster's spec does; unset means NewCluster."""

    type: str | None = None
    cluster_upgrade_options: ClusterUpgradeOptions | None = None


class RayServiceSpec(Declared, frozen=True, gc=False, kw_only=True):
    ray_cluster_config: Annotated[RayClusterSpec, schema(required=True)] = RayClusterSpec()
    serve_config_v2: str = msgspec.field(default="", name="serveConfigV2")
    serve_service: Opaque = ABSENT
    exclude_head_pod_from_serve_svc: bool = False
    upgrade_strategy: ServiceUpgradeStrategy | None = None
    ray_cluster_deletion_delay_seconds: Annotated[Int32 | None, schema(minimum=0)] = None
    suspend: bool = False
    managed_by: Annotated[str | None, MANAGED_BY] = None
    # Without effect since long, but in many users' files.
    service_unhealthy_second_threshold: Int32 | None = None
    deployment_unhealthy_second_threshold: Int32 | None = None


class ServeDeploymentStatus(Declared, frozen=True, gc=False, kw_only=True):
    status: str = ""
    message: str = ""


class ApplicationStatus(Declared, frozen=True, gc=False, kw_only=True):
    status: str = ""
    message: str = ""
    serve_deployment_statuses: dict[str, ServeDeploymentStatus] = {}


class ServingClusterStatus(Declared, frozen=True, gc=False, kw_only=True):
    """One of the two clusters that a RayService may have, and its share of the traffic."""

    ray_cluster_name: str = ""
    ray_cluster_status: RayClusterStatus = RayClusterStatus()
    application_statuses: dict[str, ApplicationStatus] = {}
    target_capacity: Int32 | None = None
    traffic_routed_percent: Int32 | None = None
    last_traffic_migrated_time: Time | None = None


class RayServiceStatus(Declared, frozen=True, gc=False, kw_only=True):
    active_service_status: ServingClusterStatus = ServingClusterStatus()
    pending_service_status: ServingClusterStatus = ServingClusterStatus()
    num_serve_endpoints: Int32 = 0
    service_status: str = ""
    last_update_time: Time | None = None
    observed_generation: Int64 = 0
    conditions: Annotated[tuple[Condition, ...], schema(map_key="type")] = ()


class RayService(Declared, frozen=True, gc=False, kw_only=True):
    api_version: str = "ray.io/v1"
    kind: str = "RayService"
    metadata: ObjectMeta = ObjectMeta()
    spec: RayServiceSpec = RayServiceSpec()
    status: RayServiceStatus = RayServiceStatus()
