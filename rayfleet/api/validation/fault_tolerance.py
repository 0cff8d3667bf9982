"""Fault tolerance of the GCS: one place to ask for it, and each backend with its own fields only."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api import labels
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import GcsFaultToleranceOptions, GcsStorage
from rayfleet.api.validation.subject import Subject

ADDRESS, PASSWORD, USERNAME = "RAY_REDIS_ADDRESS", "REDIS_PASSWORD", "REDIS_USERNAME"
STORAGE_VARIABLES = ("RAY_gcs_storage", "RAY_gcs_storage_path")
STORAGE_VOLUME, STORAGE_PATH = "gcs-storage", "/data/gcs"
OPTIONS = "gcsFaultToleranceOptions"


def fault_tolerance_faults(subject: Subject) -> Iterator[Fault]:
    options = subject.spec.gcs_fault_tolerance_options
    yield from username_faults(subject)
    if options is None:
        yield from unasked_faults(subject)
        return
    yield from doubled_faults(subject)
    path = f"{subject.path}.{OPTIONS}"
    if options.backend == "rocksdb":
        yield from rocksdb_faults(subject, options, path)
        yield from reserved_faults(subject)
    elif options.storage is not None:
        yield Fault(f"{path}.storage", "belongs to the backend rocksdb", "set backend: rocksdb, or leave it out")


def username_faults(subject: Subject) -> Iterator[Fault]:
    head = subject.head
    instead = f"use {OPTIONS}.redisUsername"
    if head.spec.ray_start_params.get("redis-username"):
        yield Fault(f"{head.path}.rayStartParams.redis-username", "is no start parameter here", instead)
    if head.template.ray.variable(USERNAME):
        yield Fault(f"{head.ray_path}.env", f"{USERNAME} may not be set", instead)


def unasked_faults(subject: Subject) -> Iterator[Fault]:
    asked = subject.annotations.get(labels.FT_ENABLED, "").lower() == "true"
    if not asked and subject.head.template.ray.variable(ADDRESS):
        yield Fault(f"{subject.head.ray_path}.env", f"{ADDRESS} asks for fault tolerance silently", f"use {OPTIONS}.redisAddress")


def doubled_faults(subject: Subject) -> Iterator[Fault]:
    """With the options, the older ways to say the same are refused: which of two values counts would be a guess."""
    head = subject.head
    if subject.annotations.get(labels.FT_ENABLED):
        yield Fault(f"metadata.annotations[{labels.FT_ENABLED}]", f"is set together with {OPTIONS}", "only the latter may be used")
    if subject.annotations.get(labels.STORAGE_NAMESPACE):
        use = f"use {OPTIONS}.externalStorageNamespace"
        yield Fault(f"metadata.annotations[{labels.STORAGE_NAMESPACE}]", f"is set together with {OPTIONS}", use)
    if head.spec.ray_start_params.get("redis-password"):
        yield Fault(f"{head.path}.rayStartParams.redis-password", f"is set together with {OPTIONS}", f"use {OPTIONS}.redisPassword")
    for name, field in ((PASSWORD, "redisPassword"), (ADDRESS, "redisAddress")):
        if head.template.ray.variable(name):
            yield Fault(f"{head.ray_path}.env", f"{name} is set together with {OPTIONS}", f"use {OPTIONS}.{field}")


def rocksdb_faults(subject: Subject, options: GcsFaultToleranceOptions, path: str) -> Iterator[Fault]:
    if not subject.config.gate("GCSFaultToleranceEmbeddedStorage"):
        yield Fault(f"{path}.backend", "rocksdb needs the feature gate GCSFaultToleranceEmbeddedStorage, which is off")
    of_redis = {
        "redisAddress": bool(options.redis_address),
        "redisUsername": options.redis_username is not None,
        "redisPassword": options.redis_password is not None,
        "externalStorageNamespace": bool(options.external_storage_namespace),
    }
    for name, given in of_redis.items():
        if given:
            yield Fault(f"{path}.{name}", "belongs to the backend redis", "it must be left out with rocksdb")
    if options.storage and options.storage.claim_name:
        yield from claim_faults(options.storage, f"{path}.storage")


def claim_faults(storage: GcsStorage, path: str) -> Iterator[Fault]:
    of_a_new_claim = {
        "size": storage.size is not None,
        "storageClassName": storage.storage_class_name is not None,
        "accessModes": bool(storage.access_modes),
    }
    for name, given in of_a_new_claim.items():
        if given:
            yield Fault(f"{path}.{name}", "describes a new claim, and claimName names one that exists", "only one of the two may be used")


def reserved_faults(subject: Subject) -> Iterator[Fault]:
    """Names that the operator itself uses for the embedded store."""
    head = subject.head
    for name in STORAGE_VARIABLES:
        if head.template.ray.variable(name):
            yield Fault(f"{head.ray_path}.env", f"{name} is set by the operator", "it must be left out with rocksdb")
    for index, mount in enumerate(head.template.ray.volume_mounts):
        if mount.name == STORAGE_VOLUME or mount.mount_path == STORAGE_PATH:
            path = f"{head.ray_path}.volumeMounts[{index}]"
            yield Fault(path, f"{STORAGE_VOLUME} at {STORAGE_PATH} is mounted by the operator", "choose another name and path")
    for index, volume in enumerate(head.template.spec.volumes):
        if volume.name == STORAGE_VOLUME:
            path = f"{head.path}.template.spec.volumes[{index}].name"
            yield Fault(path, f"{STORAGE_VOLUME} is the operator's own volume", "choose another name")
