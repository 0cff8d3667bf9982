"""YAML as Kubernetes reads it (sigs.k8s.io/yaml): the first document, of which every key is a string and no scalar a time."""

from __future__ import annotations

from functools import cache
from typing import Any

_MERGE, _EQUALS = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"
ALIAS_LIMIT = 1_000_000
"""values that a document may come to when what it names again is written out"""


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
        merged = 0

        def flatten_mapping(self, node: Any) -> None:
            """What `<<` names comes before what stands beside it, the first of it last. Raises ValueError for too much of it."""
            own, others = [], []
            for key, value in node.value:
                if key.tag == _MERGE:
                    others += reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]
                else:
                    if key.tag == _EQUALS:
                        key.tag = "tag:yaml.org,2002:str"
                    own.append((key, value))
            node.value = own
            for other in others:
                if not isinstance(other, yaml.MappingNode):
                    raise ValueError("yaml: map merge requires map or sequence of maps as the value")
                self.flatten_mapping(other)
                self.merged += len(other.value)
                if self.merged > ALIAS_LIMIT:
                    raise ValueError("yaml: document contains excessive aliasing")
            node.value = [pair for other in others for pair in other.value] + own

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
