"""RayJob of `ray.io/v1`: a Ray job, and the cluster made or chosen for it. Declared; a later kind reconciles it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rayfleet.api.declare import ABSENT, Declared, Int32, Int64, Opaque, Rule, Time, schema
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycluster import MANAGED_BY, RayClusterSpec, RayClusterStatus

POLICY = schema(enum=("DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"))


class SubmitterConfig(Declared, frozen=True, gc=False, kw_only=True):
    backoff_limit: Int32 | None = None


class DeletionPolicy(Declared, frozen=True, gc=False, kw_only=True):
    """The older, one-step form of a deletion policy."""

    policy: Annotated[str | None, POLICY] = None


class DeletionCondition(Declared, frozen=True, gc=False, kw_only=True):
    """When a deletion rule applies: how the job ended, and how long ago (seconds)."""

    job_status: Annotated[str | None, schema(enum=("SUCCEEDED", "FAILED"))] = None
    job_deployment_status: Annotated[str | None, schema(enum=("Failed",))] = None
    ttl_seconds: Annotated[Int32, schema(default=True, minimum=0)] = 0


ONE_STATUS = schema(
    required=True,
    rules=(Rule("has(self.jobStatus) != has(self.jobDeploymentStatus)", "exactly one of jobStatus and jobDeploymentStatus must be set"),),
)


class DeletionRule(Declared, frozen=True, gc=False, kw_only=True):
    policy: Annotated[str, POLICY, schema(required=True)] = ""
    condition: Annotated[DeletionCondition, ONE_STATUS] = DeletionCondition()


class DeletionStrategy(Declared, frozen=True, gc=False, kw_only=True):
    """What goes when the job has ended: a list of rules, or the older pair of policies."""

    deletion_rules: Annotated[tuple[DeletionRule, ...], schema(list_type="atomic", min_items=1)] = ()
    on_success: DeletionPolicy | None = None
    on_failure: DeletionPolicy | None = None


ONE_STYLE = schema(
    rules=(
        Rule(
            "!(has(self.deletionRules) && (has(self.onSuccess) || has(self.onFailure)))",
            "deletionRules and the older onSuccess/onFailure exclude each other",
        ),
        Rule(
            "has(self.deletionRules) || (has(self.onSuccess) && has(self.onFailure))",
            "either deletionRules or both of onSuccess and onFailure must be set",
        ),
    )
)


class RayJobSpec(Declared, frozen=True, gc=False, kw_only=True):
    entrypoint: str = ""
    ray_cluster_spec: RayClusterSpec | None = None
    cluster_selector: dict[str, str] = {}
    submission_mode: Annotated[str, schema(default=True)] = "K8sJobMode"
    job_id: str = ""
    metadata: dict[str, str] = {}
    runtime_env_yaml: str = msgspec.field(default="", name="runtimeEnvYAML")
    entrypoint_resources: str = ""
    entrypoint_num_cpus: float = 0
    entrypoint_num_gpus: float = 0
    submitter_pod_template: Opaque = ABSENT
    submitter_config: SubmitterConfig | None = None
    backoff_limit: Annotated[Int32, schema(default=True)] = 0
    active_deadline_seconds: Int32 | None = None
    pre_running_deadline_seconds: Annotated[Int32 | None, schema(minimum=1)] = None
    shutdown_after_job_finishes: bool = False
    ttl_seconds_after_finished: Annotated[Int32, schema(default=True)] = 0
    deletion_strategy: Annotated[DeletionStrategy | None, ONE_STYLE] = None
    suspend: bool = False
    managed_by: Annotated[str | None, MANAGED_BY] = None


class RayJobInfo(Declared, frozen=True, gc=False, kw_only=True):
    """When the job ran, as Ray says."""

    start_time: Time | None = None
    end_time: Time | None = None


class RayJobStatus(Declared, frozen=True, gc=False, kw_only=True):
    job_id: str = ""
    ray_cluster_name: str = ""
    dashboard_url: str = msgspec.field(default="", name="dashboardURL")
    job_status: str = ""
    job_deployment_status: str = ""
    reason: str = ""
    message: str = ""
    start_time: Time | None = None
    end_time: Time | None = None
    ray_job_info: RayJobInfo = RayJobInfo()
    succeeded: Annotated[Int32, schema(default=True)] = 0
    failed: Annotated[Int32, schema(default=True)] = 0
    ray_cluster_status: RayClusterStatus = RayClusterStatus()
    job_status_check_failure_start_time: Time | None = None
    observed_generation: Int64 = 0


class RayJob(Declared, frozen=True, gc=False, kw_only=True):
    api_version: str = "ray.io/v1"
    kind: str = "RayJob"
    metadata: ObjectMeta = ObjectMeta()
    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()
