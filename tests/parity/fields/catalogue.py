"""Every field of a RayCluster's spec and status, and where the code acts on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rayfleet.api.model import Node, model_of
from rayfleet.api.raycluster import RayCluster

ROOT = Path(__file__).resolve().parents[3]
SOURCES = (
    "rayfleet/resources",
    "rayfleet/raycluster",
    "rayfleet/autoscaling",
    "rayfleet/api/validation",
    "rayfleet/api/crds.py",
    "rayfleet/api/scaler.py",
    "rayfleet/cli",
)
ELSEWHERE = {
    "status.reason": "never written: conditions have reasons; what another operator left there is taken back",
}


@dataclass(frozen=True)
class FieldOfApi:
    """`keys` is the way to it in JSON (through all items of lists), `attribute` its name in Python, `owner` the Struct that has it."""

    keys: tuple[str, ...]
    attribute: str
    owner: str
    parent: str

    @property
    def path(self) -> str:
        return ".".join(self.keys)


@cache
def catalogue() -> tuple[FieldOfApi, ...]:
    """Those of the spec, then those of the status; what a condition consists of is Kubernetes' own."""
    parts = model_of(RayCluster).fields
    return tuple(field for part in ("spec", "status") for field in below(parts[part].node, (part,), ""))


def below(node: Node, keys: tuple[str, ...], parent: str) -> Iterator[FieldOfApi]:
    for name, field in node.fields.items():
        yield FieldOfApi((*keys, name), field.attribute, node.cls.__name__ if node.cls else "", parent)
        inner = field.node
        while inner.item is not None:
            inner = inner.item
        if inner.fields and name != "conditions":
            yield from below(inner, (*keys, name), field.attribute)


def acts_in(field: FieldOfApi) -> list[str]:
    """Files that read the field: those with an access to its name that know the object it is part of, too."""
    found = []
    for path, (accessed, words, texts) in sources().items():
        if field.keys[0] == "status":
            if field.keys[1] in texts and path.startswith("rayfleet/raycluster/"):
                found.append(path)
        elif field.attribute in accessed and (not field.parent or {field.parent, field.owner} & words):
            found.append(path)
    return found


@cache
def sources() -> dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """By file: attributes that are accessed, all names, all texts."""
    files = [file for place in SOURCES for file in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).glob("*.py")))]
    return {str(file.relative_to(ROOT)): names(ast.parse(file.read_text())) for file in files}


def names(tree: ast.AST) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    nodes = list(ast.walk(tree))
    accessed = frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))
    plain = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    texts = frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return accessed, accessed | plain, texts
