"""The vocabulary in which a field of a `ray.io` kind is declared: its type is Python's, and what a CRD adds to a type stands beside it.

    max_replicas: Annotated[Int32, schema(required=True, default=True)] = 2147483647

Nothing here limits what is *decoded*: a value that the schema would refuse still reaches `rayfleet.api.validation`, which
names all faults at once and in words.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec


class Rule(NamedTuple):
    """A CEL rule of `x-kubernetes-validations`."""

    rule: str
    message: str


def schema(**keywords: Any) -> msgspec.Meta:
    """What a CRD says of a field beyond its type.

    `default=True`: the field's Python default is the CRD's default too. `required=True`: must be there, as the API server sees it
    (after defaults). `nullable`, `enum`, `minimum`, `maximum`, `min_length`, `min_items`, `format`, `pattern`: as in OpenAPI.
    `int_or_string`, `rules` (a tuple of `Rule`), `map_key` (the list is a map by that key), `list_type`:
    as the `x-kubernetes-` fields mean them.
    """
    unknown = keywords.keys() - KEYWORDS
    if unknown:
        raise TypeError(f"schema() knows no {', '.join(sorted(unknown))}")
    return msgspec.Meta(extra=keywords)


KEYWORDS = frozenset(
    {
        "default",
        "enum",
        "format",
        "int_or_string",
        "list_type",
        "map_key",
        "maximum",
        "min_items",
        "min_length",
        "minimum",
        "nullable",
        "pattern",
        "required",
        "rules",
    }
)

# The form of a Kubernetes quantity: a decimal number with a binary, a decimal or an exponent suffix.
_NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
QUANTITY_PATTERN = rf"^[+-]?{_NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][+-]?{_NUMBER})?$"

Int32 = Annotated[int, schema(format="int32")]
Int64 = Annotated[int, schema(format="int64")]
Time = Annotated[str, schema(format="date-time")]
Quantity = Annotated[str | int, schema(int_or_string=True, pattern=QUANTITY_PATTERN)]
# An object of Kubernetes' own API (Pod template, Service, EnvVar ...): passed on as it came, so that newer fields survive.
Opaque = msgspec.Raw
ABSENT = msgspec.Raw()


class Declared(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """Base of every declared object. Unknown fields are tolerated; a missing one has its default."""
