"""Strategic merge patch of the core kinds: lists of objects merge by a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rayfleet.apiserver.status_error import StatusError

MERGE_KEYS = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "port"),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "resourceClaims": ("name",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "ownerReferences": ("uid",),
    "addresses": ("type",),
    "taints": ("key",),
    "secrets": ("name",),
}
"""Field -> its patchMergeKey (k8s.io/api struct tags). A field not listed is replaced as a whole."""

PRIMITIVE_SETS = frozenset({"finalizers", "podCIDRs"})

_DIRECTIVES = ("$patch", "$retainKeys")
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def strategically_merged(target: Any, patch: Any) -> Any:
    """Raises 500, as Kubernetes does, when an element of a merged list has no key or a directive is unknown. Changes neither argument."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return _bare(patch)
    if patch.get("$patch") not in (None, "delete"):
        raise StatusError(500, "", f"unknown patch type: {patch['$patch']} in map: {go_text(patch)}")
    result = dict(target) if isinstance(target, dict) else {}
    if patch.get("$patch") == "delete":
        return {}
    if "$retainKeys" in patch:
        result = {key: value for key, value in result.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if key not in _DIRECTIVES and not key.startswith((_DELETE_FROM, _ORDER)):
            _merge_field(result, key, value)
    _apply_list_directives(result, patch)
    return result


def _merge_field(result: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        deleted = value.get("$patch") == "delete"
        merged = strategically_merged(result.get(key), value)
        if deleted:
            result.pop(key, None)
        else:
            result[key] = merged
    elif isinstance(value, list):
        result[key] = _merged_list(key, result.get(key) or [], value)
    else:
        result[key] = value


def _merged_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in PRIMITIVE_SETS:
        present = set(map(_identity, target))
        return [item for item in patch if _identity(item) not in present] + target
    keys = MERGE_KEYS.get(field)
    if keys is None or not all(isinstance(item, dict) for item in patch):
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [_bare(item) for item in patch if item.get("$patch") != "replace"]
    merge_key = _merge_key(keys, [*target, *patch])
    there = [dict(item) for item in target]
    new: list[dict[str, Any] | None] = []
    places: dict[Any, list[tuple[list[Any], int]]] = {}
    for index, item in enumerate(there):
        places.setdefault(_identity(item.get(merge_key)), []).append((there, index))
    # What is new comes before what was there, in the order of the patch.
    for item in reversed(patch):
        if merge_key not in item:
            raise StatusError(500, "", f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
        found = places.setdefault(_identity(item[merge_key]), [])
        if item.get("$patch") == "delete":
            for items, index in found:
                items[index] = None
            found.clear()
        elif found:
            items, index = found[0]
            items[index] = strategically_merged(items[index], item)
        else:
            found.append((new, len(new)))
            new.append(strategically_merged({}, item))
    return [item for item in (*reversed(new), *there) if item is not None]


def _merge_key(keys: tuple[str, ...], items: Iterable[Any]) -> str:
    """Ports of containers merge by containerPort, those of Services by port."""
    present = [key for key in keys if any(key in item for item in items)]
    return present[0] if present else keys[0]


def _identity(value: Any) -> Any:
    """Equal for equal values, and fit to be looked up: lists are as long as their senders like."""
    return msgspec.json.encode(value, order="sorted") if isinstance(value, (dict, list, bool)) else value


def _apply_list_directives(result: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, values in patch.items():
        if key.startswith(_DELETE_FROM):
            field = key.removeprefix(_DELETE_FROM)
            doomed = set(map(_identity, values if isinstance(values, list) else ()))
            result[field] = [item for item in result.get(field) or () if _identity(item) not in doomed]
    for key, values in patch.items():
        if key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            if isinstance(result.get(field), list):
                result[field] = _ordered(field, result[field], values)


def _ordered(field: str, items: list[Any], order: Any) -> list[Any]:
    """The elements named in `order` come in that order; the others keep their place behind their predecessor."""
    keys = MERGE_KEYS.get(field)
    merge_key = _merge_key(keys, [item for item in items if isinstance(item, dict)]) if keys else None

    def identity(item: Any) -> Any:
        return _identity(item.get(merge_key) if isinstance(item, dict) and merge_key else item)

    wanted: dict[Any, int] = {}
    for index, item in enumerate(order):
        wanted.setdefault(identity(item), index)
    ranked: list[tuple[int, int, Any]] = []
    rank = -1
    for position, item in enumerate(items):
        rank = wanted.get(identity(item), rank)
        ranked.append((rank, position, item))
    return [item for _, _, item in sorted(ranked, key=lambda entry: entry[:2])]


def _bare(patch: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in patch.items() if key not in _DIRECTIVES}


def go_text(value: Any) -> str:
    """As Go prints it."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
