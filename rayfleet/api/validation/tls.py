"""Mutual TLS: what the operator sets up itself may not be set by hand too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rayfleet.api.fault import Fault
from rayfleet.api.template import EnvVar, VolumeMount, read_list
from rayfleet.api.validation.subject import Subject

VARIABLES = ("RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
VOLUME, MOUNT_PATH = "ray-tls", "/etc/ray/tls"


def tls_faults(subject: Subject) -> Iterator[Fault]:
    options = subject.spec.tls_options
    if options is None:
        return
    path = f"{subject.path}.tlsOptions"
    if not subject.config.gate("RayClusterMTLS"):
        yield Fault(path, "needs the feature gate RayClusterMTLS, which is off")
    if not options.enabled:
        return
    for group in subject.groups:
        yield from managed_faults(group.template.ray.env, group.template.ray.volume_mounts, group.ray_path)
    scaler = subject.spec.autoscaler_options
    if scaler:
        path = f"{subject.path}.autoscalerOptions"
        variables = read_list(scaler.env, EnvVar, path)[0]
        yield from managed_faults(variables, read_list(scaler.volume_mounts, VolumeMount, path)[0], path)


def managed_faults(variables: Iterable[EnvVar], mounts: Iterable[VolumeMount], path: str) -> Iterator[Fault]:
    for variable in variables:
        if variable.name in VARIABLES:
            yield Fault(f"{path}.env", f"{variable.name} is set by the operator", "it must be left out with tlsOptions")
    for mount in mounts:
        if mount.name == VOLUME or mount.mount_path == MOUNT_PATH:
            yield Fault(f"{path}.volumeMounts", f"{VOLUME} at {MOUNT_PATH} is mounted by the operator", "choose another name and path")
