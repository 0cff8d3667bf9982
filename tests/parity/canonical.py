"""One form for objects that mean the same: as sent or as stored, by this operator or by the recorded one.

What the API server fills in is left out, whichever side has it; quantities are numbers; lists that Kubernetes keys by a field are maps; a
line that starts Ray is the set of its flags. Applied twice it changes nothing more, but for lists that have become maps.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Json = dict[str, Any]

# Of an object's metadata: identity and bookkeeping.
BOOKKEEPING = frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "finalizers"})
# Of a stored object: what schedulers, allocators and admission wrote.
ALLOCATED: dict[str, frozenset[str]] = {
    "Pod.spec": frozenset({"nodeName", "priority", "preemptionPolicy"}),
    "PersistentVolumeClaim.spec": frozenset({"volumeName"}),
    "Job.spec": frozenset({"selector"}),
    "Service.spec": frozenset({"clusterIPs", "ipFamilies", "healthCheckNodePort"}),
    "ports": frozenset({"nodePort"}),
}
HASHES = re.compile(r"^ray\.io/(kuberay-version|.*hash.*|worker-group-replica-name)$")
SCALES = {
    "": 1,
    "m": Fraction(1, 1000),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
AMOUNTS = frozenset({"limits", "requests", "capacity"})
POLICY = ("terminationMessagePath", "/dev/termination-log"), ("terminationMessagePolicy", "File")
MODE = (("defaultMode", 420),)

# Defaults of the Kubernetes API, by the name of the field that holds the object ("Kind.field" at the top of an object).
DEFAULTS: dict[str, Json] = {
    "Pod.spec": {
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "terminationGracePeriodSeconds": 30,
        "restartPolicy": "Always",
    },
    "Job.spec": {
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    },
    "PersistentVolumeClaim.spec": {"volumeMode": "Filesystem"},
    "Service.spec": {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "externalTrafficPolicy": "Cluster",
        "ipFamilyPolicy": "SingleStack",
        "allocateLoadBalancerNodePorts": True,
    },
    "containers": dict(POLICY),
    "initContainers": dict(POLICY),
    "ports": {"protocol": "TCP"},
    "probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "httpGet": {"scheme": "HTTP"},
    "fieldRef": {"apiVersion": "v1"},
    "serviceAccountToken": {"expirationSeconds": 3600},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "secret": dict(MODE),
    "configMap": dict(MODE),
    "projected": dict(MODE),
    "downwardAPI": dict(MODE),
}
# Tolerations that the admission plug-in DefaultTolerationSeconds gives to every Pod.
LOST_NODES = [
    {"effect": "NoExecute", "key": f"node.kubernetes.io/{state}", "operator": "Exists", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]
# Lists whose items Kubernetes tells apart by a field.
KEYS = {
    "env": ("name",),
    "ports": ("name", "containerPort", "port"),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "tolerations": ("key",),
    "imagePullSecrets": ("name",),
}


def canonical(obj: Json) -> Json:
    """The object without name, identity and status. Its namespace stays."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in BOOKKEEPING | {"name", "generateName"}}
    body = {name: value for name, value in obj.items() if name != "status"}
    return dict(reduced({**body, "metadata": metadata}, "", obj["kind"]))


def reduced(value: Any, name: str, kind: str) -> Any:
    """`name` is the field that holds the value."""
    if isinstance(value, dict):
        return reduced_object(value, name, kind)
    if isinstance(value, list):
        return keyed([reduced(item, name, kind) for item in value if not is_token(item)], name)
    if isinstance(value, str) and "ray start" in value and not value.startswith("<script"):
        return flags(value)
    return "<script>" if isinstance(value, str) and value.startswith("<script") else value


def reduced_object(value: Json, name: str, kind: str) -> Json:
    if name in AMOUNTS:
        return {key: number(amount) for key, amount in value.items()}
    if (kind, name) == ("Job", "template"):
        return reduced_object(pod_template(value), name, "Pod")
    place = f"{kind}.{name}" if f"{kind}.{name}" in DEFAULTS else "probe" if name.endswith("Probe") else name
    filled = complete(value, place)
    parts = {}
    for key, part in filled.items():
        if HASHES.match(key):
            parts[key] = "<hash>"
        elif key in ("sizeLimit", "storage"):
            parts[key] = number(part)
        else:
            parts[key] = reduced(part, key, kind)
    gone = ALLOCATED.get(place, frozenset())
    defaults = DEFAULTS.get(place, {})
    return {
        key: part
        for key, part in parts.items()
        if key not in gone and not (key in defaults and part == defaults[key]) and not is_empty(key, part)
    }


def complete(value: Json, place: str) -> Json:
    """What the API server derives from other fields of the same object, undone or done on both sides."""
    rule = DERIVED.get(place)
    return rule(dict(value)) if rule else value


def pod_spec(spec: Json) -> Json:
    given = spec.get("tolerations") or ()
    spec["tolerations"] = [each for each in given if each not in LOST_NODES]
    if spec.get("serviceAccountName") == "default":
        spec = {name: value for name, value in spec.items() if name not in ("serviceAccountName", "serviceAccount")}
    return spec


def service_spec(spec: Json) -> Json:
    if spec.get("clusterIP") != "None":
        spec.pop("clusterIP", None)
    return spec


def container(spec: Json) -> Json:
    image = spec.get("image", "")
    latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
    if spec.get("imagePullPolicy") == ("Always" if latest else "IfNotPresent"):
        spec.pop("imagePullPolicy")
    return spec


def resources(spec: Json) -> Json:
    """A limit without a request is the request too."""
    limits, requests = spec.get("limits") or {}, spec.get("requests") or {}
    return {**spec, "requests": {**limits, **requests}}


def port(spec: Json) -> Json:
    if spec.get("targetPort") == spec.get("port"):
        spec.pop("targetPort", None)
    return spec


def variable(spec: Json) -> Json:
    if spec.get("name") == "RAY_USAGE_STATS_EXTRA_TAGS":
        spec["value"] = re.sub(r"kuberay_version=[^;]*", "kuberay_version=<version>", spec.get("value", ""))
    return spec


def pod_template(template: Json) -> Json:
    """A Job's Pods get name, namespace and owner from the Job, whatever the template says."""
    meta = {name: value for name, value in (template.get("metadata") or {}).items() if name in ("labels", "annotations")}
    return {**template, "metadata": meta}


DERIVED: dict[str, Callable[[Json], Json]] = {
    "Pod.spec": pod_spec,
    "Service.spec": service_spec,
    "containers": container,
    "initContainers": container,
    "resources": resources,
    "ports": port,
    "env": variable,
}


def is_token(item: Any) -> bool:
    """The volume, and its mounts, by which the admission plug-in ServiceAccount hands a Pod its token."""
    return isinstance(item, dict) and str(item.get("name", "")).startswith("kube-api-access-")


def is_empty(name: str, value: Any) -> bool:
    """Nothing said; but a selector that selects everything says something."""
    return value is None or value in ("", []) or (value == {} and not name.lower().endswith("selector"))


def keyed(items: list[Any], name: str) -> Any:
    found = [next((str(item[field]) for field in KEYS.get(name, ()) if field in item), "") for item in items if isinstance(item, dict)]
    return dict(zip(found, items, strict=True)) if found and all(found) and len(set(found)) == len(items) else items


def flags(line: str) -> Json:
    """`ray start` as a map from flag to value; what stands before it is kept as it is."""
    before, _, after = line.partition("ray start")
    found: dict[str, str] = {}
    last = ""
    for word in shlex.split(after):
        if word.startswith("--"):
            last, _, value = word.partition("=")
            found[last] = value
        else:
            found[last] = f"{found.get(last, '')} {word}".strip()
    return {"before": before.strip(), "flags": dict(sorted(found.items()))}


def number(amount: Any) -> str:
    """A quantity as an exact number; what is none stays as it is."""
    match = re.fullmatch(r"([0-9.]+)(m|k|M|G|T|Ki|Mi|Gi|Ti|)", str(amount))
    return str(Fraction(match[1]) * SCALES[match[2]]) if match else str(amount)
