"""What keeps the GCS' state when the head goes: Redis, or an embedded store on a volume (KubeRay, 2.7; reference Ray, E)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.names import claim_name
from rayfleet.api.raycluster import GcsFaultToleranceOptions, GcsStorage, RayCluster, RedisCredential
from rayfleet.api.template import absent
from rayfleet.api.validation.fault_tolerance import ADDRESS, PASSWORD, STORAGE_PATH, STORAGE_VARIABLES, STORAGE_VOLUME, USERNAME
from rayfleet.resources.env import Variable, literal
from rayfleet.resources.pod_template import ray_container, template_of

REDIS, ROCKSDB = "redis", "rocksdb"
NAMESPACE = "RAY_external_storage_namespace"
RECONNECT = "RAY_gcs_rpc_server_reconnect_timeout_s"
RECONNECT_SECONDS = 600  # Ray's own 60 s are too few for a new head that must be scheduled and get its volume
WHOLE_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")

Manifest = dict[str, Any]


def backend(cluster: RayCluster) -> str:
    """Where the state is kept: `redis`, `rocksdb`, or "" for nowhere but in the head's memory."""
    options = cluster.spec.gcs_fault_tolerance_options
    if options is not None:
        return options.backend or REDIS
    return REDIS if cluster.metadata.annotation(labels.FT_ENABLED).lower() == "true" else ""


def storage_namespace(cluster: RayCluster) -> str:
    """Below which name the cluster's keys lie in Redis: the spec's, the old annotation's, else the cluster's UID."""
    options = cluster.spec.gcs_fault_tolerance_options
    given = options.external_storage_namespace if options else ""
    return given or cluster.metadata.annotation(labels.STORAGE_NAMESPACE) or cluster.metadata.uid


def address(cluster: RayCluster) -> str:
    """The first host and port of Redis, without a scheme; "" where the template hides it."""
    options = cluster.spec.gcs_fault_tolerance_options
    env = ray_container(template_of(cluster.spec.head_group_spec.template)).get("env") or ()
    old = next((str(each.get("value") or "") for each in env if each.get("name") == ADDRESS), "")
    given = options.redis_address if options else old
    return given.split(",")[0].strip().lower().rpartition("://")[2]


def marks(cluster: RayCluster) -> dict[str, str]:
    """What the head's annotations tell of it."""
    kept = backend(cluster)
    where = {labels.STORAGE_NAMESPACE: storage_namespace(cluster)} if kept == REDIS else {}
    return {labels.FT_ENABLED: str(bool(kept)).lower(), **where}


def with_credentials(cluster: RayCluster, params: Mapping[str, str]) -> dict[str, str]:
    """The head's start parameters with those by which Ray logs in to Redis. The values stand in the environment."""
    options = cluster.spec.gcs_fault_tolerance_options
    if options is None or backend(cluster) != REDIS:
        return dict(params)
    user = {"redis-username": f"${USERNAME}"} if options.redis_username else {}
    password = {"redis-password": f"${PASSWORD}"} if options.redis_password else {}
    return {**params, **user, **password}


def head_variables(cluster: RayCluster) -> list[Variable]:
    kept = backend(cluster)
    if kept == ROCKSDB:
        return [literal(STORAGE_VARIABLES[0], ROCKSDB), literal(STORAGE_VARIABLES[1], STORAGE_PATH)]
    if kept != REDIS:
        return []
    options = cluster.spec.gcs_fault_tolerance_options
    given = credentials(options) if options else old_password(cluster.spec.head_group_spec.ray_start_params)
    return [literal(NAMESPACE, storage_namespace(cluster)), *given]


def credentials(options: GcsFaultToleranceOptions) -> list[Variable]:
    found = [literal(ADDRESS, options.redis_address)]
    for name, credential in ((USERNAME, options.redis_username), (PASSWORD, options.redis_password)):
        if credential is not None:
            found.append(variable(name, credential))
    return found


def variable(name: str, credential: RedisCredential) -> Variable:
    if absent(credential.value_from):
        return literal(name, credential.value)
    return {"name": name, "valueFrom": msgspec.json.decode(credential.value_from)}


def old_password(params: Mapping[str, str]) -> list[Variable]:
    """The old style has the password in a start parameter; the clean-up reads the environment.

    Where the parameter names a variable, so does this, in the form of Kubernetes.
    """
    given = params.get("redis-password", "")
    named = WHOLE_VARIABLE.fullmatch(given)
    return [literal(PASSWORD, f"$({named[1] or named[2]})" if named else given)] if given else []


def worker_variables(cluster: RayCluster) -> list[Variable]:
    """A worker waits for the next head instead of ending with the last one."""
    return [literal(RECONNECT, str(RECONNECT_SECONDS))] if backend(cluster) else []


def storage(cluster: RayCluster) -> GcsStorage:
    """The volume as the spec wants it; the usual one where it says nothing."""
    options = cluster.spec.gcs_fault_tolerance_options
    return (options.storage if options else None) or GcsStorage()


def claim_of(cluster: RayCluster) -> str:
    """The name of the claim that the head mounts: the user's, or that which is made for the cluster."""
    return storage(cluster).claim_name or claim_name(cluster.metadata.name)


def with_storage(cluster: RayCluster, spec: Manifest, ray: Manifest) -> tuple[Manifest, Manifest]:
    """The head's Pod spec and its Ray container with the volume of the embedded store."""
    if backend(cluster) != ROCKSDB:
        return spec, ray
    volume = {"name": STORAGE_VOLUME, "persistentVolumeClaim": {"claimName": claim_of(cluster)}}
    sub_path = storage(cluster).sub_path
    mount = {"name": STORAGE_VOLUME, "mountPath": STORAGE_PATH, **({"subPath": sub_path} if sub_path else {})}
    volumes, mounts = [*(spec.get("volumes") or ()), volume], [*(ray.get("volumeMounts") or ()), mount]
    return {**spec, "volumes": volumes}, {**ray, "volumeMounts": mounts}
