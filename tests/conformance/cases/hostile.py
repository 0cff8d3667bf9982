"""What clients send that mean no good, or do not know better."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.conformance.case import APPLY, JSON_PATCH, case, get, patch, post
from tests.conformance.cases import manifests as m
from tests.conformance.definitions import OPEN, definition

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


def long_keys(count: int) -> dict[str, str]:
    return {f"k{number:0249}": "" for number in range(count)}


def copies(count: int) -> list[dict[str, Any]]:
    """Each doubles what there is."""
    return [{"op": "copy", "from": "/data", "path": "/data/x"}] * count


def asked(name: str, *changes: Any) -> Any:
    """A definition with something in it that is not what it should be: `changes` are (where, what)."""
    bodies = []
    for number, (where, what) in enumerate(changes):
        body = definition("land.example", f"odds{number}", "Odd", schema={"type": "object", "properties": {"spec": {**OPEN}}})
        place: Any = body["spec"] if where and where[0] in ("names", "scope", "group", "conversion") else body["spec"]["versions"][0]
        for step in where[:-1]:
            place = place.setdefault(step, {})
        place[where[-1]] = what
        bodies.append(post(f"{m.DEFINITIONS}?dryRun=All", body))
    return case(name, *bodies)


def ruled(rule: str) -> tuple[tuple[str, ...], Any]:
    field = {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": rule}]}
    return SCHEMA, {"type": "object", "properties": {"a": field}}


def column(path: str) -> tuple[tuple[str, ...], Any]:
    return ("additionalPrinterColumns",), [{"name": "a", "type": "string", "jsonPath": path}]


def mistyped(name: str, path: str, *fields: str, values: tuple[Any, ...] = (5, "x", [5], {"a": 5})) -> Any:
    """Each field of a kind with values that it cannot have."""
    bodies = []
    for field in fields:
        for value in values:
            body: Any = {"metadata": {"name": "mistyped"}}
            place = body
            for step in field.split(".")[:-1]:
                place = place.setdefault(step, {})
            place[field.split(".")[-1]] = value
            bodies.append(post(f"{path}?dryRun=All", body))
    return case(name, *bodies)


SCHEMA = ("schema", "openAPIV3Schema")
NETWORK = "/apis/networking.k8s.io/v1/namespaces/${ns}"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = (
    ".",
    ".spec[*]",
    ".spec..a",
    ".spec[1:2]",
    ".spec['a','b']",
    ".spec[?(@.a>1)]",
    ".a[",
    ".\\",
    ".spec.*",
    ".spec[-1]",
    ".a[99999999999999999999]",
    "spec",
)

CASES = [
    case(
        "body-too-large",
        post(m.CONFIGMAPS, m.configmap("large", {"k": "x" * (3 << 20)})),
        patch(f"{m.CONFIGMAPS}/kube-root-ca.crt", {"data": {"k": "x" * (3 << 20)}}),
        get(f"{m.CONFIGMAPS}/large"),
    ),
    case(
        "objects-too-large",
        post(m.CONFIGMAPS, m.configmap("values", {"k": "x" * ((1 << 20) + 1)})),
        post(m.CONFIGMAPS, m.configmap("keys", long_keys(7_000))),
        post(m.CONFIGMAPS, m.configmap("more", long_keys(11_000))),
        post(m.CONFIGMAPS, m.configmap("grows", long_keys(4_000)), unseen=True),
        patch(f"{m.CONFIGMAPS}/grows", {"data": long_keys(8_000)}),
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.name=keys"),
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
        post(m.BOATS, b'{"apiVersion":"sea.example/v1","kind":"Boat","metadata":{"name":"n"},"spec":{"length":1180591620717411303424}}'),
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
    case(
        "odd-yaml",
        *(
            post(m.CONFIGMAPS, text.encode(), media="application/yaml")
            for text in (
                "metadata: {name: y0}\ndata: {1: a, true: b, 1.5: c}",
                "metadata: {name: y1}\ndata: {a: 2026-01-01}",
                "metadata: {name: y2}\ndata: {a: !!binary aGk=}",
                "metadata: {name: y3}\ndata: {a: .nan}",
                "metadata: {name: y4}\ndata: !!set {a, b}",
                "metadata: {name: y5}\n---\nmetadata: {name: y6}\n",
                "metadata: {name: y7}\ndata: {a: yes, b: on, c: ~, d: 0o7}",
                "metadata: {name: y15}\ndata: {a: b, a: c}",
                "metadata: {name: y16}\na: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\nb:\n" + "- {<<: *a}\n" * 5000,
                "metadata: {name: y8, labels: {a: 1:30}}",
                "metadata: {name: y9}\ndata: {? [a] : b}",
                "metadata: &m {name: y11}\ndata: {<<: {b: c}, a: b}",
                "metadata: {name: y12}\ndata: {a: !odd b}",
                "metadata: {name: y13}\ndata: {a: \t}",
                "{metadata: {name: y14}, data: {a: 'b'}}",
                "--- # nothing\n",
            )
        ),
    ),
    case(
        "authorization-of-odd-bytes",
        get(m.PODS, headers={"Authorization": "Bearer \xff\xfe"}),
        get(m.PODS, headers={"Authorization": "Bearer"}),
    ),
    asked("columns-that-lead-nowhere", *map(column, PATHS)),
    asked(
        "definition-keywords",
        *(((*SCHEMA, "properties", "spec", name), -1) for name in ("maxLength", "maxItems", "minProperties", "multipleOf")),
        ((*SCHEMA, "properties", "spec", "unheard"), "of"),
        (("unheard",), "of"),
    ),
    asked(
        "rules-without-an-end",
        ruled("self == 'a'" + " || self == 'a'" * 8_000),
        ruled("(" * 300 + "true" + ")" * 300),
        ruled("!" * 300 + "true"),
        ruled("-" * 300 + "1 < 2"),
        ruled("[" * 50 + "]" * 50 + ".size() == 1"),
        ruled("self" + ".trim()" * 2_000 + " == 'a'"),
        ruled("1" + " + 1" * 2_000 + " > 0"),
        ruled("[" + "1," * 4_000 + "1].size() > 1"),
    ),
    asked(
        "definitions-mistyped",
        (("schema",), 1),
        (SCHEMA, 1),
        *(
            ((*SCHEMA, name), value)
            for name, value in (
                ("type", 1),
                ("properties", 1),
                ("properties", {"a": 1}),
                ("items", [1]),
                ("required", 1),
                ("required", [1]),
                ("enum", 1),
                ("pattern", 1),
                ("maximum", "x"),
                ("maxLength", "x"),
                ("format", 5),
                ("nullable", "x"),
                ("allOf", 5),
                ("allOf", [5]),
                ("not", 5),
                ("additionalProperties", 5),
                ("x-kubernetes-validations", 1),
                ("x-kubernetes-validations", [{"rule": 1}]),
                ("x-kubernetes-list-map-keys", 5),
                ("x-kubernetes-preserve-unknown-fields", "x"),
            )
        ),
        (("additionalPrinterColumns",), 1),
        (("additionalPrinterColumns",), [1]),
        (("subresources",), 1),
        (("subresources",), {"scale": 1}),
        (("subresources",), {"status": 1}),
        (("selectableFields",), [1]),
        (("selectableFields",), [{"jsonPath": "."}]),
        (("selectableFields",), [{"jsonPath": ".spec[*]"}]),
        (("names", "shortNames"), 5),
        (("names", "kind"), 5),
        (("conversion",), 5),
        (("scope",), 5),
    ),
    mistyped("roles-mistyped", m.ROLES, "rules"),
    mistyped("bindings-mistyped", m.BINDINGS, "subjects", "roleRef"),
    mistyped("endpoints-mistyped", f"{m.NS}/endpoints", "subsets"),
    mistyped("slices-mistyped", m.SLICES, "endpoints", "ports", "addressType"),
    mistyped(
        "ingresses-mistyped", f"{NETWORK}/ingresses", "spec", "spec.rules", "spec.tls", "spec.defaultBackend", "spec.ingressClassName"
    ),
    mistyped(
        "network-policies-mistyped",
        f"{NETWORK}/networkpolicies",
        "spec",
        "spec.podSelector",
        "spec.ingress",
        "spec.egress",
        "spec.policyTypes",
    ),
    mistyped("nodes-mistyped", "/api/v1/nodes", "spec", "spec.taints", "status", "status.capacity", "status.conditions"),
    mistyped(
        "jobs-mistyped",
        m.JOBS,
        "spec.template",
        "spec.template.metadata",
        "spec.template.metadata.labels",
        "spec.selector",
        "spec.parallelism",
    ),
    mistyped("claims-mistyped", f"{m.NS}/persistentvolumeclaims", "spec", "spec.accessModes", "spec.resources", "spec.selector"),
    mistyped("leases-mistyped", "/apis/coordination.k8s.io/v1/namespaces/${ns}/leases", "spec", "spec.holderIdentity", "spec.renewTime"),
    mistyped("volumes-mistyped", "/api/v1/persistentvolumes", "spec", "spec.capacity", "spec.accessModes", "spec.hostPath"),
    mistyped("accounts-mistyped", m.ACCOUNTS, "secrets", "imagePullSecrets", "automountServiceAccountToken"),
    mistyped("events-mistyped", m.EVENTS, "involvedObject", "source", "count", "series"),
    mistyped("limits-mistyped", f"{m.NS}/limitranges", "spec", "spec.limits"),
    mistyped("budgets-mistyped", "/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets", "spec", "spec.selector", "spec.minAvailable"),
    mistyped(
        "metadata-mistyped",
        m.CONFIGMAPS,
        *(
            f"metadata.{name}"
            for name in ("labels", "annotations", "finalizers", "ownerReferences", "generateName", "managedFields", "creationTimestamp")
        ),
    ),
]
