"""What `runtimeEnvYAML` of a RayJob says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api.fault import Fault
from rayfleet.ray.documents import read_document

PATH = "spec.runtimeEnvYAML"


def runtime_env(text: str) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """The environment, {} for none, and what is wrong with the text. Never raises."""
    try:
        found = read_document(text) if text.strip() else {}
    except ValueError as error:
        return {}, (Fault(PATH, f"is no YAML: {error}"),)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        return ({}, ()) if found is None else ({}, (Fault(PATH, "is no mapping", "it must hold fields of Ray's runtime_env"),))
    return found, ()
