"""The planner's values from a RayCluster, its Pods, and the nodes that Ray lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from rayfleet.api import labels
from rayfleet.api.raycluster import RayCluster, WorkerGroupSpec
from rayfleet.api.views import PodView
from rayfleet.autoscaling.amounts import Resources, resources
from rayfleet.autoscaling.values import DEFAULT_IDLE_TIMEOUT, HEAD, PREFERENCE, Group, Instance, Policy, State
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.resources.pod_template import ray_container, template_of
from rayfleet.resources.ray_start import literal_json, worker_params

NODE_GROUP = "ray.io/node-group"
AMOUNTS = {"num-cpus": "CPU", "num-gpus": "GPU", "memory": "memory", "object-store-memory": "object_store_memory"}
CONSERVATIVE = "Conservative"


class Node(Protocol):
    """As `word.Node`."""

    node: str
    pod: str
    state: State
    idle: float
    total: Resources
    available: Resources
    labels: tuple[tuple[str, str], ...]
    gangs: frozenset[str]


def policy_of(cluster: RayCluster) -> Policy:
    options = cluster.spec.autoscaler_options
    if options is None:
        return Policy()
    idle = DEFAULT_IDLE_TIMEOUT if options.idle_timeout_seconds is None else float(options.idle_timeout_seconds)
    return Policy(upscaling_speed=1.0 if options.upscaling_mode == CONSERVATIVE else None, idle_timeout=idle)


def groups_of(cluster: RayCluster, instances: Sequence[Instance]) -> tuple[Group, ...]:
    """In the order of the spec. What the spec does not say of a node, one that is there does: without limits Ray counts for itself."""
    return tuple(group_of(spec, instances) for spec in cluster.spec.worker_group_specs)


def group_of(spec: WorkerGroupSpec, instances: Sequence[Instance]) -> Group:
    return Group(
        name=spec.group_name,
        min_replicas=max(spec.min_replicas, 0),
        max_replicas=max(spec.max_replicas, 0),
        replicas=spec.replicas,
        hosts=max(spec.num_of_hosts, 1),
        resources=resources_of(spec, instances),
        labels=labels_of(spec),
        priority=spec.priority,
        idle_timeout=None if spec.idle_timeout_seconds is None else float(spec.idle_timeout_seconds),
        workers_to_delete=spec.scale_strategy.workers_to_delete,
        suspended=bool(spec.suspend),
    )


def resources_of(spec: WorkerGroupSpec, instances: Iterable[Instance]) -> Resources:
    """What a new host's node will have, by what it will be told."""
    container = ray_container(template_of(spec.template))
    params = worker_params(spec.ray_start_params, "", container.get("resources") or {}, spec.resources, spec.labels)
    told = {name: number(params[flag]) for flag, name in AMOUNTS.items() if flag in params}
    custom = literal_json(params["resources"]) if params.get("resources") else {}
    told |= {name: number(str(amount)) for name, amount in (custom or {}).items()}
    seen = next((each.total for each in instances if each.group == spec.group_name and each.total), ())
    found = dict(resources(told))
    found |= {name: amount for name, amount in seen if name in AMOUNTS.values() and name not in told}
    return tuple(sorted(found.items()))


def number(text: str) -> float:
    """0 for what is none: only the shell may know."""
    try:
        return float(text.strip("'\" "))
    except ValueError:
        return 0.0


def labels_of(spec: WorkerGroupSpec) -> tuple[tuple[str, str], ...]:
    given = dict(part.split("=", 1) for part in spec.ray_start_params.get("labels", "").split(",") if "=" in part)
    return tuple(sorted({**given, **spec.labels, NODE_GROUP: spec.group_name}.items()))


def instances_of(pods: Iterable[PodView], nodes: Iterable[Node], heard_at: float) -> tuple[Instance, ...]:
    """One for each Pod, sorted by name. Nodes in no Pod of these are another cluster's, or long gone."""
    inside: dict[str, Node] = {}
    for node in nodes:
        known = inside.get(node.pod)
        if known is None or PREFERENCE.index(node.state) < PREFERENCE.index(known.state):
            inside[node.pod] = node
    return tuple(instance(pod, inside.get(pod.name), heard_at) for pod in sorted(pods, key=lambda pod: pod.name))


def instance(pod: PodView, node: Node | None, heard_at: float) -> Instance:
    replica, created = pod.metadata.label(labels.REPLICA_NAME), pod.metadata.creation_timestamp
    common = {
        "pod": pod.name,
        "group": HEAD if pod.is_head else pod.group,
        "replica": replica,
        "created_at": parse_rfc3339(created) if created else 0.0,
        "terminating": pod.terminating,
    }
    if node is None:
        return Instance(**common, state=State.LAUNCHING if has_begun(pod) else State.PENDING)  # type: ignore[arg-type]
    return Instance(
        **common,  # type: ignore[arg-type]
        state=node.state,
        node=node.node,
        total=node.total,
        available=node.available,
        labels=node.labels,
        gangs=node.gangs,
        idle_since=heard_at - node.idle if node.state == State.IDLE else None,
    )


def has_begun(pod: PodView) -> bool:
    """Does its Ray container run?"""
    ray = pod.ray_status
    return ray is not None and ray.state.waiting is None and ray.state.terminated is None and pod.running
