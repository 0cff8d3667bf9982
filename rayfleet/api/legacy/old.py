"""A cluster of the old formats as one value, whichever of them it was written in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api.legacy.note import Inconvertible

Obj = dict[str, Any]
GLOBAL_MAX_WORKERS, IDLE_MINUTES, SPEED = 2, 5.0, 1.0
"""What the old operator and `ray up` took where nothing was said (reference: Ray, A.2)."""
STOP = "ray stop"
HEAD_START = (
    STOP,
    "ulimit -n 65536; ray start --head --port=6379 --autoscaling-config=~/ray_bootstrap_config.yaml --dashboard-host 0.0.0.0",
)
WORKER_START = (STOP, "ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379")


class PodType(msgspec.Struct, frozen=True):
    """`path` is where it stands in the old document; `max_workers` is None where nothing was said, `initial` the replicas to begin with."""

    name: str
    path: str
    pod: Mapping[str, Any]
    pod_path: str
    min_workers: int = 0
    max_workers: int | None = None
    initial: int | None = None
    resources: Mapping[str, Any] | None = None
    setup: tuple[str, ...] | None = None


class Port(msgspec.Struct, frozen=True, rename="camel"):
    """A port of the head's Service."""

    name: str
    port: int
    target_port: int | str


PORTS = (Port("client", 10001, 10001), Port("dashboard", 8265, 8265), Port("ray-serve", 8000, 8000))


class Old(msgspec.Struct, frozen=True):
    """`head` names one of `types`. `head_setup` and `worker_setup` are run before Ray is started; a type's own `setup` takes the place of
    the latter. `ports` are those of the Service NAME-ray-head, None where there was none. `root` is where the fields stand."""

    name: str
    namespace: str
    head: str
    types: tuple[PodType, ...]
    root: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    uid: str = ""
    max_workers: int = GLOBAL_MAX_WORKERS
    idle_minutes: float = IDLE_MINUTES
    speed: float = SPEED
    head_setup: tuple[str, ...] = ()
    worker_setup: tuple[str, ...] = ()
    head_start: tuple[str, ...] = HEAD_START
    worker_start: tuple[str, ...] = WORKER_START
    ports: tuple[Port, ...] | None = None
    services: tuple[Mapping[str, Any], ...] = ()

    @property
    def head_type(self) -> PodType:
        return next(each for each in self.types if each.name == self.head)


def mapping(value: Any, path: str) -> Obj:
    """Raises Inconvertible for what is none; nothing counts as an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Inconvertible(f"{path}: expected a mapping, got {type(value).__name__}")
    return value


def sequence(value: Any, path: str) -> list[Any]:
    """As `mapping`."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Inconvertible(f"{path}: expected a list, got {type(value).__name__}")
    return value


def texts(value: Any, path: str) -> tuple[str, ...]:
    return tuple(str(each) for each in sequence(value, path))


def whole(value: Any, path: str, default: int | None) -> Any:
    """A whole number, 0 or more. Raises Inconvertible."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise Inconvertible(f"{path}: {value!r} is no whole number, 0 or more")
    return int(value)


def number(value: Any, path: str, default: float) -> float:
    """A number, 0 or more. Raises Inconvertible."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise Inconvertible(f"{path}: {value!r} is no number, 0 or more")
    return float(value)
