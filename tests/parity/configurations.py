"""The operator's configurations of the recordings: environment and configuration file, as somebody would give them to `rayfleet run`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from rayfleet.api.config import Configuration
from rayfleet.cli.configuration import configuration_of

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "default": {},
    "config": {},
    "gates": {},
    "short-timeouts": {"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS": "10", "RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS": "10"},
    "env": {
        "ENABLE_DETERMINISTIC_HEAD_POD_NAME": "true",
        "ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE": "true",
        "ENABLE_LOGIN_SHELL": "true",
        "ENABLE_PROBES_INJECTION": "false",
        "ENABLE_INIT_CONTAINER_INJECTION": "false",
        "CLUSTER_DOMAIN": "corp.test",
        "RAY_START_ULIMIT_OPEN_FILES": "4096",
    },
    "env2": {
        "ENABLE_ZERO_DOWNTIME": "false",
        "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "true",
        "ENABLE_RANDOM_POD_DELETE": "true",
        "ENABLE_GCS_FT_REDIS_CLEANUP": "false",
        "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV": "5",
    },
}
GATES = (
    "RayCronJob",
    "RayClusterNetworkPolicy",
    "GCSFaultToleranceEmbeddedStorage",
    "RayClusterMTLS",
    "RayClusterHistoryServer",
)
FILES: dict[str, dict[str, object]] = {
    "gates": {
        "apiVersion": "config.ray.io/v1alpha1",
        "kind": "Configuration",
        "featureGates": dict.fromkeys(GATES, True),
    },
    "config": {
        "apiVersion": "config.ray.io/v1alpha1",
        "kind": "Configuration",
        "headSidecarContainers": [{"name": "head-helper", "image": "example/helper:1"}],
        "workerSidecarContainers": [{"name": "worker-helper", "image": "example/helper:1"}],
        "defaultContainerEnvs": [{"name": "SITE", "value": "north"}],
        "defaultPodLabels": {"site.example.test/zone": "north"},
        "defaultPodAnnotations": {"site.example.test/owner": "platform"},
    },
}


def environment(name: str) -> Mapping[str, str]:
    return ENVIRONMENTS[name]


def arguments(name: str, directory: Path) -> list[str]:
    """The flags that name the configuration's file, which is written into the directory."""
    if name not in FILES:
        return []
    file = directory / "configuration.yaml"
    file.write_text(yaml.safe_dump(FILES[name]))
    return ["--config", str(file)]


def configuration(name: str, directory: Path) -> Configuration:
    flags = arguments(name, directory)
    return configuration_of(flags[1] if flags else None, "", environment(name))
