"""What the operator would come to do to a cluster that is there, if all goes well: from what is, through every step, to rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rayfleet.api.config import Configuration
from rayfleet.api.meta import RAYCLUSTERS, Key
from rayfleet.planning.actions import Action, Create, Delete, Fence, Patch
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.validity import faults_of
from rayfleet.sim.ideal import Refused, Still, kinds_of, lived, owns, typed, uid_of
from rayfleet.sim.store import Obj, Store


class Change(NamedTuple):
    """`verb` is create, replace, change or delete; `by` names what takes the place of what is replaced."""

    verb: str
    kind: str
    name: str
    why: str
    by: str = ""


def foresee(obj: Obj, config: Configuration, now: float, children: Sequence[Obj] = ()) -> list[Change]:
    """`obj` as it would be after `apply`; `children` are objects as an API server lists them, of which those below this one count.

    What is on its way out counts as gone. Raises `Refused` when the spec is refused, RuntimeError when no end is reached.
    """
    cluster = typed(obj)
    faults = faults_of(Observed(cluster, now, config=config))
    if faults:
        raise Refused({str(cluster.metadata.key): faults})
    meta = cluster.metadata
    store = Store(Still(now), uid=lambda key: uid_of(*key))
    identity = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "generation": meta.generation or 1}
    store.place(RAYCLUSTERS, {**obj, "metadata": {**(obj.get("metadata") or {}), **identity}})
    gone = set()
    for child in (child for child in children if owns(cluster, child)):
        if child["metadata"].get("deletionTimestamp"):
            gone.add(child["metadata"]["name"])
            continue
        for resource in kinds_of(config):
            if child.get("kind") == resource.kind:
                store.place(resource, child)
    return changes(lived(store, Key(meta.namespace, meta.name), config, now, frozenset(gone)))


def changes(actions: Iterable[Action]) -> list[Change]:
    """In order of their first step; a delete and a create in the same scope are one replacement."""
    told = [action for action in actions if not isinstance(action, Fence)]
    created = {(action.resource, action.name) for action in told if isinstance(action, Create)}
    pairs = dict(replacements(told))
    replacing = {id(create) for create in pairs.values()}
    found = []
    for action in told:
        kind = action.resource.kind
        if isinstance(action, Delete) and id(action) in pairs:
            found.append(Change("replace", kind, action.name, action.reason, pairs[id(action)].name))
        elif isinstance(action, Delete):
            found.append(Change("delete", kind, action.name, action.reason))
        elif isinstance(action, Create) and id(action) not in replacing:
            found.append(Change("create", kind, action.name, action.reason))
        elif isinstance(action, Patch) and (action.resource, action.name) not in created and action.event:
            found.append(Change("change", kind, action.name, action.reason))
    return found


def replacements(actions: Sequence[Action]) -> Iterator[tuple[int, Create]]:
    """Each delete (by identity) and the create that comes after it in its scope, each create once."""
    waiting: dict[str, list[Delete]] = {}
    for action in actions:
        if isinstance(action, Delete):
            waiting.setdefault(action.scope, []).append(action)
        elif isinstance(action, Create) and waiting.get(action.scope):
            yield id(waiting[action.scope].pop(0)), action
