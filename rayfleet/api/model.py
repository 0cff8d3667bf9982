"""The declarations as a tree that programs can walk: the CRDs, the checks of types and the search for unknown fields all come from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import inspect

from rayfleet.api.meta import Condition, ObjectMeta

Form = Literal["object", "map", "list", "string", "integer", "number", "boolean", "int-or-string", "opaque"]
FORMS: Mapping[type, Form] = MappingProxyType(
    {
        inspect.StrType: "string",
        inspect.IntType: "integer",
        inspect.FloatType: "number",
        inspect.BoolType: "boolean",
        inspect.RawType: "opaque",
        inspect.AnyType: "opaque",
    }
)
NONE: Mapping[str, Any] = MappingProxyType({})


class Node(msgspec.Struct, frozen=True):
    """One place in a document. `item` is what a map or a list holds; `extra` what `schema(...)` said; `cls` the Struct of an object."""

    form: Form
    fields: Mapping[str, Field] = NONE
    item: Node | None = None
    nullable: bool = False
    extra: Mapping[str, Any] = NONE
    cls: type | None = None


class Field(msgspec.Struct, frozen=True):
    """A field of an object: its name in JSON and in Python, and Python's default."""

    name: str
    attribute: str
    node: Node
    default: Any


@cache
def model_of(cls: type) -> Node:
    """The tree below a Struct. Raises TypeError for a type that has no place in the API."""
    return node_of(inspect.type_info(cls))


def node_of(info: inspect.Type) -> Node:
    if isinstance(info, inspect.Metadata):
        inner = node_of(info.type)
        return Node(inner.form, inner.fields, inner.item, inner.nullable, {**inner.extra, **(info.extra or {})}, inner.cls)
    if isinstance(info, inspect.UnionType):
        return union_of(info.types)
    if isinstance(info, inspect.StructType):
        fields = {field.encode_name: Field(field.encode_name, field.name, node_of(field.type), default_of(field)) for field in info.fields}
        return Node("object", fields, cls=info.cls)
    if isinstance(info, inspect.DictType):
        return Node("map", item=node_of(info.value_type))
    if isinstance(info, inspect.VarTupleType):
        return Node("list", item=node_of(info.item_type))
    form = FORMS.get(type(info))
    if form is None:
        raise TypeError(f"{info} has no place in the API")
    return Node(form)


def union_of(types: tuple[inspect.Type, ...]) -> Node:
    """`X | None` is a nullable X; the one other union is an integer or a string."""
    rest = [node_of(each) for each in types if not isinstance(each, inspect.NoneType)]
    nullable = len(rest) < len(types)
    if len(rest) == 1:
        node = rest[0]
        return Node(node.form, node.fields, node.item, nullable, node.extra, node.cls)
    if {node.form for node in rest} == {"string", "integer"}:
        return Node("int-or-string", nullable=nullable)
    raise TypeError(f"a union of {', '.join(node.form for node in rest)} has no place in the API")


def default_of(field: inspect.Field) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else None


def is_metadata(node: Node) -> bool:
    """Does the node stand for Kubernetes' own metadata, of which only a part is typed here?"""
    return node.cls is ObjectMeta


def is_condition(node: Node) -> bool:
    return node.cls is Condition


def join(path: str, name: str) -> str:
    """A field's path: `spec` + `rayVersion`; names that hold a dot or a slash stand in brackets, as kubectl writes them."""
    if any(character in name for character in "./["):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name
