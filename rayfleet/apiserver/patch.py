"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Neither changes its arguments."""

from __future__ import annotations

import copy
from typing import Any

from rayfleet.apiserver.body import BODY_LIMIT, check_depth
from rayfleet.apiserver.record import encode
from rayfleet.apiserver.status_error import StatusError, bad_request, patch_refused

OPERATIONS_LIMIT = 10_000


def merged(target: Any, patch: Any) -> Any:
    """`null` removes a member, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def edited(target: Any, operations: Any) -> Any:
    """Applies a JSON patch. Raises 400 for text that is no patch, 422 when an operation does not apply."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
    if len(operations) > OPERATIONS_LIMIT:
        text = f"Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", text)
    document, copied = {"": copy.deepcopy(target)}, 0
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise bad_request("a JSON patch operation is an object with op and path")
        if operation.get("op") == "copy":
            # Each may double what there is.
            copied += len(encode(_get(document, _pointer(str(operation.get("from", ""))))))
            if copied > BODY_LIMIT:
                raise patch_refused()
        _operate(document, operation)
    check_depth(document)
    return document[""]


def _operate(document: dict[str, Any], operation: dict[str, Any]) -> None:
    op, path = operation.get("op"), _pointer(operation["path"])
    if op == "add":
        _add(document, path, _value(operation))
    elif op == "replace":
        # evanphx/json-patch, which Kubernetes uses, lets `replace` create the member of an object.
        _replace(document, path, _value(operation))
    elif op == "remove":
        _remove(document, path)
    elif op == "test":
        _test(document, path, operation.get("value"))
    elif op in ("copy", "move"):
        source = _pointer(str(operation.get("from", "")))
        value = _get(document, source)
        if op == "move":
            # What is moved is nowhere else: there is nothing to copy.
            _remove(document, source)
        _add(document, path, copy.deepcopy(value) if op == "copy" else value)
    else:
        raise patch_refused()


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise bad_request("add and replace operations need a value")
    return copy.deepcopy(operation["value"])


def _pointer(text: str) -> list[str]:
    """The keys of a JSON pointer; the document itself lies under the key ""."""
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def _parent(document: Any, path: list[str]) -> Any:
    node = document
    for key in path[:-1]:
        node = _child(node, key)
    return node


def _child(node: Any, key: str) -> Any:
    if isinstance(node, dict) and key in node:
        return node[key]
    if isinstance(node, list):
        return node[_index(node, key, len(node) - 1)]
    raise patch_refused()


def _get(document: Any, path: list[str]) -> Any:
    return _child(_parent(document, path), path[-1])


def _add(document: Any, path: list[str], value: Any) -> None:
    parent, key = _parent(document, path), path[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if key == "-" else _index(parent, key, len(parent)), value)
    elif isinstance(parent, dict):
        parent[key] = value
    else:
        raise patch_refused()


def _replace(document: Any, path: list[str], value: Any) -> None:
    parent, key = _parent(document, path), path[-1]
    if isinstance(parent, list):
        parent[_index(parent, key, len(parent) - 1)] = value
    elif isinstance(parent, dict):
        parent[key] = value
    else:
        raise patch_refused()


def _remove(document: Any, path: list[str]) -> None:
    parent, key = _parent(document, path), path[-1]
    if isinstance(parent, list):
        del parent[_index(parent, key, len(parent) - 1)]
    elif isinstance(parent, dict) and key in parent:
        del parent[key]
    else:
        raise patch_refused()


def _test(document: Any, path: list[str], wanted: Any) -> None:
    try:
        found = _get(document, path)
    except StatusError:
        found = None
    if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
        raise patch_refused()


def _index(items: list[Any], key: str, last: int) -> int:
    if key.isdecimal() and int(key) <= last:
        return int(key)
    raise patch_refused()
