"""What clients send that mean no good, or do not know better."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.conformance.case import APPLY, JSON_PATCH, case, get, patch, post
from tests.conformance.cases import manifests as m

MANY = 20_000
"""objects in one another: more than Go takes"""
BOMB = """apiVersion: v1
kind: ConfigMap
metadata: {name: bomb}
""" + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in pairwise("abcdefghij")).replace("*a", "x")


def nested(member: str, depth: int = MANY) -> bytes:
    kind = {"data": "v1 ConfigMap", "spec": "sea.example/v1 Boat"}[member].split()
    return (
        f'{{"apiVersion":"{kind[0]}","kind":"{kind[1]}","metadata":{{"name":"deep"}},"{member}":'.encode()
        + b'{"a":' * depth
        + b"1"
        + b"}" * depth
        + b"}"
    )


def copies(count: int) -> list[dict[str, Any]]:
    """Each doubles what there is."""
    return [{"op": "copy", "from": "/data", "path": "/data/x"}] * count


CASES = [
    case(
        "body-too-large",
        post(m.CONFIGMAPS, m.configmap("large", {"k": "x" * (3 << 20)})),
        patch(f"{m.CONFIGMAPS}/kube-root-ca.crt", {"data": {"k": "x" * (3 << 20)}}),
        get(f"{m.CONFIGMAPS}/large"),
    ),
    case("deep-json", post(m.CONFIGMAPS, nested("data")), post(m.BOATS, nested("spec")), get(f"{m.BOATS}/deep")),
    case("deep-patch", post(m.CONFIGMAPS, m.configmap("a")), patch(f"{m.CONFIGMAPS}/a", nested("data"))),
    case(
        "no-utf-8",
        post(m.CONFIGMAPS, b'{"metadata":{"name":"u"},"data":{"x":"\xff\xfe"}}'),
        get(f"{m.CONFIGMAPS}/u"),
        post(m.CONFIGMAPS, b'{"metadata":{"name":"half"},"data":{"x":"\\ud800"}}'),
        get(f"{m.CONFIGMAPS}/half"),
        post(m.CONFIGMAPS, b'{"metadata":{"name":"nothing"},"data":{"x":"\\u0000"}}'),
    ),
    case(
        "numbers-too-large",
        post(m.PODS, b'{"metadata":{"name":"n"},"spec":{"containers":[{"name":"a","image":"a"}],"priority":1' + b"0" * 30 + b"}}"),
        post(m.CONFIGMAPS, b'{"metadata":{"name":"n","generation":1e999}}'),
    ),
    case(
        "odd-names",
        *(get(f"{m.CONFIGMAPS}/{name}") for name in ("a%2Fb", "a%252Fb", "%2e%2e", "a%20b", "a%3Fb", "%C3%A9")),
        get("/api/v1/namespaces/..%2Fkube-system/configmaps"),
        get(f"{m.PODS}/..%2F..%2Fetc/log"),
        *(post(m.CONFIGMAPS, m.configmap(name)) for name in ("../x", "a/b", "..", "a%b", "é")),
        *(post(m.ROLES, {"metadata": {"name": name}, "rules": []}) for name in ("..", "a/b", "a%b")),
        post("/api/v1/namespaces", {"metadata": {"name": "../x"}}),
    ),
    case(
        "odd-queries",
        *(get(f"{m.CONFIGMAPS}?{query}") for query in ("limit=x", "limit=99999999999999999999", "timeoutSeconds=x")),
        *(get(f"{m.CONFIGMAPS}?resourceVersion={text}") for text in ("-1", "x", "99999999999999999999")),
        get(f"{m.CONFIGMAPS}?labelSelector={'a,' * 50}"),
    ),
    case("yaml-bomb", patch(f"{m.CONFIGMAPS}/bomb?fieldManager=x", BOMB.encode(), APPLY)),
    case(
        "patches-that-grow",
        post(m.CONFIGMAPS, m.configmap("grows", {"k": "v"})),
        patch(f"{m.CONFIGMAPS}/grows", copies(40), JSON_PATCH),
        patch(f"{m.CONFIGMAPS}/grows", copies(10_001), JSON_PATCH),
        get(f"{m.CONFIGMAPS}/grows"),
    ),
]
