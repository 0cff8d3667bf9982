"""What a Pod must satisfy: the frequent part of Kubernetes' validation, and that its spec does not change."""

from __future__ import annotations

from typing import Any

from rayfleet.apiserver.metadata import LABEL, check_name
from rayfleet.apiserver.pod_defaults import PROBES
from rayfleet.apiserver.pod_resources import check_resources
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, duplicate, invalid_value, not_allowed, not_supported, required

_PORT_NAME = "of lower case letters, digits and '-', with at least one letter"
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def check_pod(obj: Obj, old: Obj | None) -> list[Cause]:
    if old is not None:
        return _check_unchanged(obj["spec"], old["spec"])
    return check_pod_spec(obj["spec"], "spec")


def check_pod_spec(spec: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    volumes = _check_volumes(spec.get("volumes") or [], f"{path}.volumes", causes)
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            causes += _check_container(container, f"{path}.{field}[{index}]", names, volumes)
    if spec["restartPolicy"] not in RESTART_POLICIES:
        causes.append(not_supported(f"{path}.restartPolicy", spec["restartPolicy"], RESTART_POLICIES))
    if spec["dnsPolicy"] not in DNS_POLICIES:
        causes.append(not_supported(f"{path}.dnsPolicy", spec["dnsPolicy"], DNS_POLICIES))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.append(invalid_value(f"{path}.tolerations[{index}].effect", toleration.get("effect") or "", why))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        causes.append(invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"))
    return causes


def _check_volumes(volumes: list[Obj], path: str, causes: list[Cause]) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name")
        causes += check_name(f"{path}[{index}].name", name, "label")
        if name in names:
            causes.append(duplicate(f"{path}[{index}].name", name))
        names.add(str(name))
        if len([field for field in volume if field != "name"]) > 1:
            second = [field for field in volume if field != "name"][1]
            causes.append(not_allowed(f"{path}[{index}].{second}", "may not specify more than 1 volume type"))
    return names


def _check_container(container: Obj, path: str, names: set[str], volumes: set[str]) -> list[Cause]:
    name = container.get("name")
    causes = check_name(f"{path}.name", name, "label")
    if name in names:
        causes.append(duplicate(f"{path}.name", name))
    names.add(str(name))
    if not container.get("image"):
        causes.append(required(f"{path}.image"))
    if container["imagePullPolicy"] not in PULL_POLICIES:
        causes.append(not_supported(f"{path}.imagePullPolicy", container["imagePullPolicy"], PULL_POLICIES))
    causes += _check_ports(container.get("ports") or [], f"{path}.ports")
    causes += check_resources(container.get("resources") or {}, f"{path}.resources")
    causes += _check_env(container.get("env") or [], f"{path}.env")
    causes += _check_mounts(container.get("volumeMounts") or [], f"{path}.volumeMounts", volumes)
    for field in PROBES:
        if (probe := container.get(field)) is not None:
            causes += _check_probe(probe, f"{path}.{field}", field)
    return causes


def _check_ports(ports: list[Obj], path: str) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        name, number = port.get("name"), port.get("containerPort")
        if name:
            if not (LABEL.fullmatch(name) and len(name) <= 15 and any(letter.isalpha() for letter in name)):
                text = "must be no more than 15 characters" if len(name) > 15 else _PORT_NAME
                causes.append(invalid_value(f"{path}[{index}].name", name, text))
            if name in names:
                causes.append(duplicate(f"{path}[{index}].name", name))
            names.add(name)
        if number is None or number == 0:
            causes.append(required(f"{path}[{index}].containerPort"))
        elif not _is_port(number):
            causes.append(invalid_value(f"{path}[{index}].containerPort", number, "must be between 1 and 65535, inclusive"))
        if port["protocol"] not in PROTOCOLS:
            causes.append(not_supported(f"{path}[{index}].protocol", port["protocol"], PROTOCOLS))
    return causes


def _check_env(variables: list[Obj], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            causes.append(required(f"{path}[{index}].name"))
        elif "=" in name:
            text = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            causes.append(invalid_value(f"{path}[{index}].name", name, text))
        if variable.get("valueFrom") == {}:
            text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            causes.append(invalid_value(f"{path}[{index}].valueFrom", "", text))
        if variable.get("value") and variable.get("valueFrom"):
            causes.append(invalid_value(f"{path}[{index}].valueFrom", "", "may not be specified when `value` is not empty"))
    return causes


def _check_mounts(mounts: list[Obj], path: str, volumes: set[str]) -> list[Cause]:
    causes: list[Cause] = []
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        name, place = mount.get("name"), mount.get("mountPath")
        if not name:
            causes.append(required(f"{path}[{index}].name"))
        elif name not in volumes:
            causes.append(Cause(f"{path}[{index}].name", "FieldValueNotFound", f'Not found: "{name}"'))
        if not place:
            causes.append(required(f"{path}[{index}].mountPath"))
        elif place in places:
            causes.append(invalid_value(f"{path}[{index}].mountPath", place, "must be unique"))
        places.add(str(place))
    return causes


def _check_probe(probe: Obj, path: str, field: str) -> list[Cause]:
    causes: list[Cause] = []
    handlers = [name for name in ("exec", "httpGet", "tcpSocket", "grpc") if probe.get(name)]
    if not handlers:
        causes.append(required(path, "must specify a handler type"))
    elif len(handlers) > 1:
        causes.append(not_allowed(f"{path}.{handlers[1]}", "may not specify more than 1 handler type"))
    numbers = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    negative = [name for name in numbers if probe.get(name, 0) < 0]
    causes += [invalid_value(f"{path}.{name}", probe[name], "must be greater than or equal to 0") for name in negative]
    if field != "readinessProbe" and probe["successThreshold"] != 1:
        causes.append(invalid_value(f"{path}.successThreshold", probe["successThreshold"], "must be 1"))
    return causes


def _check_unchanged(new: Obj, old: Obj) -> list[Cause]:
    if _frozen(new) == _frozen(old):
        return []
    return [not_allowed("spec", IMMUTABLE)]


def _frozen(spec: Obj) -> Any:
    """The part of a spec that may never change."""
    kept = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations", "schedulingGates")}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [{k: v for k, v in container.items() if k != "image"} for container in kept[field]]
    return kept


def _is_port(number: Any) -> bool:
    return isinstance(number, int) and 1 <= number <= 65535
