"""Ray's own autoscaler as a container beside the head (KubeRay, 2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.raycluster import AutoscalerOptions, RayCluster
from rayfleet.api.scaler import is_hosted
from rayfleet.api.template import absent
from rayfleet.resources import auth, env, tls
from rayfleet.resources.pod_template import object_of, ray_container, template_of
from rayfleet.resources.volumes import mount_of_logs, with_shared_logs

Manifest = dict[str, Any]
NAME = "autoscaler"
V2_VARIABLE = "RAY_enable_autoscaler_v2"
COMMAND = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
SMALL = {"cpu": "500m", "memory": "512Mi"}


def is_v2(cluster: RayCluster) -> bool:
    """Does the spec choose version 2, by the option or by the variable on the head?"""
    options = cluster.spec.autoscaler_options
    if not cluster.spec.enable_in_tree_autoscaling:
        return False
    if options is not None and options.version:
        return options.version == "v2"
    variables = ray_container(template_of(cluster.spec.head_group_spec.template)).get("env") or ()
    return any(variable.get("name") == V2_VARIABLE and str(variable.get("value", "")).lower() in ("1", "true") for variable in variables)


def version_variables(cluster: RayCluster, config: Configuration) -> list[env.Variable]:
    """Tells the head which version is meant, where the option says so. What the operator reports, `ray status` shows as version 2."""
    options = cluster.spec.autoscaler_options
    if is_hosted(cluster.metadata, cluster.spec, config):
        return [env.literal(V2_VARIABLE, "true")]
    if not cluster.spec.enable_in_tree_autoscaling or options is None or not options.version:
        return []
    return [env.literal(V2_VARIABLE, "true" if options.version == "v2" else "false")]


def with_autoscaler(
    cluster: RayCluster, spec: Manifest, ray: Manifest, shell: list[str], config: Configuration, account: str
) -> tuple[Manifest, Manifest]:
    """The head's Pod spec with the sidecar and its account (the user's wins), and the Ray container with the logs that both share."""
    spec, ray, mount = with_shared_logs(spec, ray)
    options = cluster.spec.autoscaler_options or AutoscalerOptions()
    sidecar = tls.with_tls(cluster, auth.with_auth(cluster, container(options, ray, mount, shell), config))
    containers = [*(spec.get("containers") or [{}]), sidecar]
    return {**spec, "containers": containers, "serviceAccountName": spec.get("serviceAccountName") or account}, ray


def container(options: AutoscalerOptions, ray: Mapping[str, Any], logs: Manifest, shell: list[str]) -> Manifest:
    given = [msgspec.json.decode(variable) for variable in options.env]
    mounts = [msgspec.json.decode(mount) for mount in options.volume_mounts]
    made: Manifest = {
        "name": NAME,
        "image": options.image or ray.get("image", ""),
        "imagePullPolicy": options.image_pull_policy or "IfNotPresent",
        "command": list(options.command) or shell,
        "args": list(options.args) or [COMMAND],
        "env": [*own_variables(), *given],
        "resources": {"limits": dict(SMALL), "requests": dict(SMALL)} if absent(options.resources) else object_of(options.resources),
        "volumeMounts": mounts if mount_of_logs(mounts) else [*mounts, logs],
    }
    if options.env_from:
        made["envFrom"] = [msgspec.json.decode(source) for source in options.env_from]
    if not absent(options.security_context):
        made["securityContext"] = object_of(options.security_context)
    return made


def own_variables() -> list[env.Variable]:
    return [
        env.from_field("RAY_CLUSTER_NAME", f"metadata.labels['{labels.CLUSTER}']"),
        env.from_field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
        env.from_field("RAY_HEAD_POD_NAME", "metadata.name"),
        env.literal("KUBERAY_CRD_VER", "v1"),
        env.literal("KUBERAY_GEN_AUTOSCALER_START_CMD", COMMAND),
    ]
