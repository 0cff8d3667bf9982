"""What is wrong with a RayService, but for its Serve config and its cluster's spec (rules: KubeRay, 1.6)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.duration import parse_duration
from rayfleet.api.fault import Fault, shown
from rayfleet.api.names import SERVICE_NAME_LIMIT
from rayfleet.api.rayservice import ClusterUpgradeOptions, RayService
from rayfleet.api.template import absent
from rayfleet.api.validation.object_name import object_name_faults
from rayfleet.api.validation.services import written_service_faults

NONE, NEW_CLUSTER, INCREMENTAL = "None", "NewCluster", "NewClusterWithIncrementalUpgrade"
STRATEGIES = (NEW_CLUSTER, INCREMENTAL, NONE)
GATE = "RayServiceIncrementalUpgrade"
CLUSTER = "spec.rayClusterConfig"


def service_kind_faults(service: RayService, config: Configuration) -> Iterator[Fault]:
    yield from object_name_faults(service.metadata.name, SERVICE_NAME_LIMIT, "clusters")
    yield from timeout_faults(service)
    yield from cluster_faults(service)
    yield from written_service_faults(service.spec.serve_service, "spec.serveService")
    delay = service.spec.ray_cluster_deletion_delay_seconds
    if delay is not None and delay < 0:
        yield Fault("spec.rayClusterDeletionDelaySeconds", f"{delay} is negative", "it must be 0 or more")
    yield from upgrade_faults(service, config)


def timeout_faults(service: RayService) -> Iterator[Fault]:
    given = service.metadata.annotation(labels.INITIALIZING_TIMEOUT)
    if given and not initializing_timeout(given):
        path = f"metadata.annotations[{labels.INITIALIZING_TIMEOUT}]"
        yield Fault(path, f"{shown(given)} is no time to wait", "it must be a duration above 0, such as 10m, or whole seconds")


def initializing_timeout(text: str) -> float:
    """Seconds; 0 where the annotation gives none that can be used."""
    try:
        return parse_duration(text)
    except ValueError:
        return 0.0


def cluster_faults(service: RayService) -> Iterator[Fault]:
    spec = service.spec.ray_cluster_config
    if spec.auth_options and spec.auth_options.enable_k8s_token_auth:
        path = f"{CLUSTER}.authOptions.enableK8sTokenAuth"
        yield Fault(path, "the operator has no token of its own for Ray's ports", "use a token of a Secret")
    if spec.upgrade_strategy and spec.upgrade_strategy.type:
        yield Fault(f"{CLUSTER}.upgradeStrategy.type", "a RayService replaces its cluster itself", "leave it out")
    given = spec.head_group_spec.head_service
    written = {} if absent(given) else msgspec.json.decode(given)
    metadata = written.get("metadata") if isinstance(written, dict) else None
    if isinstance(metadata, dict) and metadata.get("name"):
        path = f"{CLUSTER}.headGroupSpec.headService.metadata.name"
        yield Fault(path, f"{shown(metadata['name'])}: two clusters of one service would share it", "leave it out")


def upgrade_faults(service: RayService, config: Configuration) -> Iterator[Fault]:
    strategy = service.spec.upgrade_strategy
    if strategy is None or not strategy.type:
        return
    path = "spec.upgradeStrategy"
    if strategy.type not in STRATEGIES:
        yield Fault(f"{path}.type", f"{shown(strategy.type)} is unknown", f"it must be one of {', '.join(STRATEGIES)}")
    if strategy.type != INCREMENTAL:
        return
    if not config.gate(GATE):
        yield Fault(f"{path}.type", f"needs the feature gate {GATE}, which is off", f"use {NEW_CLUSTER}")
    if not service.spec.ray_cluster_config.enable_in_tree_autoscaling:
        yield Fault(f"{CLUSTER}.enableInTreeAutoscaling", f"{INCREMENTAL} sizes clusters by Ray's autoscaler", "it must be true")
    if strategy.cluster_upgrade_options is None:
        yield Fault(f"{path}.clusterUpgradeOptions", f"is missing, and {INCREMENTAL} needs it")
    else:
        yield from option_faults(strategy.cluster_upgrade_options, f"{path}.clusterUpgradeOptions")


def option_faults(options: ClusterUpgradeOptions, path: str) -> Iterator[Fault]:
    surge, step, interval = options.max_surge_percent, options.step_size_percent, options.interval_seconds
    if not 0 < surge <= 100:
        yield Fault(f"{path}.maxSurgePercent", f"{surge} is no share that an upgrade could go on with", "it must be between 1 and 100")
    if step is None:
        yield Fault(f"{path}.stepSizePercent", "is missing", "it must be between 1 and maxSurgePercent")
    elif not 0 < step <= min(surge, 100):
        yield Fault(f"{path}.stepSizePercent", f"{step} is not between 1 and maxSurgePercent, {surge}")
    if interval is None or interval <= 0:
        yield Fault(f"{path}.intervalSeconds", "is missing" if interval is None else f"{interval} is no time to wait", "it must be above 0")
    if not options.gateway_class_name:
        yield Fault(f"{path}.gatewayClassName", "is empty", "name a GatewayClass")
