"""Manifests of KubeRay's `ray.io/v1alpha1`: the same kinds, of which some fields have another form today, and some went on to nowhere."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.api.legacy.alpha_serve import serve_config
from rayfleet.api.legacy.note import Converted, Inconvertible, Note, Obj
from rayfleet.api.load import DECLARATIONS, unknown_fields

OLD = "ray.io/v1alpha1"
HARMLESS = ("replicas",)
"""Of the head: there is one."""
ADVICE = {
    "runtimeEnv": "write spec.runtimeEnvYAML",
    "serveConfig": "write spec.serveConfigV2, with an application of that import path",
    "serveConfigs": "write spec.serveConfigV2, with an application of that import path",
    "serveDeploymentGraphSpec": "write spec.serveConfigV2, with an application of that import path",
    "enableInTreeAutoscaling": "it stands at the top of the cluster's spec",
}


def convert_alpha(document: Obj) -> Converted:
    """Raises Inconvertible."""
    kind = document.get("kind")
    if kind not in DECLARATIONS:
        raise Inconvertible(f"{OLD} has no kind {kind} that could be converted")
    body = {**document, "apiVersion": "ray.io/v1"}
    body.pop("status", None)
    body, notes = in_todays_words(body)
    for unknown in unknown_fields(msgspec.json.encode(body)):
        harmless = unknown.path.endswith(tuple(f"headGroupSpec.{name}" for name in HARMLESS))
        name = unknown.path.rpartition(".")[2]
        body = without(body, list(steps(unknown.path)))
        said = "there is one head" if harmless else "ray.io/v1 has no such field"
        advice = "" if harmless else ADVICE.get(name, f"perhaps {unknown.meant} is meant" if unknown.meant else "")
        notes.append(Note(unknown.path, said, advice, lost=not harmless))
    return Converted((body,), tuple(notes))


def in_todays_words(body: Obj) -> tuple[Obj, list[Note]]:
    """With the fields that have another form today. Both forms at once were refused then: the newer one counts."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return body, []
    if body["kind"] == "RayJob" and isinstance(spec.get("runtimeEnv"), str):
        return replaced(body, "runtimeEnv", "runtimeEnvYAML", *runtime_env(spec["runtimeEnv"]))
    if body["kind"] == "RayService" and isinstance(spec.get("serveConfig"), dict):
        return replaced(body, "serveConfig", "serveConfigV2", *serve_config(spec["serveConfig"]))
    return body, []


def replaced(body: Obj, old: str, new: str, text: str, notes: tuple[Note, ...]) -> tuple[Obj, list[Note]]:
    spec = body["spec"]
    if spec.get(new):
        text, notes = spec[new], (Note(f"spec.{old}", f"spec.{new} is given too, and counts", lost=True),)
    said = {new if name == old else name: text if name == old else value for name, value in spec.items() if name != new}
    return {**body, "spec": said}, list(notes)


def runtime_env(encoded: str) -> tuple[str, tuple[Note, ...]]:
    """JSON in base64, as the YAML that it is as well."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
        msgspec.json.decode(text)
    except (binascii.Error, UnicodeDecodeError, msgspec.DecodeError) as error:
        return "", (Note("spec.runtimeEnv", f"it is no JSON in base64: {error}", ADVICE["runtimeEnv"], lost=True),)
    return text, ()


def steps(path: str) -> Iterator[str | int]:
    """`spec.workerGroupSpecs[0].x` -> spec, workerGroupSpecs, 0, x."""
    for part in path.split("."):
        name, _, rest = part.partition("[")
        yield name
        yield from (int(index) for index in rest.rstrip("]").split("][") if rest)


def without(value: Any, way: list[str | int]) -> Any:
    """A copy that lacks what is at the end of the way."""
    first, rest = way[0], way[1:]
    if isinstance(value, list) and isinstance(first, int):
        return [without(each, rest) if index == first else each for index, each in enumerate(value)]
    if not isinstance(value, dict) or first not in value:
        return value
    if not rest:
        return {name: part for name, part in value.items() if name != first}
    return {name: without(part, rest) if name == first else part for name, part in value.items()}
