"""What a case is made of: plain HTTP exchanges, written as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON, MERGE, JSON_PATCH = "application/json", "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True)
class Step:
    """One exchange. `${name}` in the path, the headers and the body stands for what an earlier step kept; `${ns}` is the case's namespace.

    `keep`: name -> path in the answer's body. `until`: path (`code`: the status code; @NAME: has it
    that header?) -> value, asked again until all of them hold.
    `method` WATCH opens a stream under the name in `stream` and is answered when its headers are here; READ takes `count` events of it
    (0: all until the server ends it) as the body. COMPACT makes the server forget all versions before the newest ones; ${ancient} stands
    for a continue token of version 1 that goes on after b0.
    """

    method: str
    path: str = ""
    body: Any = None
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    until: Mapping[str, Any] = field(default_factory=dict)
    stream: str = ""
    count: int = 0
    unseen: bool = False
    """only prepares what comes next: its answer is not compared"""


@dataclass(frozen=True)
class Case:
    name: str
    steps: tuple[Step, ...]

    @property
    def namespace(self) -> str:
        return "c-" + self.name


def case(name: str, *steps: Step) -> Case:
    return Case(name, steps)


def get(path: str, **more: Any) -> Step:
    return Step("GET", path, **more)


def post(path: str, body: Any, **more: Any) -> Step:
    return Step("POST", path, body, **more)


def put(path: str, body: Any, **more: Any) -> Step:
    return Step("PUT", path, body, **more)


def patch(path: str, body: Any, media: str = MERGE, **more: Any) -> Step:
    return Step("PATCH", path, body, media, **more)


def delete(path: str, body: Any = None, **more: Any) -> Step:
    return Step("DELETE", path, body, **more)


def compact() -> Step:
    return Step("COMPACT", unseen=True)


def watch(stream: str, path: str, **more: Any) -> Step:
    return Step("WATCH", path, stream=stream, **more)


def read(stream: str, count: int = 0, **more: Any) -> Step:
    return Step("READ", stream=stream, count=count, **more)
