"""Is a cluster what its spec wants? Judged by a reading of the spec that shares nothing with the planner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import SERVICES, Key
from rayfleet.sim.kubelet import is_ready
from rayfleet.sim.store import Obj
from rayfleet.sim.world import NAMESPACE, World


def unmet(world: World, name: str) -> list[str]:
    """What is not as wanted, as sentences; [] for a cluster at rest in its desired state."""
    cluster = world.cluster(name)
    if cluster is None:
        return [f"there is no cluster {name}"]
    return [*pods_unmet(world, cluster), *services_unmet(world, cluster), *status_unmet(cluster)]


def wanted(cluster: Obj) -> dict[str, int]:
    """Replicas by group."""
    spec = cluster["spec"]
    found = {}
    for group in spec.get("workerGroupSpecs") or ():
        off = spec.get("suspend") or group.get("suspend")
        least, most = group.get("minReplicas", 0), group.get("maxReplicas", 2**31 - 1)
        found[group["groupName"]] = 0 if off else max(least, min(group.get("replicas", 0), most))
    return found


def pods_unmet(world: World, cluster: Obj) -> Iterator[str]:
    pods = world.pods(cluster["metadata"]["name"])
    for pod in pods:
        name = pod["metadata"]["name"]
        if pod["metadata"].get("deletionTimestamp"):
            yield f"{name} is still terminating"
        elif not (pod["status"]["phase"] == "Running" and is_ready(pod)):
            yield f"{name} is {pod['status']['phase']} and not ready"
    groups: dict[str, Counter[str]] = {}
    heads = 0
    for pod in pods:
        marks = pod["metadata"].get("labels") or {}
        if marks.get(labels.NODE_TYPE) == labels.HEAD:
            heads += 1
        else:
            groups.setdefault(marks.get(labels.GROUP, ""), Counter())[marks.get(labels.REPLICA_INDEX, "")] += 1
    if heads != (0 if cluster["spec"].get("suspend") else 1):
        yield f"{heads} head Pods"
    hosts = {group["groupName"]: group.get("numOfHosts", 1) for group in cluster["spec"].get("workerGroupSpecs") or ()}
    yield from mixed_replicas(pods, hosts)
    replicas = wanted(cluster)
    for group in sorted(groups.keys() | replicas.keys()):
        number, size = sum(groups.get(group, Counter()).values()), hosts.get(group, 1)
        if number != replicas.get(group, 0) * size:
            yield f"{number} Pods of group {group}, {replicas.get(group, 0)} x {size} wanted"


def mixed_replicas(pods: list[Obj], hosts: dict[str, int]) -> Iterator[str]:
    """Replicas whose hosts were not made together: a replica lives and goes as a whole."""
    lives: dict[tuple[str, str], set[str]] = {}
    for pod in pods:
        marks = pod["metadata"].get("labels") or {}
        if hosts.get(marks.get(labels.GROUP, ""), 1) > 1 and labels.REPLICA_INDEX in marks:
            lives.setdefault((marks[labels.GROUP], marks[labels.REPLICA_INDEX]), set()).add(marks.get(labels.REPLICA_NAME, ""))
    for (group, replica), names in lives.items():
        if len(names) > 1:
            yield f"replica {replica} of group {group} is of several lives: {', '.join(sorted(names))}"


def services_unmet(world: World, cluster: Obj) -> Iterator[str]:
    meta = cluster["metadata"]
    service = world.store.get(SERVICES, Key(NAMESPACE, f"{meta['name']}-head-svc"))
    if service is None:
        yield "no head Service"
    elif service["spec"]["selector"].get(labels.CLUSTER) != meta["name"]:
        yield f"the head Service selects {service['spec']['selector']}"


def status_unmet(cluster: Obj) -> Iterator[str]:
    status: dict[str, Any] = cluster.get("status") or {}
    suspended = bool(cluster["spec"].get("suspend"))
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    want = {
        "state": "suspended" if suspended else "ready",
        "observedGeneration": cluster["metadata"]["generation"],
        "desiredWorkerReplicas": sum(status_wanted(cluster)),
        "readyWorkerReplicas": 0 if suspended else sum(status_wanted(cluster)),
    }
    for field, value in want.items():
        if status.get(field, 0) != value:
            yield f"status.{field} is {status.get(field)!r}, not {value!r}"
    for condition, value in (("HeadPodReady", str(not suspended)), ("Valid", "True"), ("RayClusterSuspended", str(suspended))):
        if conditions.get(condition) != value:
            yield f"condition {condition} is {conditions.get(condition)}, not {value}"
    if conditions.get("ReplicaFailure") == "True":
        yield "condition ReplicaFailure is True"


def status_wanted(cluster: Obj) -> Iterator[int]:
    """Pods of each group as the status counts them: a suspended cluster still says what its groups want."""
    awake = {**cluster, "spec": {**cluster["spec"], "suspend": False}}
    hosts = {group["groupName"]: group.get("numOfHosts", 1) for group in cluster["spec"].get("workerGroupSpecs") or ()}
    return (number * hosts[group] for group, number in wanted(awake).items())


def picture(world: World, name: str) -> Any:
    """The cluster with all that belongs to it, less what may differ between two ways to the same end: names of Pods, times, addresses."""
    cluster = world.cluster(name)
    if cluster is None:
        return None
    status = blurred(cluster.get("status") or {})
    services = sorted((obj["metadata"]["name"], obj["spec"]) for obj in world.store.owned(cluster["metadata"]["uid"], SERVICES))
    pods = sorted(
        ((pod["metadata"].get("labels") or {}).get(labels.GROUP, ""), pod["status"]["phase"], is_ready(pod)) for pod in world.pods(name)
    )
    return {"spec": blurred(cluster["spec"]), "status": status, "pods": pods, "services": services}


BLURRED = {"podName", "workersToDelete", "podIP", "serviceIP", "lastUpdateTime", "lastTransitionTime", "stateTransitionTimes"}


def blurred(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: blurred(part) for name, part in value.items() if name not in BLURRED}
    return [blurred(part) for part in value] if isinstance(value, list | tuple) else value
