"""From JSON to typed objects, so that one wrong field names itself and spoils nothing but its own object.

A null where Kubernetes tolerates one (`rayStartParams: null`) counts as absent: the API server drops it too, for every field that
its schema does not call nullable.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from rayfleet.api.fault import Fault
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.model import Node, join, model_of
from rayfleet.api.raycluster import RayCluster, RayClusterStatus
from rayfleet.api.rayjob import RayJob

T = TypeVar("T", bound=msgspec.Struct)

# What the message of a wrong type calls a JSON value, and the types that a field of each form takes.
NAMES = {bool: "bool", int: "int", float: "float", str: "str", list: "array", dict: "object", type(None): "null"}
TAKES: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("object", (dict,)),
    "map": ("object", (dict,)),
    "list": ("array", (list,)),
    "string": ("str", (str,)),
    "integer": ("int", (int,)),
    "number": ("number", (int, float)),
    "boolean": ("bool", (bool,)),
    "int-or-string": ("int or str", (int, str)),
}


class Undecodable(msgspec.Struct, frozen=True, gc=False):
    """An object of one of our kinds that does not fit its types. It stands in a cache where the typed object would.

    `status` is a RayCluster's, `report` the texts and numbers in the status of any kind.
    """

    metadata: ObjectMeta
    faults: tuple[Fault, ...]
    api_version: str = ""
    kind: str = ""
    status: RayClusterStatus = RayClusterStatus()
    report: dict[str, str | int] = {}

    @property
    def error(self) -> str:
        """All faults as one text, in the order of the document."""
        return "; ".join(map(str, self.faults))


def decode_cluster(raw: bytes) -> RayCluster | Undecodable:
    """Never raises. The raw parts of the result keep `raw` alive: hand over the bytes of this object alone, not those of a page."""
    return decode(raw, RayCluster)


def decode_job(raw: bytes) -> RayJob | Undecodable:
    """As `decode_cluster`."""
    return decode(raw, RayJob)


def decode(raw: bytes | msgspec.Raw, cls: type[T]) -> T | Undecodable:
    """As `decode_cluster`, for any declared kind."""
    text = bytes(raw)
    try:
        try:
            # What may hold a null takes the second look: a raw field would keep it as if it were a value.
            if b"null" not in text:
                return msgspec.json.decode(text, type=cls)
            message = ""
        except msgspec.ValidationError as error:
            message = str(error)
        return lenient(msgspec.json.decode(text), cls, message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Undecodable(ObjectMeta(), (Fault("", f"no JSON object: {error}"),))


def lenient(value: Any, cls: type[T], message: str) -> T | Undecodable:
    """The second, slower look: without tolerated nulls the object may be well; if not, every wrong place is named.

    A status is what was once observed and can be observed again: where only it does not fit, the misfit is left out.
    """
    faults: list[Fault] = []
    node = model_of(cls)
    pruned = checked(value, node, "", faults)
    if faults and all(re.match(r"status\b", fault.path) for fault in faults):
        pruned["status"] = fitting(value["status"], node.fields["status"].node)
        faults = []
    if not faults:
        try:
            return msgspec.json.decode(msgspec.json.encode(pruned), type=cls)
        except msgspec.ValidationError as error:
            message = str(error)
    return undecodable(value, tuple(faults) or (Fault("", message),))


def undecodable(value: Any, faults: tuple[Fault, ...]) -> Undecodable:
    """What can still be said of an object whose types are wrong: whose it is, and what was last reported of it."""
    document = value if isinstance(value, dict) else {}
    metadata = converted(document.get("metadata"), ObjectMeta)
    status = converted(document.get("status"), RayClusterStatus)
    texts = (document.get(name) for name in ("apiVersion", "kind"))
    api_version, kind = (text if isinstance(text, str) else "" for text in texts)
    given = document.get("status")
    report = {name: part for name, part in given.items() if isinstance(part, str | int)} if isinstance(given, dict) else {}
    return Undecodable(metadata, faults, api_version, kind, status, report)


def converted(value: Any, cls: type[T]) -> T:
    """As much of the value as fits the type: a field that does not is left out."""
    kept = fitting(value, model_of(cls))
    try:
        return msgspec.json.decode(msgspec.json.encode(kept), type=cls)
    except msgspec.ValidationError:
        return cls()


def fitting(value: Any, node: Node) -> dict[str, Any]:
    fields = value if isinstance(value, dict) else {}
    kept = {}
    for name, field in node.fields.items():
        faults: list[Fault] = []
        part = checked(fields.get(name), field.node, name, faults)
        if part is not None and not faults:
            kept[name] = part
    return kept


def checked(value: Any, node: Node, path: str, faults: list[Fault]) -> Any:
    """The value without tolerated nulls, and 3.0 as 3; appends a fault for every place whose type is wrong."""
    if node.form == "opaque" or (value is None and node.nullable):
        return value
    if not fits(value, node):
        faults.append(Fault(path, f"expected {TAKES[node.form][0]}, got {NAMES[type(value)]}"))
        return value
    if node.form == "integer":
        return int(value)
    if node.form == "object":
        return checked_object(value, node, path, faults)
    if node.item and isinstance(value, dict):
        return {key: checked(part, node.item, join(path, key), faults) for key, part in value.items()}
    if node.item:
        return [checked(part, node.item, f"{path}[{index}]", faults) for index, part in enumerate(value)]
    return value


def fits(value: Any, node: Node) -> bool:
    """JSON has one kind of number, so 3.0 is an integer too. Python's bool is an int, JSON's is not."""
    types = TAKES[node.form][1]
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types) or (node.form == "integer" and isinstance(value, float) and value.is_integer())


def checked_object(value: dict[str, Any], node: Node, path: str, faults: list[Fault]) -> dict[str, Any]:
    kept = {}
    for name, part in value.items():
        field = node.fields.get(name)
        if field is None:
            kept[name] = part
        elif part is not None or field.node.nullable:
            kept[name] = checked(part, field.node, join(path, name), faults)
    return kept
