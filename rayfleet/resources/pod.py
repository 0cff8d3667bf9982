"""Head and worker Pods: the user's template, completed (KubeRay, 2.4). Container 0 is the Ray container, always."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.names import Slot, head_service_name, replica_name
from rayfleet.api.raycluster import RayCluster, WorkerGroupSpec
from rayfleet.api.template import absent
from rayfleet.resources import env, ports, ray_start
from rayfleet.resources.gcs_wait import wait_container
from rayfleet.resources.ownership import owner_reference, pod_labels
from rayfleet.resources.probes import with_probes
from rayfleet.resources.recreate_hash import recreate_hash
from rayfleet.resources.volumes import with_shared_memory

Manifest = dict[str, Any]
ULIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"


def head_pod(cluster: RayCluster, name: str, config: Configuration) -> Manifest:
    """The head Pod of the given name."""
    group = cluster.spec.head_group_spec
    template = template_of(group.template)
    ray = ray_container(template)
    params = ray_start.head_params(group.ray_start_params, ray.get("resources") or {}, group.resources, group.labels)
    line = ray_start.command_line(params, head=True)
    ray = with_command({**ray, "env": env.merged(ray.get("env") or (), env.head_variables(line, params, config))}, cluster, line, config)
    ray = with_probes(with_metrics_port(ray, params), labels.HEAD, params, cluster.spec.ray_version, config)
    spec = with_init_addresses(template["spec"], env.address_variables(cluster, config))
    spec, ray = with_shared_memory(spec, ray, params)
    marks = {**group.labels, **pod_labels(cluster.metadata.name, labels.HEAD, labels.HEAD_GROUP)}
    notes = {
        labels.KUBERAY_VERSION: config.kuberay_version,
        labels.RECREATE_HASH: recreate_hash(cluster.spec),
        labels.FT_ENABLED: cluster.metadata.annotation(labels.FT_ENABLED) or "false",
    }
    return manifest(cluster, name, template, spec, ray, marks, notes)


def worker_pod(cluster: RayCluster, group: WorkerGroupSpec, slot: Slot, lives: int, name: str, config: Configuration) -> Manifest:
    """The worker Pod of the given name in a slot of its group."""
    service = head_service_name(cluster.metadata.name)
    gcs_port = ports.port_of(ports.GCS, cluster.spec.head_group_spec.ray_start_params)
    address = f"{env.head_host(cluster, config, service)}:{gcs_port}"
    template = template_of(group.template)
    given = ray_container(template)
    params = ray_start.worker_params(group.ray_start_params, address, given.get("resources") or {}, group.resources, group.labels)
    line = ray_start.command_line(params, head=False)
    added = env.worker_variables(cluster, line, gcs_port, config, service)
    ray = with_command({**given, "env": env.merged(given.get("env") or (), added)}, cluster, line, config)
    ray = with_probes(with_metrics_port(ray, params), labels.WORKER, params, cluster.spec.ray_version, config)
    spec = with_init_addresses(template["spec"], env.address_variables(cluster, config))
    if config.enable_init_container_injection:
        where = env.address_variables(cluster, config)
        wait = wait_container(given, address, where, shell(config), config.gcs_wait_period_seconds)
        spec = {**spec, "initContainers": [*(spec.get("initContainers") or ()), wait]}
    spec, ray = with_shared_memory(spec, ray, params)
    marks = {
        **group.labels,
        **pod_labels(cluster.metadata.name, labels.WORKER, group.group_name),
        **slot_labels(cluster, group, slot, lives),
    }
    return manifest(cluster, name, template, spec, ray, marks, {})


def template_of(raw: msgspec.Raw) -> Manifest:
    """A fresh copy of a Pod template. Raises msgspec.DecodeError when it is no JSON object."""
    template = object_of(raw)
    return {**template, "spec": template.get("spec") or {}}


def object_of(raw: msgspec.Raw) -> Manifest:
    """A raw field as a fresh object; {} where it is not set. Raises msgspec.DecodeError when it is something else."""
    return {} if absent(raw) else msgspec.json.decode(raw, type=dict[str, Any])


def ray_container(template: Manifest) -> Manifest:
    containers = template["spec"].get("containers") or [{}]
    return dict(containers[0])


def manifest(
    cluster: RayCluster, name: str, template: Manifest, spec: Manifest, ray: Manifest, marks: Mapping[str, str], notes: Mapping[str, str]
) -> Manifest:
    """The Pod. The template's own labels and annotations stay, but for those by which the operator finds its Pods."""
    given: Manifest = template.get("metadata") or {}
    annotations = {**(given.get("annotations") or {}), **notes, **overwrite_annotation(cluster)}
    metadata: Manifest = {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": {**marks, **(given.get("labels") or {}), **{key: marks[key] for key in FIXED if key in marks}},
        "ownerReferences": [owner_reference(cluster)],
    }
    if annotations:
        metadata["annotations"] = annotations
    containers = [ray, *(spec.get("containers") or [{}])[1:]]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": containers}}


FIXED = (labels.CLUSTER, labels.NODE_TYPE, labels.GROUP, labels.REPLICA_INDEX, labels.HOST_INDEX, labels.REPLICA_NAME)


def slot_labels(cluster: RayCluster, group: WorkerGroupSpec, slot: Slot, lives: int) -> dict[str, str]:
    """Which slot the Pod fills; a Pod of a multi-host replica also says which replica and host."""
    marks = {labels.REPLICA_INDEX: str(slot.replica)}
    if group.num_of_hosts > 1:
        marks[labels.HOST_INDEX] = str(slot.host)
        marks[labels.REPLICA_NAME] = replica_name(group.group_name, cluster.metadata.uid, slot.replica, lives)
    return marks


def with_metrics_port(ray: Manifest, params: Mapping[str, str]) -> Manifest:
    declared = list(ray.get("ports") or ())
    if any(port.get("name") == ports.METRICS for port in declared):
        return ray
    return {**ray, "ports": [*declared, {"name": ports.METRICS, "containerPort": ports.port_of(ports.METRICS, params)}]}


def with_command(ray: Manifest, cluster: RayCluster, line: str, config: Configuration) -> Manifest:
    """The container started by the generated line, after whatever command the user gave.

    A user who starts Ray in the command, or asks for it by annotation, keeps the command as it is.
    """
    given = [str(word) for word in (*(ray.get("command") or ()), *(ray.get("args") or ()))]
    if cluster.metadata.annotation(labels.OVERWRITE_COMMAND) == "true" or any("ray start" in word for word in given):
        return ray
    start = f"{ULIMIT}; {line}"
    return {**ray, "command": shell(config), "args": [" ".join([*given, "&&", start]) if given else start]}


def shell(config: Configuration) -> list[str]:
    return ["/bin/bash", "-cl" if config.enable_login_shell else "-c", "--"]


def with_init_addresses(spec: Manifest, variables: list[env.Variable]) -> Manifest:
    """The user's init containers learn where the head is."""
    given = spec.get("initContainers") or ()
    if not given:
        return spec
    return {**spec, "initContainers": [{**container, "env": env.merged(container.get("env") or (), variables)} for container in given]}


def overwrite_annotation(cluster: RayCluster) -> dict[str, str]:
    value = cluster.metadata.annotation(labels.OVERWRITE_COMMAND)
    return {labels.OVERWRITE_COMMAND: value} if value else {}
