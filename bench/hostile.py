"""The largest and oddest bodies that the embedded API takes: what each costs, and how long another client's GET waits meanwhile.

usage: python -m bench hostile
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.apiserver import Line, Server
from bench.figure import show

MANY, WIDE = 60_000, 200_000
LIMIT = 3 * 1024 * 1024
CORE, BOATS = "/api/v1/namespaces/default", "/apis/sea.example/v1/namespaces/default/boats"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON, YAML, MERGE = "application/json", "application/yaml", "application/merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
PAUSE = 0.005
WAIT = 0.2
"""seconds that another one may wait"""


class Sent(NamedTuple):
    name: str
    method: str
    path: str
    body: bytes
    media: str = JSON


def text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def filled(head: str, unit: str, tail: str) -> bytes:
    """As many units as fit."""
    count = (LIMIT - len(head) - len(tail)) // (len(unit) + 1)
    return (head + ",".join([unit] * count) + tail).encode()


def definition(plural: str, kind: str, spec: Any) -> bytes:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    whole = {"group": "sea.example", "names": names, "scope": "Namespaced", "versions": [version]}
    meta = {"name": f"{plural}.sea.example"}
    return text({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": whole})


def boats() -> bytes:
    members = {"name": {"type": "string", "maxLength": 30}, "rank": {"type": "string", "default": "sailor"}}
    item = {"type": "object", "required": ["name"], "properties": members}
    ruled = {"type": "array", "maxItems": 100_000, "items": {**item, "x-kubernetes-validations": [{"rule": "self.name != ''"}]}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    numbers = {"type": "array", "items": {"type": "integer"}}
    lists = {"type": "array", "items": item}
    return definition("boats", "Boat", {"properties": {"lists": lists, "keyed": keyed, "ruled": ruled, "numbers": numbers, "loose": loose}})


def boat(name: str, spec: Any) -> bytes:
    return text({"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec})


def full_boat(name: str, head: str, unit: str, tail: str) -> bytes:
    start = f'{{"apiVersion":"sea.example/v1","kind":"Boat","metadata":{{"name":"{name}"}},"spec":'
    return filled(start + head, unit, tail + "}")


def core() -> Iterator[Sent]:
    containers = [{"name": f"n{number}", "image": "i"} for number in range(MANY)]
    mapped, odd = {f"k{number}": "" for number in range(WIDE)}, {f"!{number}": "" for number in range(WIDE)}
    ports = [{"port": number, "name": f"n{number}"} for number in range(1, MANY)]
    maps = f"{CORE}/configmaps"
    yield Sent("a Pod of 60,000 containers", "POST", f"{CORE}/pods", text({"metadata": {"name": "a"}, "spec": {"containers": containers}}))
    empty = filled('{"metadata":{"name":"b"},"spec":{"containers":[', "{}", "]}}")
    yield Sent("a Pod of 1,000,000 empty containers", "POST", f"{CORE}/pods", empty)
    yield Sent("a ConfigMap of 200,000 keys", "POST", maps, text({"metadata": {"name": "a"}, "data": mapped}))
    yield Sent("another 200,000 by a merge patch", "PATCH", f"{maps}/a", text({"binaryData": mapped}), MERGE)
    yield Sent("one label more on it", "PATCH", f"{maps}/a", b'{"metadata":{"labels":{"a":"b"}}}', MERGE)
    yield Sent("a ConfigMap of 200,000 odd keys", "POST", maps, text({"metadata": {"name": "b"}, "data": odd}))
    yield Sent("200,000 labels", "POST", maps, text({"metadata": {"name": "c", "labels": mapped}}))
    yield Sent("200,000 unknown fields", "POST", maps, text({"metadata": {"name": "d"}, **mapped}))
    yield Sent("members given twice", "POST", maps, filled('{"metadata":{"name":"e"},"data":{', '"a":"","b":""', "}}"))
    yield Sent("a Service of 60,000 ports", "POST", f"{CORE}/services", text({"metadata": {"name": "a"}, "spec": {"ports": ports}}))
    steps = [{"op": "add", "path": f"/data/n{number}", "value": "x" * 200} for number in range(10_000)]
    yield Sent("a JSON patch of 10,000 steps", "PATCH", f"{maps}/c", text(steps), JSON_PATCH)


def custom() -> Iterator[Sent]:
    crew = [{"name": f"n{number}", "rank": "x" * 20} for number in range(MANY)]
    yield Sent("a list of 60,000 objects", "POST", BOATS, boat("lists", {"lists": crew}))
    yield Sent("the same, with a rule for each", "POST", BOATS, boat("ruled", {"ruled": crew}))
    yield Sent("the same, all without a name", "POST", BOATS, boat("nameless", {"lists": [{"rank": "x" * 20}] * MANY}))
    yield Sent("200,000 times the same key", "POST", BOATS, full_boat("same", '{"keyed":[', '{"name":""}', "]}"))
    yield Sent("1,500,000 numbers", "POST", BOATS, full_boat("numbers", '{"numbers":[', "0", "]}"))
    yield Sent("1,000,000 mistyped numbers", "POST", BOATS, full_boat("mistyped", '{"numbers":[', '""', "]}"))
    yield Sent("1,000,000 empty objects", "POST", BOATS, full_boat("empty", '{"loose":{"a":[', "{}", "]}}"))
    yield Sent(
        "the same, and a number of 20 digits", "POST", BOATS, full_boat("digits", '{"loose":{"b":99999999999999999999,"a":[', "{}", "]}}")
    )
    properties = {f"p{number}": {"type": "string", "default": "x"} for number in range(40_000)}
    yield Sent("a definition of 40,000 properties", "POST", DEFINITIONS, definition("ships", "Ship", {"properties": properties}))
    rules = {"x-kubernetes-validations": [{"rule": f"self.p{number} != ''"} for number in range(20_000)]}
    few = {"properties": {f"p{number}": {"type": "string"} for number in range(20_000)}}
    yield Sent("a definition of 20,000 rules", "POST", DEFINITIONS, definition("sails", "Sail", few | rules))


def applied() -> Iterator[Sent]:
    crew, other = ([{"name": f"n{number}", "rank": rank} for number in range(MANY)] for rank in ("x", "y"))
    mine, yours = f"{BOATS}/applied?fieldManager=me", f"{BOATS}/applied?fieldManager=you"
    yield Sent("applied: 60,000 elements", "PATCH", mine, boat("applied", {"keyed": crew}), APPLY)
    yield Sent("applied by another, in conflict", "PATCH", yours, boat("applied", {"keyed": other}), APPLY)
    yield Sent("applied by another, with force", "PATCH", f"{yours}&force=true", boat("applied", {"keyed": other}), APPLY)
    yield Sent("all that is taken away again", "PATCH", f"{yours}&force=true", boat("applied", {"keyed": []}), APPLY)


def yaml() -> Iterator[Sent]:
    maps = f"{CORE}/configmaps"
    head = b"apiVersion: sea.example/v1\nkind: Boat\nmetadata: {name: yaml}\nspec:\n  lists:\n"
    yield Sent("YAML of 60,000 objects", "POST", BOATS, head + b"".join(b"  - name: n%d\n" % number for number in range(MANY)), YAML)
    merges = b"a: &a {x: 1}\nb:\n" + b"".join(b"- {<<: *a, y: %d}\n" % number for number in range(100_000))
    yield Sent("YAML of 100,000 merge keys", "POST", maps, merges, YAML)
    wide = b"a: &a {" + b",".join(b"k%d: 1" % number for number in range(1000)) + b"}\nb:\n" + b"- {<<: *a}\n" * 100_000
    yield Sent("YAML that merges 1,000 keys 100,000 times", "POST", maps, wide, YAML)
    twice = b"".join(b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (step, step, step - 1, step - 1) for step in range(1, 40))
    yield Sent("YAML that merges itself 2^39 times", "POST", maps, b"a0: &a0 {x: 1}\n" + twice, YAML)
    yield Sent("YAML of 1,500,000 numbers", "POST", maps, filled("a: [", "0", "]"), YAML)


async def ask(line: Line, waits: list[float]) -> None:
    while True:
        began = time.monotonic()
        line.send("GET", "/api/v1/namespaces/default")
        code, _ = await line.answer()
        assert code == 200, code
        waits.append(time.monotonic() - began)
        await asyncio.sleep(PAUSE)


async def one(port: int, sent: Sent) -> tuple[int, float, float]:
    """Status code, seconds it took, the longest wait of another meanwhile."""
    line, other = await Line.open(port), await Line.open(port)
    waits: list[float] = []
    asking = asyncio.create_task(ask(other, waits))
    began = time.monotonic()
    line.send(sent.method, sent.path, sent.body, sent.media)
    code, _ = await line.answer()
    took = time.monotonic() - began
    # What comes after the answer counts as well.
    await asyncio.sleep(0.5)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    return code, took, max(waits)


async def all_of(port: int) -> None:
    assert (await one(port, Sent("", "POST", DEFINITIONS, boats())))[0] == 201
    for sent in (*core(), *custom(), *applied(), *yaml()):
        code, took, waited = await one(port, sent)
        show(f"{sent.name} ({code}, {took:.1f} s): another waits", waited, WAIT, "s")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        server = Server(Path(directory))
        try:
            asyncio.run(all_of(server.port))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
