"""The examples that we ship: every object of ours in them is known to the last field, accepted, and without fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rayfleet.api.config import Configuration
from rayfleet.api.load import load, unknown_fields
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.validation import validate_cluster
from tests.api.manifests import encoded
from tests.api.test_acceptance import errors

LOCAL = Configuration(feature_gates={"GCSFaultToleranceEmbeddedStorage": True})  # as `rayfleet up` has it
EXAMPLES = Path(__file__).parents[2] / "examples"
OBJECTS = [
    pytest.param(document, id=f"{path.stem}-{index}")
    for path in sorted(EXAMPLES.glob("**/*.yaml"))
    for index, document in enumerate(yaml.safe_load_all(path.read_text()))
    if path.parent.name != "legacy" and document and document["apiVersion"].startswith("ray.io/")
]


@pytest.mark.parametrize("document", OBJECTS)
def test_an_example_is_good(document: dict[str, Any]) -> None:
    assert unknown_fields(encoded(document)) == () and errors(document) == []
    whole = load(encoded(document))
    assert not isinstance(whole, RayCluster) or validate_cluster(whole, LOCAL) == ()
