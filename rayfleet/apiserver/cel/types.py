"""The types of CEL, and those that a structural schema gives its values (k8s.io/apiserver pkg/cel/common)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rayfleet.apiserver.record import Obj


@dataclass(frozen=True, slots=True)
class Type:
    """`name` as CEL prints it; `of` are the types inside a list or map; `fields` those of an object, by their escaped names."""

    name: str
    of: tuple[Type, ...] = ()
    fields: Mapping[str, Type] | None = None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name


BOOL, INT, UINT, DOUBLE, STRING = Type("bool"), Type("int"), Type("uint"), Type("double"), Type("string")
BYTES, NULL, DYN = Type("bytes"), Type("null_type"), Type("dyn")
TIMESTAMP, DURATION = Type("google.protobuf.Timestamp"), Type("google.protobuf.Duration")
LITERALS = {each.name: each for each in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL)}
_PLAIN = {"boolean": BOOL, "integer": INT, "number": DOUBLE, "string": STRING}
_FORMATS = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_METADATA = Type("object", fields={"name": STRING, "generateName": STRING})


_SIGNS = {".": "__dot__", "-": "__dash__", "/": "__slash__"}
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"}
    | {"package", "namespace", "return", "var", "void", "while"}
)


def escaped_name(name: str) -> str:
    """A member's name as rules write it: reserved words and signs escaped."""
    if name in _RESERVED:
        return f"__{name}__"
    escaped = name.replace("__", "__underscores__")
    for sign, escape in _SIGNS.items():
        escaped = escaped.replace(sign, escape)
    return escaped


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def type_of(schema: Obj, *, root: bool = False) -> Type | None:
    """None for what rules cannot see: values of which the schema says nothing."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("nullable"):
        return DYN
    kind = schema.get("type")
    if kind == "array":
        item = type_of(schema.get("items") or {})
        return list_of(item) if item else None
    if kind == "string":
        return _FORMATS.get(schema.get("format", ""), STRING)
    if kind != "object":
        return _PLAIN.get(str(kind))
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        value = type_of(extra)
        return map_of(STRING, value) if value else None
    fields = {escaped_name(name): found for name, child in (schema.get("properties") or {}).items() if (found := type_of(child))}
    if root or schema.get("x-kubernetes-embedded-resource"):
        fields |= {"apiVersion": STRING, "kind": STRING, "metadata": _METADATA}
    return Type("object", fields=fields) if fields or not schema.get("x-kubernetes-preserve-unknown-fields") else None
