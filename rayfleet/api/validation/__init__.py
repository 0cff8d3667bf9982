"""What is wrong with a RayCluster, RayService or RayJob: all of it at once, each fault with its path. Pure; one topic a file (rules:
KubeRay, 1.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycluster import RayCluster, RayClusterSpec
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.auth import auth_faults
from rayfleet.api.validation.autoscaling import autoscaling_faults
from rayfleet.api.validation.choices import choice_faults
from rayfleet.api.validation.cluster_names import group_name_faults, name_faults
from rayfleet.api.validation.fault_tolerance import fault_tolerance_faults
from rayfleet.api.validation.history import history_faults
from rayfleet.api.validation.network import network_faults
from rayfleet.api.validation.ray_cron_job import cron_name_faults
from rayfleet.api.validation.ray_job import CLUSTER_SPEC, job_kind_faults, spec_kind_faults
from rayfleet.api.validation.ray_service import CLUSTER, service_kind_faults
from rayfleet.api.validation.replicas import replica_faults
from rayfleet.api.validation.services import service_faults
from rayfleet.api.validation.start_params import start_param_faults
from rayfleet.api.validation.subject import Subject, subject_of
from rayfleet.api.validation.templates import template_faults
from rayfleet.api.validation.tls import tls_faults

__all__ = ["Fault", "validate_cluster", "validate_cluster_spec", "validate_cron_job", "validate_job", "validate_service"]

TOPICS: tuple[Callable[[Subject], Iterator[Fault]], ...] = (
    group_name_faults,
    replica_faults,
    template_faults,
    service_faults,
    start_param_faults,
    choice_faults,
    autoscaling_faults,
    fault_tolerance_faults,
    auth_faults,
    history_faults,
    network_faults,
    tls_faults,
)


def validate_cluster(cluster: RayCluster | Undecodable, config: Configuration) -> tuple[Fault, ...]:
    """All faults of a RayCluster, () for a good one. Never raises."""
    if isinstance(cluster, Undecodable):
        return cluster.faults
    subject = subject_of(cluster.metadata, cluster.spec, config)
    return distinct((*name_faults(subject), *spec_faults(subject)))


def validate_cluster_spec(spec: RayClusterSpec, metadata: ObjectMeta, config: Configuration, path: str) -> tuple[Fault, ...]:
    """The same for a cluster's spec inside another kind; `metadata` is that kind's, `path` where the spec stands in it."""
    return distinct(spec_faults(subject_of(metadata, spec, config, path)))


def validate_service(service: RayService | Undecodable, config: Configuration) -> tuple[Fault, ...]:
    """All faults of a RayService but those of its Serve config, which is YAML (`rayfleet.ray.serve_config`). Never raises."""
    if isinstance(service, Undecodable):
        return service.faults
    cluster = validate_cluster_spec(service.spec.ray_cluster_config, service.metadata, config, CLUSTER)
    return distinct((*service_kind_faults(service, config), *cluster))


def validate_job(job: RayJob | Undecodable, config: Configuration) -> tuple[Fault, ...]:
    """All faults of a RayJob but those of its `runtimeEnvYAML` (`rayfleet.ray.runtime_env`). Never raises."""
    if isinstance(job, Undecodable):
        return job.faults
    spec = job.spec.ray_cluster_spec
    cluster = validate_cluster_spec(spec, job.metadata, config, CLUSTER_SPEC) if spec is not None else ()
    return distinct((*job_kind_faults(job, config), *cluster))


def validate_cron_job(cron: RayCronJob | Undecodable, config: Configuration) -> tuple[Fault, ...]:
    """All faults of a RayCronJob but those of its schedule and of `runtimeEnvYAML`. Never raises."""
    if isinstance(cron, Undecodable):
        return cron.faults
    template, path = cron.spec.job_template, "spec.jobTemplate"
    found = [replace(fault, path=fault.path.replace("spec", path, 1)) for fault in spec_kind_faults(template, config, ObjectMeta())]
    spec = template.ray_cluster_spec
    cluster = validate_cluster_spec(spec, cron.metadata, config, f"{path}.rayClusterSpec") if spec is not None else ()
    return distinct((*cron_name_faults(cron.metadata.name), *found, *cluster))


def spec_faults(subject: Subject) -> Iterator[Fault]:
    for topic in TOPICS:
        yield from topic(subject)


def distinct(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Two topics may look at the same place; it is named once."""
    return tuple(dict.fromkeys(faults))
