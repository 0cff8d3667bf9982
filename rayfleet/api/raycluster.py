"""RayCluster of `ray.io/v1`: every field that users write and the operator reports.

Python names are the JSON names in snake case. Lists are tuples, maps are never None, and what belongs to Kubernetes' own API
(templates, Services, environment variables, rules of network policies) stays raw JSON.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from rayfleet.api.declare import ABSENT, Declared, Int32, Int64, Opaque, Quantity, Rule, Time, schema
from rayfleet.api.meta import Condition, ObjectMeta

MAX_INT32 = 2**31 - 1
OTHER_MANAGER = "kueue.x-k8s.io/multikueue"
"""Who may be named in `managedBy` and is not this operator: what it manages is left alone."""
MANAGERS = ("ray.io/kuberay-operator", OTHER_MANAGER)
MANAGED_BY = schema(
    rules=(
        Rule("self == oldSelf", "managedBy is immutable"),
        Rule(f"self in ['{MANAGERS[0]}', '{MANAGERS[1]}']", f"managedBy must be '{MANAGERS[0]}' or '{MANAGERS[1]}'"),
    )
)


class UpgradeStrategy(Declared, frozen=True, gc=False, kw_only=True):
    """What a change of a template does to a running cluster; unset means None."""

    type: Annotated[str | None, schema(enum=("Recreate", "None"))] = None


class AuthOptions(Declared, frozen=True, gc=False, kw_only=True):
    """Token authentication of Ray's own APIs; an empty mode means none."""

    mode: Annotated[str, schema(enum=("disabled", "token"))] = ""
    enable_k8s_token_auth: bool | None = msgspec.field(default=None, name="enableK8sTokenAuth")
    secret_name: str | None = None


class AutoscalerOptions(Declared, frozen=True, gc=False, kw_only=True):
    """Overrides of the autoscaler's container, and what Ray's autoscaler itself reads."""

    resources: Opaque = ABSENT
    image: str | None = None
    image_pull_policy: str | None = None
    security_context: Opaque = ABSENT
    idle_timeout_seconds: Int32 | None = None
    upscaling_mode: Annotated[str | None, schema(enum=("Default", "Aggressive", "Conservative"))] = None
    version: Annotated[str | None, schema(enum=("v1", "v2"))] = None
    env: tuple[Opaque, ...] = ()
    env_from: tuple[Opaque, ...] = ()
    volume_mounts: tuple[Opaque, ...] = ()
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


class RedisCredential(Declared, frozen=True, gc=False, kw_only=True):
    """A user name or a password of Redis: literal, or from a Secret."""

    value: str = ""
    value_from: Opaque = ABSENT


class GcsStorage(Declared, frozen=True, gc=False, kw_only=True):
    """The volume of the embedded store (backend rocksdb)."""

    claim_name: str = ""
    size: Quantity | None = None
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    sub_path: str = ""
    deletion_policy: Annotated[str | None, schema(enum=("DeleteWithCluster", "Retain"))] = None


class GcsFaultToleranceOptions(Declared, frozen=True, gc=False, kw_only=True):
    """Where the head keeps what must survive it; an empty backend means redis."""

    backend: Annotated[
        str,
        schema(enum=("redis", "rocksdb"), rules=(Rule("self == oldSelf", "gcsFaultToleranceOptions.backend is immutable"),)),
    ] = ""
    redis_username: RedisCredential | None = None
    redis_password: RedisCredential | None = None
    external_storage_namespace: str = ""
    redis_address: str = ""
    storage: GcsStorage | None = None


class CollectorOptions(Declared, frozen=True, gc=False, kw_only=True):
    """The sidecar that collects events for the history server."""

    image: str | None = None
    image_pull_policy: str | None = None
    resources: Opaque = ABSENT
    env: tuple[Opaque, ...] = ()


class HistoryServerOptions(Declared, frozen=True, gc=False, kw_only=True):
    collector_options: CollectorOptions | None = None


class NetworkPolicyRules(Declared, frozen=True, gc=False, kw_only=True):
    """Rules of Kubernetes' NetworkPolicy, added to those that let the cluster's own Pods talk."""

    ingress_rules: tuple[Opaque, ...] = ()
    egress_rules: tuple[Opaque, ...] = ()


class GroupNetworkPolicyRules(NetworkPolicyRules, frozen=True, gc=False, kw_only=True):
    """The rules of one worker group; they replace `worker`'s for that group."""

    group_name: Annotated[str, schema(required=True)] = ""


class NetworkPolicyOptions(Declared, frozen=True, gc=False, kw_only=True):
    mode: Annotated[str, schema(enum=("DenyAll", "DenyAllIngress", "DenyAllEgress"), default=True)] = "DenyAll"
    head: NetworkPolicyRules | None = None
    worker: NetworkPolicyRules | None = None
    worker_groups: Annotated[tuple[GroupNetworkPolicyRules, ...], schema(map_key="groupName")] = ()


class TLSOptions(Declared, frozen=True, gc=False, kw_only=True):
    enabled: bool | None = None


class IngressOptions(Declared, frozen=True, gc=False, kw_only=True):
    """The head's Ingress; unset path and type mean `/` and Prefix."""

    host: str | None = None
    path: str | None = None
    path_type: Annotated[str | None, schema(enum=("Exact", "Prefix", "ImplementationSpecific"))] = None
    tls: tuple[Opaque, ...] = ()


class HeadGroupSpec(Declared, frozen=True, gc=False, kw_only=True):
    template: Annotated[Opaque, schema(required=True)] = ABSENT
    head_service: Opaque = ABSENT
    enable_ingress: bool | None = None
    ingress_options: IngressOptions | None = None
    resources: dict[str, str] = {}
    labels: dict[str, str] = {}
    ray_start_params: dict[str, str] = {}
    service_type: str = ""


class ScaleStrategy(Declared, frozen=True, gc=False, kw_only=True):
    """Names of Pods that must go first; Ray's autoscaler writes them."""

    workers_to_delete: tuple[str, ...] = ()


class WorkerGroupSpec(Declared, frozen=True, gc=False, kw_only=True):
    group_name: Annotated[str, schema(required=True)] = ""
    replicas: Annotated[Int32, schema(default=True)] = 0
    min_replicas: Annotated[Int32, schema(default=True, required=True)] = 0
    max_replicas: Annotated[Int32, schema(default=True, required=True)] = MAX_INT32
    num_of_hosts: Annotated[Int32, schema(default=True)] = 1
    idle_timeout_seconds: Int32 | None = None
    priority: Annotated[Int32, schema(default=True)] = 0
    suspend: bool | None = None
    scale_strategy: ScaleStrategy = ScaleStrategy()
    template: Annotated[Opaque, schema(required=True)] = ABSENT
    ray_start_params: dict[str, str] = {}
    resources: dict[str, str] = {}
    labels: dict[str, str] = {}


class RayClusterSpec(Declared, frozen=True, gc=False, kw_only=True):
    upgrade_strategy: UpgradeStrategy | None = None
    auth_options: AuthOptions | None = None
    suspend: bool | None = None
    managed_by: Annotated[str | None, MANAGED_BY] = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    head_service_annotations: dict[str, str] = {}
    gcs_fault_tolerance_options: GcsFaultToleranceOptions | None = None
    history_server_options: HistoryServerOptions | None = None
    network_policy: NetworkPolicyOptions | None = None
    tls_options: TLSOptions | None = None
    head_group_spec: Annotated[HeadGroupSpec, schema(required=True)] = HeadGroupSpec()
    ray_version: str = ""
    worker_group_specs: tuple[WorkerGroupSpec, ...] = ()


class HeadInfo(Declared, frozen=True, gc=False, kw_only=True):
    pod_ip: str = msgspec.field(default="", name="podIP")
    service_ip: str = msgspec.field(default="", name="serviceIP")
    pod_name: str = ""
    service_name: str = ""


class RayClusterStatus(Declared, frozen=True, gc=False, kw_only=True):
    """What the operator last reported; `state` is kept for old clients, `conditions` say the same and more."""

    state: str = ""
    reason: str = ""
    desired_cpu: Quantity = msgspec.field(default="", name="desiredCPU")
    desired_memory: Quantity = ""
    desired_gpu: Quantity = msgspec.field(default="", name="desiredGPU")
    desired_tpu: Quantity = msgspec.field(default="", name="desiredTPU")
    last_update_time: Annotated[Time | None, schema(nullable=True)] = None
    state_transition_times: dict[str, Time] = {}
    endpoints: dict[str, str] = {}
    head: HeadInfo = HeadInfo()
    conditions: Annotated[tuple[Condition, ...], schema(map_key="type")] = ()
    ready_worker_replicas: Int32 = 0
    available_worker_replicas: Int32 = 0
    desired_worker_replicas: Int32 = 0
    min_worker_replicas: Int32 = 0
    max_worker_replicas: Int32 = 0
    observed_generation: Int64 = 0


class RayCluster(Declared, frozen=True, gc=False, kw_only=True):
    api_version: str = "ray.io/v1"
    kind: str = "RayCluster"
    metadata: ObjectMeta = ObjectMeta()
    spec: RayClusterSpec = RayClusterSpec()
    status: RayClusterStatus = RayClusterStatus()
