"""The functions that a rule may call (CEL's standard ones, and https://kubernetes.io/docs/reference/using-api/cel/), and what they give."""

from __future__ import annotations

from rayfleet.apiserver.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of

_SIZED = {"string": INT, "bytes": INT, "list": INT, "map": INT}
_TIMES = ("getFullYear", "getMonth", "getDayOfMonth", "getDate", "getDayOfWeek", "getDayOfYear")
_CLOCK = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
_ITEM = Type("item")
"""stands for the type of a list's items"""
_SAME = Type("same")
"""stands for the type of what it is called on"""

GLOBAL: dict[str, Type] = {
    "size": INT, "int": INT, "uint": UINT, "double": DOUBLE, "string": STRING, "bytes": BYTES, "bool": BOOL, "matches": BOOL,
    "duration": DURATION, "timestamp": TIMESTAMP, "dyn": DYN, "type": DYN, "quantity": DYN, "url": DYN, "ip": DYN, "cidr": DYN,
    "semver": DYN, "isQuantity": BOOL, "isURL": BOOL, "isIP": BOOL, "isCIDR": BOOL, "isSemver": BOOL,
}  # fmt: skip
MEMBERS: dict[str, dict[str, Type]] = {
    "size": _SIZED,
    **{name: {"string": BOOL} for name in ("startsWith", "endsWith", "matches", "contains")},
    **{name: {"string": STRING} for name in ("charAt", "lowerAscii", "upperAscii", "replace", "substring", "trim", "format", "find")},
    "split": {"string": list_of(STRING)},
    "findAll": {"string": list_of(STRING)},
    "join": {"list": STRING},
    **{name: {"string": INT, "list": INT} for name in ("indexOf", "lastIndexOf")},
    "isSorted": {"list": BOOL},
    **{name: {"list": _ITEM} for name in ("sum", "min", "max", "first", "last")},
    **{name: {"list": _SAME} for name in ("sort", "distinct", "slice")},
    "reverse": {"list": _SAME, "string": STRING},
    "flatten": {"list": list_of(DYN)},
    **{name: {TIMESTAMP.name: INT} for name in _TIMES},
    **{name: {TIMESTAMP.name: INT, DURATION.name: INT} for name in _CLOCK},
}
OPAQUE = frozenset(
    {"sign", "isInteger", "asInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "getScheme"}
    | {"getHost", "getHostname", "getPort", "getEscapedPath", "getQuery", "family", "isUnspecified", "isLoopback", "isGlobalUnicast"}
    | {"isLinkLocalMulticast", "isLinkLocalUnicast", "containsIP", "containsCIDR", "masked", "prefixLength", "major", "minor", "patch"}
    | {"group", "resource", "subresource", "namespace", "name", "check", "allowed", "reason", "errored", "error", "path"}
    | {"serviceAccount", "fieldSelector", "labelSelector"}
    | {"orValue", "or", "value", "hasValue", "optMap", "optFlatMap", "validate", "sortBy"}
)
"""on values whose type is not followed here"""
LIBRARIES = frozenset({"math", "sets", "cel", "base64", "optional", "strings", "lists", "regex", "format", "ip", "cidr", "authorizer"})


def called(name: str, target: Type) -> Type | None:
    """What a function gives that is called on a value; None when it is not for such values."""
    if target == DYN or name in OPAQUE:
        return DYN
    found = MEMBERS[name].get(target.name)
    if found == _ITEM:
        return target.of[0]
    return target if found == _SAME else found
