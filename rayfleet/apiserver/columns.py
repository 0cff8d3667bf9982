"""The columns that kubectl shows for the other core kinds (k8s.io/kubernetes pkg/printers/internalversion)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from rayfleet.apiserver.kind import Column, Table
from rayfleet.apiserver.pod_columns import PODS
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.table import AGE, NAME, age, human

Value = Callable[[Obj, float], Any]
Columns = tuple[tuple[str, Value], ...]


def _age(obj: Obj, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _name(obj: Obj, now: float) -> str:
    return str(obj["metadata"]["name"])


def _table(*columns: tuple[str, Value], after: Columns = (), wide: Columns = ()) -> Table:
    """Name, the given columns (title, or title:type), age, those after it; then those of -o wide."""
    plain = [(Column(*title.split(":")), value) for title, value in columns]
    late = [(Column(title), value) for title, value in after]
    shown = [(NAME, _name), *plain, (AGE, _age), *late, *((Column(title, priority=1), value) for title, value in wide)]

    def cells(obj: Obj, now: float) -> list[Any]:
        return [value(obj, now) for _, value in shown]

    return Table(tuple(column for column, _ in shown), cells)


def _at(*path: str, default: Any = "") -> Value:
    def value(obj: Obj, now: float) -> Any:
        for name in path:
            obj = obj.get(name) or {}
        return obj or default

    return value


def _count(member: str) -> Value:
    return lambda obj, now: len(obj.get(member) or ())


def _external(obj: Obj, now: float) -> str:
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return str(spec.get("externalName"))
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    addresses = [point.get("ip") or point.get("hostname") or "" for point in points] + list(spec.get("externalIPs") or [])
    if addresses:
        return ",".join(addresses)
    return "<pending>" if spec["type"] == "LoadBalancer" else "<none>"


def _ports(obj: Obj, now: float) -> str:
    texts = []
    for port in obj["spec"].get("ports") or ():
        number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else f"{port['port']}"
        texts.append(f"{number}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or "<none>"


def _selector(obj: Obj, now: float) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((obj["spec"].get("selector") or {}).items())) or "<none>"


def _node_status(obj: Obj, now: float) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or []
    ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
    word = ("Ready" if ready[0] == "True" else "NotReady") if ready else "Unknown"
    return word + (",SchedulingDisabled" if (obj.get("spec") or {}).get("unschedulable") else "")


def _roles(obj: Obj, now: float) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    return ",".join(sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix))) or "<none>"


def _node_address(kind: str) -> Value:
    def value(obj: Obj, now: float) -> str:
        addresses = (obj.get("status") or {}).get("addresses") or []
        return next((address["address"] for address in addresses if address.get("type") == kind), "<none>")

    return value


def _node_info(member: str) -> Value:
    return _at("status", "nodeInfo", member, default="<unknown>")


def _last_seen(obj: Obj, now: float) -> str:
    times = ((obj.get("series") or {}).get("lastObservedTime"), obj.get("lastTimestamp"), obj.get("eventTime"))
    return age(next((time for time in times if time), None), now)


def _first_seen(obj: Obj, now: float) -> str:
    return age(obj.get("firstTimestamp") or obj.get("eventTime"), now)


def _about(obj: Obj, now: float) -> str:
    about = obj.get("involvedObject") or {}
    return f"{(about.get('kind') or '').lower()}/{about.get('name') or ''}"


def _source(obj: Obj, now: float) -> str:
    source = obj.get("source") or {}
    parts = (source.get("component") or obj.get("reportingComponent"), source.get("host"))
    return ", ".join(part for part in parts if part)


def _event_table() -> Table:
    columns: list[tuple[Column, Value]] = [
        (Column("Last Seen"), _last_seen),
        (Column("Type"), _at("type")),
        (Column("Reason"), _at("reason")),
        (Column("Object"), _about),
        (Column("Subobject", priority=1), _at("involvedObject", "fieldPath")),
        (Column("Source", priority=1), _source),
        (Column("Message"), lambda obj, now: (obj.get("message") or "").strip()),
        (Column("First Seen", priority=1), _first_seen),
        (Column("Count", priority=1), lambda obj, now: (obj.get("series") or {}).get("count") or obj.get("count") or 1),
        (Column("Name", format="name", priority=1), _name),
    ]
    return Table(tuple(column for column, _ in columns), lambda obj, now: [value(obj, now) for _, value in columns])


def _completions(obj: Obj, now: float) -> str:
    succeeded = (obj.get("status") or {}).get("succeeded") or 0
    return f"{succeeded}/{obj['spec'].get('completions') or 1}"


def _job_status(obj: Obj, now: float) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or []
    words = [each["type"] for each in conditions if each.get("status") == "True" and each["type"] in ("Complete", "Failed", "Suspended")]
    return words[0] if words else "Running"


def _duration(obj: Obj, now: float) -> str:
    status = obj.get("status") or {}
    if not status.get("startTime"):
        return ""
    end = _seconds(status["completionTime"]) if status.get("completionTime") else now
    return human(end - _seconds(status["startTime"]))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _role(obj: Obj, now: float) -> str:
    reference = obj.get("roleRef") or {}
    return f"{reference.get('kind')}/{reference.get('name')}"


def _hosts(obj: Obj, now: float) -> str:
    return ",".join(rule.get("host") or "*" for rule in (obj.get("spec") or {}).get("rules") or ()) or "*"


def _created(obj: Obj, now: float) -> str:
    return str(obj["metadata"].get("creationTimestamp"))


def _of_containers(member: str) -> Value:
    return lambda obj, now: ",".join(str(each.get(member)) for each in obj["spec"]["template"]["spec"].get("containers") or ())


def _match_labels(*path: str) -> Value:
    def value(obj: Obj, now: float) -> str:
        for name in path:
            obj = obj.get(name) or {}
        return ",".join(f"{key}={label}" for key, label in sorted((obj.get("matchLabels") or {}).items())) or "<none>"

    return value


def _addresses(obj: Obj, now: float) -> str:
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return ",".join(point.get("ip") or point.get("hostname") or "" for point in points)


def _ingress_ports(obj: Obj, now: float) -> str:
    return "80, 443" if (obj.get("spec") or {}).get("tls") else "80"


def _slice_ports(obj: Obj, now: float) -> str:
    return ",".join(str(port.get("port")) for port in obj.get("ports") or ()) or "<unset>"


def _slice_addresses(obj: Obj, now: float) -> str:
    found = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return ",".join(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "") if found else "<unset>"


def _subjects(kind: str) -> Value:
    def value(obj: Obj, now: float) -> str:
        found = [each for each in obj.get("subjects") or () if each.get("kind") == kind]
        accounts = kind == "ServiceAccount"
        return ", ".join(f"{each.get('namespace') or ''}/{each['name']}" if accounts else each["name"] for each in found)

    return value


def _claim(obj: Obj, now: float) -> str:
    found = obj["spec"].get("claimRef") or {}
    return f"{found.get('namespace', '')}/{found.get('name', '')}" if found else ""


def _parameters(obj: Obj, now: float) -> str:
    found = obj["spec"].get("parameters") or {}
    kind = found.get("kind", "") + (f".{found['apiGroup']}" if found.get("apiGroup") else "")
    return f"{kind}/{found.get('name', '')}" if found else "<none>"


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_SUBJECTS = (("Users", _subjects("User")), ("Groups", _subjects("Group")), ("ServiceAccounts", _subjects("ServiceAccount")))
_CREATED = Table((NAME, Column("Created At", "date")), lambda obj, now: [_name(obj, now), _created(obj, now)])

_POLICY_GROUP = "admissionregistration.k8s.io"
SETUP_TABLES: dict[str, Table] = {
    "limitranges": _CREATED,
    "persistentvolumes": _table(
        ("Capacity", _at("spec", "capacity", "storage")),
        ("Access Modes", lambda obj, now: ",".join(_MODES.get(mode, mode) for mode in obj["spec"].get("accessModes") or ())),
        ("Reclaim Policy", _at("spec", "persistentVolumeReclaimPolicy")),
        ("Status", _at("status", "phase")),
        ("Claim", _claim),
        ("StorageClass", _at("spec", "storageClassName")),
        ("VolumeAttributesClass", _at("spec", "volumeAttributesClassName", default="<unset>")),
        ("Reason", _at("status", "reason")),
        wide=(("VolumeMode", _at("spec", "volumeMode", default="<unset>")),),
    ),
    "storageclasses.storage.k8s.io": _table(
        ("Provisioner", _at("provisioner")),
        ("ReclaimPolicy", _at("reclaimPolicy")),
        ("VolumeBindingMode", _at("volumeBindingMode")),
        ("AllowVolumeExpansion", lambda obj, now: bool(obj.get("allowVolumeExpansion"))),
    ),
    "ingressclasses.networking.k8s.io": _table(("Controller", _at("spec", "controller")), ("Parameters", _parameters)),
    "runtimeclasses.node.k8s.io": _table(("Handler", _at("handler"))),
    "priorityclasses.scheduling.k8s.io": _table(
        ("Value:integer", lambda obj, now: obj.get("value") or 0),
        ("Global-Default:boolean", lambda obj, now: bool(obj.get("globalDefault"))),
        after=(("PreemptionPolicy", _at("preemptionPolicy")),),
    ),
    "poddisruptionbudgets.policy": _table(
        ("Min Available", lambda obj, now: str(obj["spec"].get("minAvailable", "N/A"))),
        ("Max Unavailable", lambda obj, now: str(obj["spec"].get("maxUnavailable", "N/A"))),
        ("Allowed Disruptions:integer", lambda obj, now: (obj.get("status") or {}).get("disruptionsAllowed", 0)),
    ),
    f"validatingadmissionpolicies.{_POLICY_GROUP}": _table(
        ("Validations:integer", lambda obj, now: len(obj["spec"].get("validations") or ())),
        ("ParamKind", lambda obj, now: "/".join((obj["spec"].get("paramKind") or {}).values()) or "<unset>"),
    ),
    f"validatingadmissionpolicybindings.{_POLICY_GROUP}": _table(
        ("PolicyName", _at("spec", "policyName")),
        ("ParamRef", lambda obj, now: (obj["spec"].get("paramRef") or {}).get("name") or "<unset>"),
    ),
}
TABLES: dict[str, Table] = SETUP_TABLES | {
    "pods": PODS,
    "services": _table(
        ("Type", _at("spec", "type")),
        ("Cluster-IP", _at("spec", "clusterIP", default="<none>")),
        ("External-IP", _external),
        ("Port(s)", _ports),
        wide=(("Selector", _selector),),
    ),
    "nodes": _table(
        ("Status", _node_status),
        ("Roles", _roles),
        after=(("Version", _at("status", "nodeInfo", "kubeletVersion")),),
        wide=(
            ("Internal-IP", _node_address("InternalIP")),
            ("External-IP", _node_address("ExternalIP")),
            ("OS-Image", _node_info("osImage")),
            ("Kernel-Version", _node_info("kernelVersion")),
            ("Container-Runtime", _node_info("containerRuntimeVersion")),
        ),
    ),
    "events": _event_table(),
    "namespaces": _table(("Status", _at("status", "phase"))),
    "configmaps": _table(("Data", lambda obj, now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()))),
    "secrets": _table(("Type", _at("type")), ("Data", _count("data"))),
    "serviceaccounts": _table(),
    "persistentvolumeclaims": _table(
        ("Status", _at("status", "phase")),
        ("Volume", _at("spec", "volumeName")),
        ("Capacity", _at("status", "capacity", "storage")),
        ("Access Modes", lambda obj, now: ",".join(_MODES.get(mode, mode) for mode in (obj.get("status") or {}).get("accessModes") or ())),
        ("StorageClass", _at("spec", "storageClassName")),
        ("VolumeAttributesClass", _at("spec", "volumeAttributesClassName", default="<unset>")),
        wide=(("VolumeMode", _at("spec", "volumeMode", default="<unset>")),),
    ),
    "jobs.batch": _table(
        ("Status", _job_status),
        ("Completions", _completions),
        ("Duration", _duration),
        wide=(("Containers", _of_containers("name")), ("Images", _of_containers("image")), ("Selector", _match_labels("spec", "selector"))),
    ),
    "leases.coordination.k8s.io": _table(("Holder", _at("spec", "holderIdentity"))),
    "ingresses.networking.k8s.io": _table(
        ("Class", _at("spec", "ingressClassName", default="<none>")), ("Hosts", _hosts), ("Address", _addresses), ("Ports", _ingress_ports)
    ),
    "networkpolicies.networking.k8s.io": _table(("Pod-Selector", _match_labels("spec", "podSelector"))),
    "endpointslices.discovery.k8s.io": _table(
        ("AddressType", _at("addressType")), ("Ports", _slice_ports), ("Endpoints", _slice_addresses)
    ),
    "rolebindings.rbac.authorization.k8s.io": _table(("Role", _role), wide=_SUBJECTS),
    "clusterrolebindings.rbac.authorization.k8s.io": _table(("Role", _role), wide=_SUBJECTS),
    "roles.rbac.authorization.k8s.io": _CREATED,
    "clusterroles.rbac.authorization.k8s.io": _CREATED,
    "customresourcedefinitions.apiextensions.k8s.io": _CREATED,
}
