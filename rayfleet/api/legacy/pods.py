"""A podConfig, or the node_config of `ray up`: into a Pod template and start parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rayfleet.api.labels import OVERWRITE_COMMAND
from rayfleet.api.legacy.note import Inconvertible, Note, Obj
from rayfleet.api.legacy.old import PORTS, Old, PodType, Port, mapping
from rayfleet.api.legacy.start import Start, quoted_json
from rayfleet.api.quantity import parse

SLEEPS = (
    "trap : TERM INT; sleep infinity & wait;",
    "trap : TERM INT; touch /tmp/raylogs; tail -f /tmp/raylogs & wait;",
    "sleep infinity",
)
SHELLS = ("/bin/bash", "/bin/sh", "bash", "sh", "-c", "-lc", "--", "-cl", "-l")
GCS_PORT = "6379"
NAMED = {6379: "gcs-server", 10001: "client", 8265: "dashboard", 8000: "serve"}
MEMORY_SHARE = 7, 10
"""Of a container's memory, what the old operator offered Ray for scheduling."""
KNOWN = {"CPU": "num-cpus", "GPU": "num-gpus", "memory": "memory", "object_store_memory": "object-store-memory"}
COMPONENT = "cluster.ray.io/component"


def template(old: Old, kind: PodType, start: Start, *, head: bool) -> tuple[Obj, list[Note]]:
    """The template of one group's Pods. Raises Inconvertible."""
    meta, spec = (
        mapping(kind.pod.get("metadata"), f"{kind.pod_path}.metadata"),
        dict(mapping(kind.pod.get("spec"), f"{kind.pod_path}.spec")),
    )
    containers = [dict(mapping(each, f"{kind.pod_path}.spec.containers")) for each in spec.get("containers") or ()]
    if not containers:
        raise Inconvertible(f"{kind.pod_path}.spec.containers: it has none")
    notes: list[Note] = []
    ray, said = with_command(containers[0], kind, start)
    notes += said
    if head and (declared := ports(ray.get("ports") or (), old.ports, start.params.get("port", GCS_PORT))):
        ray = {**ray, "ports": declared}
    if spec.get("restartPolicy") == "Never":
        del spec["restartPolicy"]  # the old operator needed it
    kept = {name: value for name, value in meta.items() if name in ("labels", "annotations") and value}
    kept["labels"] = {**kept.get("labels", {}), **marks(old, kind, head=head)}
    if start.verbatim:
        kept["annotations"] = {**kept.get("annotations", {}), OVERWRITE_COMMAND: "true"}
    if "generateName" not in meta and "name" in meta:
        notes.append(Note(f"{kind.pod_path}.metadata.name", "the operator names Pods"))
    return {"metadata": kept, "spec": {**spec, "containers": [ray, *containers[1:]]}}, notes


def marks(old: Old, kind: PodType, *, head: bool) -> dict[str, str]:
    """The labels by which users found the Pods."""
    found = {"ray-cluster-name": old.name, "ray-node-type": "head" if head else "worker", "ray-user-node-type": kind.name}
    return found | ({COMPONENT: f"{old.name}-ray-head"} if head else {})


def with_command(container: Obj, kind: PodType, start: Start) -> tuple[Obj, list[Note]]:
    """A command that only slept goes, or Ray would never be started; what is to run before Ray takes its place."""
    words = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
    rest = {name: value for name, value in container.items() if name not in ("command", "args")}
    notes = []
    if words and not only_sleeps(words):
        path, advice = f"{kind.pod_path}.spec.containers[0].command", "make sure that it ends: it is run before ray start"
        notes.append(Note(path, "a command of the user's own", advice, lost=True))
        rest |= {name: container[name] for name in ("command", "args") if name in container}
    if start.verbatim:
        return {**rest, "command": ["/bin/bash", "-c", "--"], "args": [start.verbatim]}, notes
    if start.before:
        own = " ".join(words) if "command" in rest or "args" in rest else ""
        rest = {name: value for name, value in rest.items() if name not in ("command", "args")}
        return {**rest, "args": [" && ".join(map(grouped, [*([own] if own else []), *start.before]))]}, notes
    return rest, notes


def grouped(line: str) -> str:
    """A line of shell that stays one command among others."""
    return f"{{ {line}\n}}" if set(line) & set(";|&#\n") else line


def only_sleeps(words: Sequence[str]) -> bool:
    text = " ".join(word for word in words if word not in SHELLS)
    return plain(text) in {plain(each) for each in SLEEPS}


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().rstrip(";").strip()


def ports(given: Sequence[Mapping[str, Any]], wanted: Sequence[Port] | None, gcs: str) -> list[Obj]:
    """Every port has a name, for the head's Service has those that have one, and workers, clients and the dashboard are reached by it.
    Where nothing was said of any port the operator's usual ones are meant."""
    found = [dict(each) for each in given]
    for each in found:
        each.setdefault("name", NAMED.get(each.get("containerPort", 0), f"port-{each.get('containerPort')}"))
    if wanted is None and not found:
        return []
    gcs_port = int(gcs) if gcs.isdecimal() else int(GCS_PORT)
    usual = (Port("gcs-server", gcs_port, gcs_port), *PORTS)
    for port in (*usual, *(wanted or ())):
        target = port.target_port
        if isinstance(target, int) and target not in {each.get("containerPort") for each in found}:
            name = NAMED.get(target, port.name)
            taken = name in {each["name"] for each in found}
            found.append({"name": f"port-{target}" if taken else name, "containerPort": target})
    return found


def start_params(kind: PodType, start: Start) -> tuple[dict[str, str], list[Note]]:
    """What Ray is told: the flags of the old commands, and the resources that the old operator found or was given."""
    notes: list[Note] = []
    counts = {name: amount(value, f"{kind.path}.rayResources.{name}") for name, value in (kind.resources or {}).items()}
    given = {KNOWN[name]: str(count) for name, count in counts.items() if name in KNOWN}
    custom = {name: count for name, count in counts.items() if name not in KNOWN}
    params = {**detected(kind, notes), **start.params, **given}
    if custom:
        params["resources"] = quoted_json(json.dumps(custom, sort_keys=True))
    return params, notes


def amount(value: Any, path: str) -> int:
    """Ray's old configuration took whole numbers. Raises Inconvertible."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise Inconvertible(f"{path}: {value!r} is no whole number")
    return int(value)


def detected(kind: PodType, notes: list[Note]) -> dict[str, str]:
    """By the limits of the first container alone: cores rounded up, and seven tenths of the memory. Without a limit there were no CPUs."""
    containers = (kind.pod.get("spec") or {}).get("containers") or [{}]
    limits = (containers[0].get("resources") or {}).get("limits") or {}
    path = f"{kind.pod_path}.spec.containers[0].resources.limits"
    try:
        cpus, memory = parse(limits.get("cpu") or 0).ceil(), parse(limits.get("memory") or 0).ceil()
    except ValueError as error:
        raise Inconvertible(f"{path}: {error}") from error
    found = {"num-cpus": str(cpus)}
    if memory:
        found["memory"] = str(memory * MEMORY_SHARE[0] // MEMORY_SHARE[1])
    if not cpus and "CPU" not in (kind.resources or {}):
        notes.append(Note(path, "without a limit of cpu no CPUs were counted, and none are offered", "set a limit, or num-cpus"))
    return found


def env_needs(kinds: Sequence[PodType]) -> Iterator[Note]:
    """Variables that the old operator set in every shell."""
    for kind in kinds:
        for index, each in enumerate((kind.pod.get("spec") or {}).get("containers") or ()):
            for variable in each.get("env") or ():
                if variable.get("name") == "RAY_OVERRIDE_RESOURCES":
                    path = f"{kind.pod_path}.spec.containers[{index}].env"
                    yield Note(path, "RAY_OVERRIDE_RESOURCES wins over the start parameters", "leave it out if that is not meant")
