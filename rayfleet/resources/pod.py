"""Head and worker Pods: the user's template, completed (KubeRay, 2.4). Container 0 is the Ray container, always."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.names import Slot, account_name, replica_name
from rayfleet.api.raycluster import RayCluster, WorkerGroupSpec
from rayfleet.api.scaler import HOSTED, has_sidecar, is_hosted
from rayfleet.resources import auth, defaults, env, gcs_ft, ports, ray_start, serving, tls
from rayfleet.resources.autoscaler_sidecar import is_v2, version_variables, with_autoscaler
from rayfleet.resources.gcs_wait import image_of, wait_container
from rayfleet.resources.history import event_variables, with_collector
from rayfleet.resources.ownership import owner_reference, pod_labels
from rayfleet.resources.pod_template import FIXED, head_service_of, ray_container, template_of
from rayfleet.resources.probes import with_probes
from rayfleet.resources.recreate_hash import recreate_hash
from rayfleet.resources.volumes import with_shared_memory

Manifest = dict[str, Any]
ULIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"


def head_pod(cluster: RayCluster, name: str, config: Configuration, account: str = "") -> Manifest:
    """The head Pod of the given name. `account` is the autoscaler's ServiceAccount, the usual one when it is not given."""
    group = cluster.spec.head_group_spec
    template = template_of(group.template)
    given, ray = protected(cluster, labels.HEAD, template, config)
    asked = gcs_ft.with_credentials(cluster, group.ray_start_params)
    params = ray_start.head_params(asked, ray.get("resources") or {}, group.resources, group.labels)
    if cluster.spec.enable_in_tree_autoscaling:
        params["no-monitor"] = "true"  # whatever the user says: the sidecar or the operator is the monitor, and two would fight
    line = ray_start.command_line(params, head=True)
    stored = [*defaults.variables(config), *gcs_ft.head_variables(cluster)]
    added = [
        *serving.serve_variables(cluster),
        *serving.recovery_variables(cluster),
        *stored,
        *env.head_variables(cluster, line, params, config),
        *version_variables(cluster, config),
        *event_variables(cluster),
    ]
    ray = with_command({**ray, "env": env.merged(ray.get("env") or (), added)}, keeps_command(cluster, template), line, config)
    ray = with_probes(with_metrics_port(ray, params), labels.HEAD, params, cluster.spec.ray_version, config)
    spec = with_init_addresses(given, env.address_variables(cluster, config, head_service_of(cluster)))
    spec, ray = gcs_ft.with_storage(cluster, *with_shared_memory(spec, ray, params))
    if has_sidecar(cluster.metadata, cluster.spec, config):
        spec, ray = with_autoscaler(cluster, spec, ray, shell(config), config, account or account_name(cluster.metadata.name))
    spec, ray = with_collector(cluster, labels.HEAD, params, spec, ray, config)
    spec = with_sidecars(with_restart_policy(cluster, spec), config.head_sidecar_containers)
    marks = {**pod_labels(cluster.metadata.name, labels.HEAD, labels.HEAD_GROUP), **serving.serve_label(cluster, labels.HEAD)}
    notes = {
        labels.KUBERAY_VERSION: config.kuberay_version,
        labels.RECREATE_HASH: recreate_hash(cluster.spec),
        **gcs_ft.marks(cluster),
        **({labels.AUTOSCALING: HOSTED} if is_hosted(cluster.metadata, cluster.spec, config) else {}),
    }
    return manifest(cluster, name, template, {**spec, "containers": [ray, *others(spec)]}, marks, group.labels, notes, config)


def worker_pod(cluster: RayCluster, group: WorkerGroupSpec, slot: Slot, lives: int, name: str, config: Configuration) -> Manifest:
    """The worker Pod of the given name in a slot of its group."""
    service = head_service_of(cluster)
    gcs_port = ports.port_of(ports.GCS, cluster.spec.head_group_spec.ray_start_params)
    address = f"{env.head_host(cluster, config, service)}:{gcs_port}"
    where = env.address_variables(cluster, config, service)
    template = template_of(group.template)
    spec, given = protected(cluster, labels.WORKER, template, config)
    params = ray_start.worker_params(group.ray_start_params, address, given.get("resources") or {}, group.resources, group.labels)
    line = ray_start.command_line(params, head=False)
    stored = [*defaults.variables(config), *gcs_ft.worker_variables(cluster)]
    added = [
        *serving.serve_variables(cluster),
        *stored,
        *env.worker_variables(cluster, line, gcs_port, config, service),
        *event_variables(cluster),
    ]
    ray = with_command({**given, "env": env.merged(given.get("env") or (), added)}, keeps_command(cluster, template), line, config)
    proxy = serving.probed_port(cluster, given)
    ray = with_probes(with_metrics_port(ray, params), labels.WORKER, params, cluster.spec.ray_version, config, proxy)
    spec = with_init_addresses(spec, where)
    if config.enable_init_container_injection:
        host, volumes = env.head_host(cluster, config, service), spec.get("volumes") or ()
        wait = wait_container(given, volumes, host, gcs_port, where, shell(config), config.gcs_wait_period_seconds)
        spec = {**spec, "initContainers": [*(spec.get("initContainers") or ()), wait]}
    spec, ray = with_shared_memory(spec, ray, params)
    spec, ray = with_collector(cluster, labels.WORKER, params, spec, ray, config)
    spec = with_sidecars(with_restart_policy(cluster, lives_once(cluster, spec, config)), config.worker_sidecar_containers)
    marks = {
        **pod_labels(cluster.metadata.name, labels.WORKER, group.group_name),
        **serving.serve_label(cluster, labels.WORKER),
        **slot_labels(cluster, group, slot, lives, config),
    }
    return manifest(cluster, name, template, {**spec, "containers": [ray, *others(spec)]}, marks, group.labels, {}, config)


def protected(cluster: RayCluster, node_type: str, template: Manifest, config: Configuration) -> tuple[Manifest, Manifest]:
    """The template's spec and its Ray container, with what keeps strangers out."""
    ray = ray_container(template)
    spec = auth.with_token_volume(cluster, template["spec"], config)
    spec = tls.with_certificate(cluster, node_type, spec, image_of(ray))
    return spec, tls.with_tls(cluster, auth.with_auth(cluster, ray, config))


def others(spec: Manifest) -> list[Manifest]:
    """The containers beside Ray's."""
    return list((spec.get("containers") or [{}])[1:])


def with_sidecars(spec: Manifest, sidecars: tuple[dict[str, Any], ...]) -> Manifest:
    """The operator's configured sidecars, but those whose names the user took."""
    names = {container.get("name") for container in spec.get("containers") or ()}
    added = [dict(sidecar) for sidecar in sidecars if sidecar.get("name") not in names]
    return {**spec, "containers": [*(spec.get("containers") or [{}]), *added]} if added else spec


def lives_once(cluster: RayCluster, worker: Manifest, config: Configuration) -> Manifest:
    """Unless the user says otherwise, where the operator sizes: a drained node that starts again would join again before its Pod goes."""
    return {"restartPolicy": "Never", **worker} if is_hosted(cluster.metadata, cluster.spec, config) else worker


def with_restart_policy(cluster: RayCluster, spec: Manifest) -> Manifest:
    """Autoscaler v2 takes a Pod for an instance that lives once."""
    return {**spec, "restartPolicy": "Never"} if is_v2(cluster) else spec


def manifest(
    cluster: RayCluster,
    name: str,
    template: Manifest,
    spec: Manifest,
    marks: Mapping[str, str],
    own: Mapping[str, str],
    notes: Mapping[str, str],
    config: Configuration,
) -> Manifest:
    """The Pod. The template's labels and annotations stay, the group's `own` labels go before them, and neither changes those by which
    the operator finds its Pods."""
    given: Manifest = template.get("metadata") or {}
    annotations = {**config.default_pod_annotations, **(given.get("annotations") or {}), **notes, **overwrite_annotation(cluster)}
    fixed = {key: marks[key] for key in FIXED if key in marks}
    metadata: Manifest = {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": {**config.default_pod_labels, **marks, **(given.get("labels") or {}), **own, **fixed},
        "ownerReferences": [owner_reference(cluster)],
    }
    if annotations:
        metadata["annotations"] = annotations
    if given.get("finalizers"):
        metadata["finalizers"] = given["finalizers"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def slot_labels(cluster: RayCluster, group: WorkerGroupSpec, slot: Slot, lives: int, config: Configuration) -> dict[str, str]:
    """Which slot the Pod fills; a Pod of a multi-host replica also says which replica and host."""
    marks = {labels.REPLICA_INDEX: str(slot.replica)}
    if group.num_of_hosts > 1 and config.gate("RayMultiHostIndexing"):
        marks[labels.HOST_INDEX] = str(slot.host)
        marks[labels.REPLICA_NAME] = replica_name(group.group_name, cluster.metadata.uid, slot.replica, lives)
    return marks


def with_metrics_port(ray: Manifest, params: Mapping[str, str]) -> Manifest:
    declared = list(ray.get("ports") or ())
    if any(port.get("name") == ports.METRICS for port in declared):
        return ray
    return {**ray, "ports": [*declared, {"name": ports.METRICS, "containerPort": ports.port_of(ports.METRICS, params)}]}


def with_command(ray: Manifest, kept: bool, line: str, config: Configuration) -> Manifest:
    """The container started by the generated line, after whatever command the user gave.

    A user who starts Ray in the command, or asks for it (`kept`), has the command left as it is.
    """
    given = [str(word) for word in (*(ray.get("command") or ()), *(ray.get("args") or ()))]
    if kept or any("ray start" in word for word in given):
        return ray
    start = f"{ULIMIT}; {line}"
    return {**ray, "command": shell(config), "args": [" ".join([*given, "&&", start]) if given else start]}


def keeps_command(cluster: RayCluster, template: Manifest) -> bool:
    """Is the annotation that keeps the user's command on the cluster, or on the template?"""
    own: Mapping[str, str] = (template.get("metadata") or {}).get("annotations") or {}
    return "true" in (cluster.metadata.annotation(labels.OVERWRITE_COMMAND).lower(), str(own.get(labels.OVERWRITE_COMMAND, "")).lower())


def shell(config: Configuration) -> list[str]:
    return ["/bin/bash", "-cl" if config.enable_login_shell else "-c", "--"]


def with_init_addresses(spec: Manifest, variables: list[env.Variable]) -> Manifest:
    """The user's init containers learn where the head is."""
    given = spec.get("initContainers") or ()
    if not given:
        return spec
    return {**spec, "initContainers": [{**container, "env": env.merged(container.get("env") or (), variables)} for container in given]}


def overwrite_annotation(cluster: RayCluster) -> dict[str, str]:
    """Copied only where it says yes: a template may say so for itself."""
    return {labels.OVERWRITE_COMMAND: "true"} if cluster.metadata.annotation(labels.OVERWRITE_COMMAND).lower() == "true" else {}
