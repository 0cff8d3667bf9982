"""YAML and JSON files into objects, with the place of every mistake. Every document is kept, whatever its kind."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from rayfleet.ray.documents import Loader

SUFFIXES = (".yaml", ".yml", ".json")
# What a live export carries and nobody may send back.
LIVE_METADATA = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp")


class BadManifest(click.ClickException):
    """A file that cannot be used; the text begins with file and line."""

    exit_code = 1


@dataclass(frozen=True)
class Manifest:
    """One object of a file, and where it stands."""

    body: dict[str, Any]
    place: str

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"].get("name", ""))

    def sendable(self) -> dict[str, Any]:
        """Without what only a server writes, so that `get -o yaml` can be applied again."""
        body = {key: value for key, value in self.body.items() if key != "status"}
        return body | {"metadata": {key: value for key, value in body["metadata"].items() if key not in LIVE_METADATA}}


def load_manifests(files: Iterable[str]) -> list[Manifest]:
    """Every object of the files (directories: of each YAML and JSON file in them), in order. Raises BadManifest."""
    return [manifest for file in files for path in expand(file) for manifest in load_file(path)]


def expand(file: str) -> list[str]:
    if file != "-" and Path(file).is_dir():
        found = sorted(str(path) for path in Path(file).iterdir() if path.suffix in SUFFIXES)
        if not found:
            raise BadManifest(f"{file}: a directory without any {', '.join(SUFFIXES)} file")
        return found
    return [file]


def load_file(file: str) -> list[Manifest]:
    return [manifest for place, document in documents_of(file) for manifest in objects(document, place)]


def parse(text: bytes, name: str) -> list[Manifest]:
    """The objects of one text. Raises BadManifest for broken YAML, a key given twice, or what is no object."""
    return [manifest for place, document in documents(text, name) for manifest in objects(document, place)]


def read_documents(files: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping of the files with its place, whatever it is; those of a List one by one. Raises BadManifest."""
    for path in (path for file in files for path in expand(file)):
        for place, document in documents_of(path):
            for each in members(document):
                if not isinstance(each, dict):
                    raise BadManifest(f"{place}: no mapping but {plain_type(each)}")
                yield place, each


def documents_of(file: str) -> list[tuple[str, Any]]:
    name = "standard input" if file == "-" else file
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise BadManifest(f"{name}: {error.strerror or error}") from error
    return documents(text, name)


def documents(text: bytes, name: str) -> list[tuple[str, Any]]:
    """The documents of one text, each with its place. Raises BadManifest."""
    loader = Loader(text)
    found: list[tuple[str, Any]] = []
    try:
        while loader.check_node():
            node = loader.get_node()
            found.append((f"{name}:{node.start_mark.line + 1}", loader.construct_document(node)))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadManifest(f"{name}{line}: {error.problem or error.context}{hint(error)}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadManifest(f"{name}: {error}") from error
    finally:
        loader.dispose()
    return found


def members(document: Any) -> list[Any]:
    """What a List holds, else the document itself; nothing of an empty one."""
    if document is None:
        return []
    if isinstance(document, dict) and isinstance(document.get("items"), list) and str(document.get("kind", "")).endswith("List"):
        return [each for item in document["items"] for each in members(item)]
    return [document]


def hint(error: yaml.MarkedYAMLError) -> str:
    # The one cause that cannot be seen; libyaml does not name the character.
    return "; is it a tab? YAML is indented with spaces" if "cannot start any token" in (error.problem or "") else ""


def objects(document: Any, place: str) -> list[Manifest]:
    """A document is nothing, an object, or a List of objects."""
    return [checked(each, place) for each in members(document)]


def checked(document: Any, place: str) -> Manifest:
    if not isinstance(document, dict):
        raise BadManifest(f"{place}: no Kubernetes object but {plain_type(document)}; one is a mapping with apiVersion, kind and metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str) or not document[field]:
            raise BadManifest(f"{place}: {field} is missing; write for example `{EXAMPLES[field]}`")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise BadManifest(f"{place}: {document['kind']} has no metadata.name")
    return Manifest(document, place)


EXAMPLES = {"apiVersion": "apiVersion: ray.io/v1", "kind": "kind: RayCluster"}


def plain_type(value: Any) -> str:
    return {str: "a text", list: "a list", int: "a number", float: "a number", bool: "true or false"}.get(type(value), "something else")
