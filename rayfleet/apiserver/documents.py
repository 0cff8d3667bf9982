"""YAML as Kubernetes reads it (sigs.k8s.io/yaml): the first document, of which every key is a string and no scalar a time."""

from __future__ import annotations

from functools import cache
from typing import Any


def loaded(body: bytes) -> Any:
    """Raises yaml.YAMLError and ValueError for what is none."""
    loader = _loader()(body)
    try:
        return loader.get_data() if loader.check_data() else None
    finally:
        loader.dispose()


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            if isinstance(node, yaml.MappingNode):
                self.flatten_mapping(node)
            return {_key(self.construct_object(key, deep=True)): self.construct_object(value, deep=deep) for key, value in node.value}

        def construct_text(self, node: Any) -> Any:
            return self.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else self.construct_undefined(node)

        def construct_bytes(self, node: Any) -> str:
            return str(self.construct_yaml_binary(node), "utf-8")

        def construct_number(self, node: Any) -> Any:
            # 1:30 is ninety in YAML 1.1 only.
            if ":" in node.value:
                return node.value
            return self.construct_yaml_int(node) if node.tag.endswith("int") else self.construct_yaml_float(node)

    for kind, construct in (
        ("timestamp", Loader.construct_text),
        ("binary", Loader.construct_bytes),
        ("set", base.construct_yaml_map),
        ("int", Loader.construct_number),
        ("float", Loader.construct_number),
    ):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", construct)
    Loader.add_multi_constructor("!", lambda loader, tag, node: loader.construct_text(node))
    return Loader


def _key(key: Any) -> str:
    """As Go writes it."""
    if isinstance(key, bool):
        return str(key).lower()
    if key is None or not isinstance(key, (str, int, float)):
        raise ValueError(f"yaml: invalid map key: {key!r}")
    return str(key)
