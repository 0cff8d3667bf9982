"""The RayJob that `rayfleet job submit` asks for: from a file, or from options alone."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rayfleet.api import labels
from rayfleet.cli.failure import Failure

if TYPE_CHECKING:
    from rayfleet.ray.package import Package

RAY_VERSION = "2.60.0"
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
TTL = 10  # seconds, in which the end of the log and the exit code are read
UNSUBMITTED = 600  # seconds that a cluster may wait for its working directory: whoever was to bring it may be gone

Obj = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """The options as they were given; "", (), None and 0 for those that were not."""

    name: str = ""
    file: str = ""
    cluster: str = ""
    program: tuple[str, ...] = ()
    mode: str = ""
    image: str = ""
    ray_version: str = ""
    workers: int | None = None
    cpus: str = ""
    memory: str = ""
    gpus: int = 0
    working_dir: str = ""
    runtime_env: str = ""
    variables: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    entrypoint_cpus: float = 0
    entrypoint_gpus: float = 0
    deadline: int | None = None
    ttl: int | None = None
    retries: int | None = None
    keep: bool = False


@dataclass(frozen=True)
class Draft:
    """A RayJob to be made. `package` is what its program is to find around it; None when there is nothing to bring. `environment` is its
    runtime environment."""

    body: Obj
    package: Package | None = None
    environment: Obj = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """The cluster that is there already; "" when it gets its own."""
        return str((self.body["spec"].get("clusterSelector") or {}).get(labels.CLUSTER) or "")

    @property
    def is_brought(self) -> bool:
        """Is the job handed to Ray from here? A cluster of its own must be there before a directory can be brought to it."""
        return self.package is not None and not self.cluster


def draft(asked: Asked, namespace: str | None) -> Draft:
    """Raises Failure, UsageError or BadManifest."""
    body = from_file(asked.file) if asked.file else new(asked)
    meta, spec = body["metadata"], body["spec"]
    if asked.name:
        meta["name"] = asked.name
    if namespace:
        meta["namespace"] = namespace
    if asked.program:
        spec["entrypoint"] = asked.program[0] if len(asked.program) == 1 else shlex.join(asked.program)
    timed = {"activeDeadlineSeconds": asked.deadline, "ttlSecondsAfterFinished": asked.ttl, "backoffLimit": asked.retries}
    spec |= {name: value for name, value in timed.items() if value is not None}
    parts = {"entrypointNumCpus": asked.entrypoint_cpus, "entrypointNumGpus": asked.entrypoint_gpus, "submissionMode": asked.mode}
    spec |= {name: value for name, value in parts.items() if value}
    if asked.metadata:
        spec["metadata"] = {**(spec.get("metadata") or {}), **pairs(asked.metadata, "--metadata")}
    made = with_environment(asked, body)
    if made.is_brought:
        if asked.mode:
            raise click.UsageError(f"a working directory of this machine is brought by this command, not in {asked.mode}: leave --mode out")
        spec["submissionMode"] = "InteractiveMode"
        spec.setdefault("preRunningDeadlineSeconds", UNSUBMITTED)
    check(body)
    return made


def from_file(file: str) -> Obj:
    """The one RayJob of a file."""
    from rayfleet.cli.manifests import load_manifests

    found = [each for each in load_manifests([file]) if each.kind == "RayJob"]
    if len(found) != 1:
        raise Failure(f"{file} has {len(found) or 'no'} RayJob{'s' if found else ''}, and one is to be submitted")
    body = found[0].sendable()
    return body | {"spec": dict(body.get("spec") or {}), "metadata": dict(body["metadata"])}


def new(asked: Asked) -> Obj:
    spec: Obj = {"submissionMode": "HTTPMode"}
    if asked.cluster:
        spec["clusterSelector"] = {labels.CLUSTER: asked.cluster}
    else:
        spec["rayClusterSpec"] = cluster_spec(asked)
        if not asked.keep:
            spec |= {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": TTL}
    name = f"job-{''.join(secrets.choice(ALPHABET) for _ in range(5))}"
    notes = {"annotations": {labels.RETRY_POLICY: "SameCluster"}} if asked.cluster and asked.retries else {}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name, **notes}, "spec": spec}


def cluster_spec(asked: Asked) -> Obj:
    """A head, and one group of workers if any."""
    version = asked.ray_version or RAY_VERSION
    workers = asked.workers or 0
    image = asked.image or f"rayproject/ray:{version}"
    sizes = {"cpu": asked.cpus or "1", "memory": asked.memory or "4Gi"}
    gpus = {"nvidia.com/gpu": str(asked.gpus)} if asked.gpus else {}

    def template(limits: Obj) -> Obj:
        return {"spec": {"containers": [{"name": "ray", "image": image, "resources": {"limits": limits, "requests": dict(limits)}}]}}

    head = {"rayStartParams": {}, "template": template(sizes if workers else sizes | gpus)}
    group = {"groupName": "workers", "replicas": workers, "minReplicas": workers, "maxReplicas": workers, "rayStartParams": {}}
    groups = [group | {"template": template(sizes | gpus)}] if workers else []
    return {"rayVersion": version, "headGroupSpec": head, "workerGroupSpecs": groups}


def with_environment(asked: Asked, body: Obj) -> Draft:
    """The runtime environment of file and options together; in place of a directory of this machine stands its package's URI."""
    from rayfleet.cli.output import dump_yaml

    spec = body["spec"]
    environment = {**environment_of(str(spec.get("runtimeEnvYAML") or ""), "spec.runtimeEnvYAML")}
    if asked.runtime_env:
        environment |= environment_of(Path(asked.runtime_env).expanduser().read_text(), asked.runtime_env)
    if asked.variables:
        environment["env_vars"] = {**(environment.get("env_vars") or {}), **pairs(asked.variables, "--env")}
    if asked.working_dir:
        environment["working_dir"] = asked.working_dir
    local = [each for each in environment.get("py_modules") or () if "://" not in str(each)]
    if local:
        raise Failure(f"py_modules {', '.join(map(str, local))}: only modules at a URI can be used; put them into the working directory")
    place = str(environment.get("working_dir") or "")
    package = packed(place, environment.get("excludes") or ()) if place and "://" not in place else None
    if package is not None:
        environment["working_dir"] = package.uri
    if environment:
        spec["runtimeEnvYAML"] = dump_yaml(environment)
    return Draft(body, package, environment)


def packed(place: str, excludes: Sequence[str]) -> Package:
    from rayfleet.ray.package import pack

    directory = Path(place).expanduser()
    if not directory.is_dir():
        raise Failure(f"the working directory {place} is not there, or is no directory")
    try:
        return pack(directory, excludes)
    except ValueError as error:
        raise Failure(str(error)) from error


def environment_of(text: str, where: str) -> Obj:
    from rayfleet.ray.runtime_env import runtime_env

    found, faults = runtime_env(text)
    if faults:
        raise Failure(f"{where} {faults[0].value}")
    return dict(found)


def pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    found = [each.partition("=") for each in given]
    if wrong := [name for name, equals, _ in found if not name or not equals]:
        raise click.UsageError(f"{option} {wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in found}


def check(body: Obj) -> None:
    """What the operator would refuse is refused before anything is made. Raises Failure with all of it."""
    import msgspec

    from rayfleet.api.config import FEATURE_GATES, Configuration
    from rayfleet.api.decode import decode_job
    from rayfleet.api.validation import validate_job

    everything = Configuration(feature_gates=dict.fromkeys(FEATURE_GATES, True))  # which are on is the operator's affair
    if faults := validate_job(decode_job(msgspec.json.encode(body)), everything):
        raise Failure("the job is refused:\n" + "\n".join(map(str, faults)))
