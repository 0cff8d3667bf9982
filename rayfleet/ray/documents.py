"""YAML as Kubernetes reads it, for the texts that objects carry and for manifests."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import yaml


class Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """Safe YAML as Kubernetes reads it: a key given twice is a mistake, a date stays a text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    problem = f"the key {key.value!r} is given twice (first in line {seen[key.value]})"
                    raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
                seen[key.value] = line
        return dict(super().construct_mapping(node, deep))


def text_of(loader: Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


Loader.add_constructor("tag:yaml.org,2002:timestamp", text_of)
# YAML 1.1 reads 22:22 as 1342 and 1e3 as a text; Kubernetes reads a text and a number.
INT = re.compile(r"^[-+]?(?:0b[01_]+|0[0-7_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*)$")
FLOAT = re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$")
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] not in NUMBERS] for first, pairs in Loader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(NUMBERS[1], FLOAT, list("-+0123456789."))
Loader.add_implicit_resolver(NUMBERS[0], INT, list("-+0123456789"))


@lru_cache(maxsize=2048)
def read_document(text: str) -> Any:
    """The one document of a text, not to be changed. Raises ValueError with what is wrong and in which line."""
    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{line}{error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error
