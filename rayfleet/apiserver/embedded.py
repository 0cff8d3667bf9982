"""Objects within custom objects (x-kubernetes-embedded-resource): what makes each a whole one, but for what the schema says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayfleet.apiserver import metadata
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, StatusError, bad_request, invalid_value
from rayfleet.apiserver.structure import Node


def check_embedded(node: Node, obj: Obj) -> list[Cause]:
    """Of what stands below an object. Raises 400 for metadata that are none."""
    return list(_within(node, obj, ""))


def _within(node: Node, value: Any, path: str) -> Iterator[Cause]:
    if not node.has_embedded:
        return
    if isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from _checked(node.items, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, member in value.items():
            child = node.properties.get(name, node.extra)
            if child is not None:
                yield from _checked(child, member, f"{path}.{name}" if path else name)


def _checked(node: Node, value: Any, path: str) -> Iterator[Cause]:
    if node.embedded and isinstance(value, dict):
        yield from _whole(value, path)
    yield from _within(node, value, path)


def _whole(obj: Obj, path: str) -> Iterator[Cause]:
    version, kind, meta = obj.get("apiVersion"), obj.get("kind"), obj.get("metadata")
    if isinstance(version, str) and version.count("/") > 1:
        yield invalid_value(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    for cause in metadata.check_name(f"{path}.kind", kind.lower(), "service") if isinstance(kind, str) and kind else ():
        why = "may have mixed case, but should otherwise match: " + cause.message.split(": ", 2)[2]
        yield invalid_value(cause.field, kind, why)
    if meta is None:
        return
    try:
        tidy = metadata.tidied(meta if isinstance(meta, dict) else {"name": meta})
    except StatusError as failure:
        why = failure.message.replace("ObjectMeta.metadata.", "ObjectMeta.")
        raise bad_request(f"{path}.metadata: Invalid value: {why}") from None
    for cause in metadata.check({"name": "embedded", **{name: tidy[name] for name in ("labels", "annotations") if name in tidy}}, "path"):
        yield Cause(f"{path}.{cause.field}", cause.reason, cause.message)
