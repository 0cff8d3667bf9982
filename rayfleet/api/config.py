"""The operator's configuration as one frozen value, an input of every decision.

It is read once, at start, from the configuration file, flags and environment (the command line does that); KubeRay's switches keep their
meaning (reference: KubeRay, 2.12, 5.1, 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from rayfleet.version import VERSION

FEATURE_GATES: Mapping[str, bool] = MappingProxyType(
    {
        "RayClusterStatusConditions": True,
        "RayJobDeletionPolicy": True,
        "RayMultiHostIndexing": True,
        "RayServiceIncrementalUpgrade": True,
        "RayCronJob": False,
        "SidecarSubmitterRestart": False,
        "RayClusterNetworkPolicy": False,
        "GCSFaultToleranceEmbeddedStorage": False,
        "RayClusterMTLS": False,
        "RayClusterHistoryServer": False,
        "KubernetesWAS": False,
    }
)


class InjectedProbes(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Seconds for the probes that the operator adds; a user's own probes are never touched. None: as KubeRay sets them."""

    initial_delay_seconds: int | None = None
    period_seconds: int | None = None


class Configuration(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`featureGates` holds only what differs from the defaults; ask `gate(name)`. `hasRoutes`: the API serves OpenShift's Routes.
    `hasCronJobGeneration`: it keeps `status.observedGeneration` of a RayCronJob, which only our definition has.
    """

    api_version: str = "config.ray.io/v1alpha1"
    kind: str = "Configuration"
    # KubeRay's file (5.1). An empty address: nothing is served. An empty namespace to watch: all.
    metrics_addr: str = ""
    probe_addr: str = ""
    enable_leader_election: bool = True
    leader_election_namespace: str = ""
    reconcile_concurrency: int = 16
    watch_namespace: str = ""
    log_file: str = ""
    log_file_encoder: str = "json"
    log_stdout_encoder: str = "auto"
    batch_scheduler: str = ""
    enable_batch_scheduler: bool = False
    head_sidecar_containers: tuple[dict[str, Any], ...] = ()
    worker_sidecar_containers: tuple[dict[str, Any], ...] = ()
    default_container_envs: tuple[dict[str, Any], ...] = ()
    default_pod_annotations: dict[str, str] = {}
    default_pod_labels: dict[str, str] = {}
    use_kubernetes_proxy: bool = False
    delete_ray_job_after_job_finishes: bool = False
    enable_metrics: bool = True
    qps: float = 100.0
    burst: int = 200
    # KubeRay's switches in the environment (2.12).
    cluster_domain: str = "cluster.local"
    enable_probes_injection: bool = True
    enable_init_container_injection: bool = True
    enable_login_shell: bool = False
    enable_deterministic_head_pod_name: bool = False
    enable_ray_head_cluster_ip_service: bool = False
    use_ingress_on_openshift: bool = False
    enable_random_pod_delete: bool = False
    enable_gcs_ft_redis_cleanup: bool = True
    enable_zero_downtime: bool = True
    enable_webhooks: bool = False
    default_requeue_seconds: int = 300
    ray_job_transition_grace_seconds: int = 300
    ray_job_status_check_timeout_seconds: int = 300
    # Our own.
    feature_gates: dict[str, bool] = {}
    log_level: str = "info"
    has_routes: bool = False
    has_old_clusters: bool = False
    has_cron_job_generation: bool = False
    injected_probes: InjectedProbes = InjectedProbes()
    gcs_wait_period_seconds: int = 5
    kuberay_version: str = f"rayfleet-{VERSION}"  # who wrote a hash: never a release of KubeRay, whose hashes are others
    default_auth_mode: str = ""
    head_address: str = "service"
    autoscaling: str = "sidecar"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that are looked after, () for all."""
        return tuple(dict.fromkeys(filter(None, (name.strip() for name in self.watch_namespace.split(",")))))

    def gate(self, name: str) -> bool:
        """Is the feature gate on? Raises KeyError for a gate that does not exist."""
        return self.feature_gates.get(name, FEATURE_GATES[name])
