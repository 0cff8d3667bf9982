"""The moments at which another operator may take a recorded cluster over: after each step, with all that stood there then.

standing/    one file for each case: the children of each step as the API server stored them, and the status of the cluster
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rayfleet.apiserver.patch import edited, merged
from tests.parity.canonical import Json
from tests.parity.recording import recording
from tests.parity.stage import slot
from tests.parity.steps import table

DIRECTORY = Path(__file__).with_name("standing")
TIME = "2026-01-01T00:00:00Z"
SECRET = base64.b64encode(b"not a secret").decode()
ADDRESS = "192.0.2.9"  # in place of an address that is not known; from the range that is never in use (RFC 5737)


@dataclass(frozen=True)
class Moment:
    """`cluster` is the manifest with what steps have made of it, and with its status; `others` stand beside it; `children` hang below."""

    case: str
    step: int
    configuration: str
    others: list[Json]
    cluster: Json
    children: list[Json]

    @property
    def namespace(self) -> str:
        return f"at-{self.case}-{self.step}"


def moments() -> list[Moment]:
    return [moment for name in sorted(path.stem for path in DIRECTORY.glob("*.json")) for moment in moments_of(name)]


@cache
def moments_of(name: str) -> tuple[Moment, ...]:
    return tuple(told(name))


def told(name: str) -> Iterator[Moment]:
    found = json.loads((DIRECTORY / f"{name}.json").read_text())
    case = recording(name)
    others, cluster = deepcopy(case.input[:-1]), deepcopy(case.input[-1])
    before: list[Json] = []
    for number, state in enumerate(found["steps"]):
        if number:
            step = table()[name][number - 1]
            others, cluster = after(step.deed, step.details, others, cluster, before)
        if state is None:
            continue
        children = [filled(found["objects"][place]) for place in state["children"]]
        metadata = {**cluster["metadata"], **{key: value for key, value in state["metadata"].items() if key != "generation"}}
        status = filled(state["status"] or {})
        current = status.get("observedGeneration") == state["metadata"]["generation"]
        status |= {"observedGeneration": 1 if current else 0} if status else {}
        yield Moment(name, number, case.configuration, others, {**cluster, "metadata": metadata, "status": status}, children)
        before = children


def after(deed: str, details: Any, others: list[Json], cluster: Json, children: list[Json]) -> tuple[list[Json], Json]:
    """What a step does to what the user applied; what it does to children is seen in them."""
    if deed == "patch":
        return others, edited(cluster, details)
    if deed == "merge":
        return others, merged(cluster, details)
    if deed == "raise quota":
        return [{**each, "spec": {"hard": details}} if each["kind"] == "ResourceQuota" else each for each in others], cluster
    if deed == "name workers":
        pods = [each for each in children if each["kind"] == "Pod" and each["metadata"]["labels"]["ray.io/node-type"] == "worker"]
        names = [pod["metadata"]["name"] for pod in sorted(pods, key=slot)]
        group = {
            "replicas": details["replicas"],
            "scaleStrategy": {"workersToDelete": [names[number - 1] for number in details["numbers"]]},
        }
        operations = [{"op": "add", "path": f"/spec/workerGroupSpecs/0/{name}", "value": value} for name, value in group.items()]
        return others, edited(cluster, operations)
    return others, cluster


def filled(obj: Json) -> Json:
    """With something in the place of what the recordings leave out, but for UIDs and addresses of Pods."""
    text = json.dumps(obj).replace("<time>", TIME).replace("<secret>", SECRET)
    text = re.sub(r"<rand(\d+)>", lambda found: f"r{int(found[1]):04d}", text)
    result: Json = json.loads(text)
    return result


def placed(obj: Json, moment: Moment, uid: str, addresses: Mapping[str, str]) -> Json:
    """As it is created in the moment's namespace. `addresses` are those of Pods, by node type."""
    text = (
        json.dumps(obj)
        .replace("<uid8>", uid[:8])
        .replace("<uid>", uid)
        .replace('"namespace": "demo"', f'"namespace": "{moment.namespace}"')
    )
    text = text.replace(".demo.svc", f".{moment.namespace}.svc").replace("<podip>", address_for(obj, addresses))
    body: Json = json.loads(text)
    spec = body.get("spec") or {}
    if body["kind"] == "Pod":
        spec.pop("nodeName", None)
    if body["kind"] == "Service":
        if spec.get("clusterIP") != "None":
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    return body


def address_for(obj: Json, addresses: Mapping[str, str]) -> str:
    """A certificate names the Pods of its side, everything else the head."""
    kind = "worker" if "worker" in obj["metadata"].get("name", "") and obj["kind"] == "Certificate" else "head"
    return addresses.get(kind, ADDRESS)
