"""Whatever a user writes: decoding and validation answer, and what is good goes round."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode, decode_cluster
from rayfleet.api.load import DECLARATIONS, unknown_fields
from rayfleet.api.model import Node, model_of
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.validation import validate_cluster
from tests.api.manifests import encoded

TEXT = st.text("ab-._/ 1Z", max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e9, 1e9) | TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2), max_leaves=5)
CONTAINER = st.fixed_dictionaries(
    {}, optional={"name": TEXT | JSON, "env": st.lists(st.fixed_dictionaries({"name": TEXT})) | JSON, "resources": JSON}
)
TEMPLATE = st.fixed_dictionaries({"spec": st.fixed_dictionaries({"containers": st.lists(CONTAINER, max_size=2)})})
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "integer": st.integers(-3, 2**31),
    "number": st.floats(0, 10) | st.integers(0, 3),
    "boolean": st.booleans(),
    "int-or-string": TEXT | st.integers(0, 9),
    "opaque": TEMPLATE | st.dictionaries(TEXT, JSON, max_size=2),
}


def documents(node: Node) -> st.SearchStrategy[Any]:
    """JSON that fits a declaration: any subset of its fields, and sometimes a null or a field that nobody knows."""
    if node.form == "object":
        fields = {name: documents(field.node) | st.none() for name, field in node.fields.items()}
        return st.builds(
            lambda known, strange: strange | known, st.fixed_dictionaries({}, optional=fields), st.just({}) | st.just({"xyzzy": 1})
        )
    if node.form == "map" and node.item:
        return st.dictionaries(TEXT, documents(node.item), max_size=2)
    if node.form == "list" and node.item:
        return st.lists(documents(node.item), max_size=2)
    return st.sampled_from(node.extra["enum"]) | PLAIN["string"] if "enum" in node.extra else PLAIN[node.form]


CLUSTERS = documents(model_of(RayCluster))


@given(CLUSTERS)
@settings(max_examples=150, deadline=None)
def test_what_fits_is_decoded_and_goes_round(document: dict[str, Any]) -> None:
    whole = decode_cluster(encoded(document))
    assert isinstance(whole, RayCluster), whole
    assert decode_cluster(msgspec.json.encode(whole)) == whole


@given(CLUSTERS)
@settings(max_examples=150, deadline=None)
def test_validation_never_raises_and_says_the_same_twice(document: dict[str, Any]) -> None:
    whole = decode_cluster(encoded(document))
    found = validate_cluster(whole, Configuration())
    assert found == validate_cluster(whole, Configuration())
    assert len(found) == len(set(found)) and all(str(fault) for fault in found)


@given(st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), JSON))
@settings(max_examples=200, deadline=None)
def test_any_json_gets_an_answer(document: dict[str, Any]) -> None:
    for cls in DECLARATIONS.values():
        found = decode(encoded(document), cls)
        assert not isinstance(found, Undecodable) or found.faults


@given(CLUSTERS)
@settings(max_examples=50, deadline=None)
def test_only_what_is_unknown_is_called_so(document: dict[str, Any]) -> None:
    found = unknown_fields(encoded({**document, "apiVersion": "ray.io/v1", "kind": "RayCluster"}))
    assert {each.path.rpartition(".")[2] for each in found} <= {"xyzzy"}
