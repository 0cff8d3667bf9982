"""`serveConfig` of a RayService of `ray.io/v1alpha1`: one application, with YAML in single fields, as the text of `serveConfigV2`.

Those texts are not read here: they stand in the new text as their writer wrote them, further to the right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.api.legacy.note import Note, Obj

PATH = "spec.serveConfig"
APPLICATION = {"importPath": "import_path"}
DEPLOYMENT = {
    "name": "name",
    "numReplicas": "num_replicas",
    "maxConcurrentQueries": "max_ongoing_requests",
    "gracefulShutdownWaitLoopS": "graceful_shutdown_wait_loop_s",
    "gracefulShutdownTimeoutS": "graceful_shutdown_timeout_s",
    "healthCheckPeriodS": "health_check_period_s",
    "healthCheckTimeoutS": "health_check_timeout_s",
}
ACTOR = {"numCpus": "num_cpus", "numGpus": "num_gpus", "memory": "memory", "acceleratorType": "accelerator_type"}
TEXTS = {"runtimeEnv": "runtime_env", "userConfig": "user_config", "autoscalingConfig": "autoscaling_config", "resources": "resources"}
"""Fields that hold YAML."""
ELSEWHERE = ("routePrefix", "deployments", "port", "rayActorOptions")
RENAMED = "it is called max_ongoing_requests since Ray 2.10"


def serve_config(given: Obj) -> tuple[str, tuple[Note, ...]]:
    """The text, and what is to be known about it. Values of a wrong kind go on: whoever reads the text says so."""
    notes: list[Note] = []
    deployments = [each for each in listed(given.get("deployments")) if isinstance(each, dict)]
    routes = sorted({str(each["routePrefix"]) for each in deployments if each.get("routePrefix")})
    if len(routes) > 1:
        said, advice = f"{' and '.join(routes)}: an application has one route", "make an application of each deployment that has a route"
        notes.append(Note(f"{PATH}.deployments", said, advice, lost=True))
    lines = [f"http_options: {{port: {written(given['port'])}}}"] if given.get("port") else []
    lines += ["applications:", "- name: default", f"  route_prefix: {written(routes[0] if routes else '/')}"]
    lines += indented(fields(given, APPLICATION, PATH, notes))
    lines += ["  deployments:"] if deployments else []
    for index, deployment in enumerate(deployments):
        path = f"{PATH}.deployments[{index}]"
        first, *rest = [*fields(deployment, DEPLOYMENT, path, notes), *actor(deployment, path, notes)] or ["{}"]
        lines += [f"  - {first}", *indented(rest, 4)]
    return "\n".join(lines) + "\n", tuple(notes)


def actor(deployment: Obj, path: str, notes: list[Note]) -> list[str]:
    options = deployment.get("rayActorOptions")
    found = fields(options, ACTOR, f"{path}.rayActorOptions", notes) if isinstance(options, dict) else []
    return ["ray_actor_options:", *indented(found)] if found else []


def fields(given: Obj, names: dict[str, str], path: str, notes: list[Note]) -> list[str]:
    found: list[str] = []
    for name, value in given.items():
        if name in names:
            found.append(f"{names[name]}: {written(value)}")
        elif name in TEXTS and isinstance(value, str):
            found += [f"{TEXTS[name]}:", *indented(value.strip("\n").splitlines())] if value.strip() else []
        elif name not in ELSEWHERE:
            notes.append(Note(f"{path}.{name}", "Ray Serve takes no such option any more", lost=True))
        if name == "maxConcurrentQueries":
            notes.append(Note(f"{path}.{name}", RENAMED, "write max_concurrent_queries for an older one"))
    return found


def listed(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else ()


def indented(lines: list[str], by: int = 2) -> list[str]:
    return [" " * by + line if line else line for line in lines]


def written(value: Any) -> str:
    """JSON, which is YAML."""
    return msgspec.json.encode(value).decode()
