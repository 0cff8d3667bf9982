"""The cluster YAML of `ray up` for the provider `kubernetes`, also in its older shapes (reference: Ray, A.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.api.legacy.note import Inconvertible, Note
from rayfleet.api.legacy.old import (
    GLOBAL_MAX_WORKERS,
    HEAD_START,
    IDLE_MINUTES,
    SPEED,
    WORKER_START,
    Obj,
    Old,
    PodType,
    mapping,
    number,
    sequence,
    texts,
    whole,
)

AGGRESSIVE = 99999.0
FROM_LAPTOP = "mount a volume or a ConfigMap in the Pod template, build it into the image, or give runtime_env a working_dir"
GONE = {
    "file_mounts": ("files were copied from your machine", FROM_LAPTOP),
    "cluster_synced_files": ("files were copied from the head to the workers", FROM_LAPTOP),
    "file_mounts_sync_continuously": ("files were copied again and again", FROM_LAPTOP),
    "rsync_exclude": ("nothing is copied any more", ""),
    "rsync_filter": ("nothing is copied any more", ""),
    "auth": ("nobody logs in to nodes any more", "kubectl exec leads into a Pod"),
    "docker": ("the image stands in the Pod template", "set the image of the Ray container"),
    "initialization_commands": ("there is no machine before the Pod", "use an init container"),
}
DROPPED = ("autoscaler_service_account", "autoscaler_role", "autoscaler_role_binding")
PROVIDER = ("type", "namespace", "use_internal_ips", "services", "timeout_seconds", *DROPPED)
FIELDS = (
    "cluster_name",
    "max_workers",
    "min_workers",
    "initial_workers",
    "autoscaling_mode",
    "target_utilization_fraction",
    "upscaling_speed",
    "idle_timeout_minutes",
    "provider",
    "available_node_types",
    "head_node_type",
    "head_node",
    "worker_nodes",
    "worker_default_node_type",
    "setup_commands",
    "head_setup_commands",
    "worker_setup_commands",
    "head_start_ray_commands",
    "worker_start_ray_commands",
    "no_restart",
    *GONE,
)
TYPE_FIELDS = ("node_config", "min_workers", "max_workers", "resources", "worker_setup_commands", "docker")


def is_ray_up(document: Obj) -> bool:
    return "provider" in document and "kind" not in document


def read_ray_up(document: Obj) -> tuple[Old, tuple[Note, ...]]:
    """Raises Inconvertible."""
    provider = mapping(document.get("provider"), "provider")
    kind = provider.get("type")
    if kind == "kuberay":
        raise Inconvertible("provider.type: kuberay is what an operator tells the autoscaler; it is the RayCluster that is to be converted")
    if kind != "kubernetes":
        raise Inconvertible(f"provider.type: {kind!r} does not run on Kubernetes; only kubernetes can be converted")
    types, head = node_types(document)
    common = texts(document.get("setup_commands"), "setup_commands")
    old = Old(
        name=str(document.get("cluster_name") or "default"),
        namespace=str(provider.get("namespace") or ""),
        head=head,
        types=types,
        max_workers=whole(document.get("max_workers"), "max_workers", GLOBAL_MAX_WORKERS),
        idle_minutes=number(document.get("idle_timeout_minutes"), "idle_timeout_minutes", IDLE_MINUTES),
        speed=speed_of(document),
        head_setup=(*common, *texts(document.get("head_setup_commands"), "head_setup_commands")),
        worker_setup=(*common, *texts(document.get("worker_setup_commands"), "worker_setup_commands")),
        head_start=texts(document.get("head_start_ray_commands"), "head_start_ray_commands") or HEAD_START,
        worker_start=texts(document.get("worker_start_ray_commands"), "worker_start_ray_commands") or WORKER_START,
        services=tuple(mapping(each, "provider.services") for each in sequence(provider.get("services"), "provider.services")),
    )
    return old, tuple(strange(document, provider))


def speed_of(document: Obj) -> float:
    """The older words for it are turned into it, as Ray did."""
    if document.get("upscaling_speed"):
        return number(document["upscaling_speed"], "upscaling_speed", SPEED)
    if document.get("autoscaling_mode") == "aggressive":
        return AGGRESSIVE
    if fraction := number(document.get("target_utilization_fraction"), "target_utilization_fraction", 0.0):
        return max(1.0 / min(fraction, 1.0) - 1.0, 0.0) or SPEED
    return SPEED


def node_types(document: Obj) -> tuple[tuple[PodType, ...], str]:
    """The types, and the head's name."""
    given = mapping(document.get("available_node_types"), "available_node_types")
    if not given:
        return older_types(document), "head"
    head = str(document.get("head_node_type") or "")
    if head not in given:
        raise Inconvertible(f"head_node_type: {head!r} is none of available_node_types")
    return tuple(node_type(str(name), mapping(each, f"available_node_types.{name}")) for name, each in given.items()), head


def node_type(name: str, given: Obj) -> PodType:
    path = f"available_node_types.{name}"
    pod, pod_path = pod_of(mapping(given.get("node_config"), f"{path}.node_config"), f"{path}.node_config")
    own = given.get("worker_setup_commands")
    return PodType(
        name=name,
        path=path,
        pod=pod,
        pod_path=pod_path,
        min_workers=whole(given.get("min_workers"), f"{path}.min_workers", 0),
        max_workers=whole(given.get("max_workers"), f"{path}.max_workers", None),
        resources=mapping(given.get("resources"), f"{path}.resources") or None,
        setup=texts(own, f"{path}.worker_setup_commands") if own is not None else None,
    )


def older_types(document: Obj) -> tuple[PodType, ...]:
    """Before there were types: one head, and workers that are all alike."""
    if not document.get("head_node"):
        raise Inconvertible("available_node_types: it is missing, and so is the older head_node: this says nothing of any Pod")
    head, head_path = pod_of(mapping(document.get("head_node"), "head_node"), "head_node")
    worker, worker_path = pod_of(mapping(document.get("worker_nodes"), "worker_nodes"), "worker_nodes")
    least = whole(document.get("min_workers"), "min_workers", 0)
    first = whole(document.get("initial_workers"), "initial_workers", None)
    types = [PodType("head", "head_node", head, head_path, 0, 0)]
    if worker:
        types.append(PodType("worker", "worker_nodes", worker, worker_path, least, None, max(first, least) if first is not None else None))
    return tuple(types)


def pod_of(config: Obj, path: str) -> tuple[Obj, str]:
    return (mapping(config["pod"], f"{path}.pod"), f"{path}.pod") if "pod" in config else (config, path)


def strange(document: Obj, provider: Obj) -> Iterator[Note]:
    for name, (said, advice) in GONE.items():
        if document.get(name):
            yield Note(name, said, advice, lost=True)
    for name in sorted(document.keys() - set(FIELDS)):
        yield Note(name, "nobody knows this field", lost=True)
    for name in DROPPED:
        if provider.get(name):
            yield Note(f"provider.{name}", "the operator makes the account and its rights by itself")
    for name in sorted(provider.keys() - set(PROVIDER)):
        yield Note(f"provider.{name}", "nobody knows this field", lost=True)
    types: dict[Any, Any] = {f"available_node_types.{name}": each for name, each in (document.get("available_node_types") or {}).items()}
    for path, each in types.items():
        if each.get("docker"):
            yield Note(f"{path}.docker", *GONE["docker"], lost=True)
        for name in sorted(each.keys() - set(TYPE_FIELDS)):
            yield Note(f"{path}.{name}", "nobody knows this field", lost=True)
    configs = types | {name: {"node_config": document.get(name)} for name in ("head_node", "worker_nodes")}
    for path, each in configs.items():
        for part in ("service", "ingress"):
            if (each.get("node_config") or {}).get(part):
                advice = "make one for the head with headService or ingressOptions; workers of a group have no Services of their own"
                yield Note(f"{path}.node_config.{part}", "each Pod had one of its own", advice, lost=True)
