"""The end of things that hold other things: namespaces and custom resource definitions."""

from __future__ import annotations

from collections.abc import Iterable

from rayfleet.apiserver import deletion
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.custom import CLEANUP
from rayfleet.apiserver.garbage import save, terminating
from rayfleet.apiserver.record import Record


def end_namespace(api: Api, namespace: Record) -> None:
    """Deletes what is in it; when nothing is left, the namespace goes."""
    if not terminating(namespace):
        return
    inside = [record for resource in api.store.resources() for record in api.store.select(resource, namespace.name)]
    if _delete_all(api, inside):
        return
    obj = namespace.decode()
    obj["spec"]["finalizers"] = []
    save(api, namespace, obj)


def end_definition(api: Api, definition: Record) -> None:
    """Deletes the objects of a dying definition; when none is left, the definition goes."""
    if not terminating(definition):
        return
    if _delete_all(api, list(api.store.select(definition.name))):
        return
    obj = definition.decode()
    obj["metadata"]["finalizers"] = [name for name in obj["metadata"].get("finalizers", []) if name != CLEANUP]
    save(api, definition, obj)


def _delete_all(api: Api, records: Iterable[Record]) -> bool:
    """True while something is left, as it has finalizers or a grace period."""
    left = False
    for record in records:
        kind = api.registry.kind(record.resource)
        current = api.store.get(record.resource, record.namespace, record.name)
        if kind is None or current is None:
            continue
        if terminating(current):
            left = True
            continue
        _, gone = deletion.delete(api, kind, current, deletion.DeleteOptions(propagation="Background"))
        left = left or not gone
    return left
