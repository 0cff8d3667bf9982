"""The API server's defaulting, as little of it as the tests need: nulls that are not nullable go, defaults come."""

from __future__ import annotations

from copy import deepcopy
from typing import Any


def defaulted(value: Any, schema: Any) -> Any:
    if isinstance(value, dict) and "properties" in schema:
        kept = {
            name: part
            for name, part in value.items()
            if part is not None or schema["properties"].get(name, {"nullable": True}).get("nullable")
        }
        for name, part in schema["properties"].items():
            if name not in kept and "default" in part:
                kept[name] = deepcopy(part["default"])
            if name in kept:
                kept[name] = defaulted(kept[name], part)
        return kept
    if isinstance(value, dict) and "additionalProperties" in schema:
        return {name: defaulted(part, schema["additionalProperties"]) for name, part in value.items()}
    if isinstance(value, list) and "items" in schema:
        return [defaulted(part, schema["items"]) for part in value]
    return value


def rules(value: Any, schema: Any, path: str = "") -> list[tuple[str, str, Any]]:
    """(path, CEL rule, self) for every place of the value that has a rule."""
    found = [(path, rule["rule"], value) for rule in schema.get("x-kubernetes-validations", ())]
    if isinstance(value, dict):
        for name, part in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner:
                found += rules(part, inner, f"{path}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, part in enumerate(value):
            found += rules(part, schema["items"], f"{path}[{index}]")
    return found
