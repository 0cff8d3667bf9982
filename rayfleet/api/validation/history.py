"""The history server's collector: a sidecar with an environment that it needs, and one that is the operator's."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.raycluster import CollectorOptions
from rayfleet.api.template import EnvVar, read_list
from rayfleet.api.validation.subject import Subject

CONTAINER = "ray-history-collector"
RESERVED = ("POD_IP", "FQ_RAY_IP", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_ROLE", "OWNER_KIND", "OWNER_NAME", "EVENTS_PORT")
BACKEND = "STORAGE_BACKEND"
NEEDED = {"gcs": ("GCS_BUCKET",), "s3": ("S3_REGION",), "aliyunoss": ("OSS_BUCKET", "OSS_ENDPOINT", "OSS_REGION")}


def history_faults(subject: Subject) -> Iterator[Fault]:
    options = subject.spec.history_server_options
    if options is None:
        return
    path = f"{subject.path}.historyServerOptions"
    if not subject.config.gate("RayClusterHistoryServer"):
        yield Fault(path, "needs the feature gate RayClusterHistoryServer, which is off")
    if options.collector_options is None:
        yield Fault(f"{path}.collectorOptions", "is missing", "the collector's image and environment must be given")
    else:
        yield from collector_faults(options.collector_options, f"{path}.collectorOptions")
    for group in subject.groups:
        for index, container in enumerate(group.template.spec.containers):
            if container.name == CONTAINER:
                where = f"{group.path}.template.spec.containers[{index}].name"
                yield Fault(where, f"{CONTAINER} is the name of the operator's sidecar", "choose another name")


def collector_faults(options: CollectorOptions, path: str) -> Iterator[Fault]:
    if not options.image:
        yield Fault(f"{path}.image", "is missing", "the collector has no default image")
    variables, faults = read_list(options.env, EnvVar, f"{path}.env")
    yield from faults
    given: dict[str, EnvVar] = {variable.name: variable for variable in variables}
    for name in RESERVED:
        if name in given:
            yield Fault(f"{path}.env", f"{name} is set by the operator", "it must be left out")
    backend = given.get(BACKEND)
    if backend is None or not backend.value:
        yield Fault(f"{path}.env", f"{BACKEND} is missing", "it must be there with a literal value, for example s3")
        return
    for name in NEEDED.get(backend.value, ()):
        if name not in given:
            yield Fault(f"{path}.env", f"{name} is missing", f"the backend {shown(backend.value)} needs it")
