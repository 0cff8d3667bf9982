"""Two sets of objects side by side. A difference is a line: `Pod/demo-head spec.containers[0].image: recorded "a", rendered "b"`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.parity.canonical import Json, canonical

Groups = dict[str, list[Json]]
WILD = {
    "<uid>": r"[0-9a-z-]{8,}",
    "<uid8>": r"[0-9a-z]{8}",
    "<secret>": r".+",
    "<podip>": r"[0-9.]+",
    "<time>": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z",
}
LEAST_SCRIPT = 20  # characters
SHOWN = 600


def grouped(objects: Iterable[Json], namespace: str) -> Groups:
    """Canonical bodies by kind and name, Pods by kind and the name's stem; the namespace is called demo."""
    groups: Groups = {}
    for obj in objects:
        moved = json.loads(json.dumps(obj).replace(namespace, "demo"))
        body = canonical(moved)
        name = moved["metadata"].get("name", "")
        if moved["kind"] == "Pod":
            name = stem(moved["metadata"])
        groups.setdefault(f"{moved['kind']}/{name}", []).append(body)
    return {key: sorted(bodies, key=order) for key, bodies in groups.items()}


def stem(metadata: Mapping[str, Any]) -> str:
    """A Pod's name without what is random or hashed. The fixed name of a head has nothing of that."""
    name = str(metadata.get("generateName") or metadata["name"])
    return name.rstrip("-") if metadata.get("generateName") or name.endswith("-head") else name.rpartition("-")[0]


def order(body: Json) -> tuple[Any, ...]:
    """Pods of a group in order of their slots, whatever else differs."""
    labels = body.get("metadata", {}).get("labels", {})
    slot = (
        labels.get("ray.io/group", ""),
        labels.get("ray.io/worker-group-replica-index", ""),
        labels.get("ray.io/replica-host-index", ""),
    )
    return *(part.zfill(8) for part in slot), json.dumps(body, sort_keys=True)


def compared(recorded: Groups, ours: Groups) -> Iterator[str]:
    for key in sorted(recorded.keys() | ours.keys()):
        theirs, mine = recorded.get(key, []), ours.get(key, [])
        if len(theirs) != len(mine):
            yield f"{key}: recorded {len(theirs)}, rendered {len(mine)}"
        for one, other in zip(theirs, mine, strict=False):
            yield from (f"{key} {line}" for line in differences(one, other, ""))


def differences(recorded: Any, ours: Any, path: str) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for name in sorted(recorded.keys() | ours.keys()):
            yield from differences(recorded.get(name), ours.get(name), f"{path}.{name}" if path else name)
    elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        for index, (one, other) in enumerate(zip(recorded, ours, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif not equal(recorded, ours):
        yield f"{path}: recorded {shown(recorded)}, rendered {shown(ours)}"


def equal(recorded: Any, ours: Any) -> bool:
    """Where the recording has a placeholder, anything that can stand there is equal to it."""
    if recorded == "<script>":
        return isinstance(ours, str) and len(ours.strip()) >= LEAST_SCRIPT
    if isinstance(recorded, str) and isinstance(ours, str) and "<" in recorded:
        parts = re.split("(<uid8?>|<secret>|<podip>|<time>)", recorded)
        return re.fullmatch("".join(WILD.get(part, re.escape(part)) for part in parts), ours, re.DOTALL) is not None
    return bool(recorded == ours)


def shown(value: Any) -> str:
    return json.dumps(value)[:SHOWN]
