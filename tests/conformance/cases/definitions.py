"""CustomResourceDefinitions themselves."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import TABLE, case, delete, get, patch, post
from tests.conformance.cases import manifests as m
from tests.conformance.definitions import OPEN, definition

ESTABLISHED = {"status.conditions[1].status": "True"}


def made(plural: str, kind: str, schema: Any = None, **more: Any) -> tuple[Any, str]:
    body = definition("land.example", plural, kind, schema=schema, **more)
    return body, f"{m.DEFINITIONS}/{plural}.land.example"


def objects(plural: str, version: str = "v1") -> str:
    return f"/apis/land.example/{version}/namespaces/${{ns}}/{plural}"


def thing(kind: str, name: str = "a", **more: Any) -> Any:
    return {"apiVersion": "land.example/v1", "kind": kind, "metadata": {"name": name}, **more}


CARS, CAR = made("cars", "Car")
CARTS, CART = made("carts", "Cart")
BIKES, BIKE = made(
    "bikes",
    "Bike",
    {"type": "object", "properties": {"spec": {"type": "object", "properties": {"gears": {"type": "integer", "default": 3}}}}},
    subresources={},
)
VANS, VAN = made(
    "vans",
    "Van",
    additionalPrinterColumns=[
        {"name": "Wheels", "type": "integer", "jsonPath": ".spec.wheels"},
        {"name": "Tags", "type": "string", "jsonPath": ".spec.tags[*].name"},
        {"name": "Kind", "type": "string", "jsonPath": '.spec.tags[?(@.name=="x")].kind', "priority": 1},
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
)
V2 = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": OPEN}}}}
BUSES, BUS = made("buses", "Bus")
BUSES["spec"]["versions"].append(V2)


def wrong(name: str, *changes: Any) -> Any:
    bodies = []
    for number, change in enumerate(changes):
        body, _ = made(f"wrongs{number}", "Wrong")
        change(body)
        bodies.append(post(m.DEFINITIONS, body))
    return case(name, *bodies)


def schema(value: Any) -> Any:
    return lambda body: body["spec"]["versions"][0]["schema"].update(openAPIV3Schema=value)


CASES = [
    case(
        "life-of-a-definition",
        post(m.DEFINITIONS, CARS),
        post(m.DEFINITIONS, CARS),
        get(CAR, until=ESTABLISHED),
        get(objects("cars"), until={"code": 200}),
        post(objects("cars"), thing("Car", spec={"x": 1})),
        delete(CAR),
        get(CAR, until={"code": 404}),
        get(objects("cars"), until={"code": 404}),
    ),
    case(
        "definition-waits-for-its-objects",
        post(m.DEFINITIONS, CARTS, unseen=True),
        get(objects("carts"), until={"code": 200}, unseen=True),
        post(objects("carts"), {**thing("Cart"), "metadata": {"name": "a", "finalizers": ["a.b/c"]}}),
        delete(CART),
        get(f"{objects('carts')}/a", until={"metadata.deletionGracePeriodSeconds": 0}),
        post(objects("carts"), thing("Cart", "b")),
        patch(f"{objects('carts')}/a", {"metadata": {"finalizers": None}}),
        get(CART, until={"code": 404}),
    ),
    case(
        "definition-without-status",
        post(m.DEFINITIONS, BIKES, unseen=True),
        get(objects("bikes"), until={"code": 200}, unseen=True),
        post(objects("bikes"), thing("Bike", spec={}, status={"x": 1})),
        get(f"{objects('bikes')}/a/status"),
        patch(f"{objects('bikes')}/a", {"spec": {"gears": 5}}),
    ),
    case(
        "definition-changes-its-schema",
        post(m.DEFINITIONS, definition("land.example", "trams", "Tram"), unseen=True),
        get(objects("trams"), until={"code": 200}, unseen=True),
        patch(
            f"{m.DEFINITIONS}/trams.land.example",
            {
                "spec": {
                    "versions": [
                        {
                            "name": "v1",
                            "served": True,
                            "storage": True,
                            "schema": {
                                "openAPIV3Schema": {
                                    "type": "object",
                                    "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}},
                                }
                            },
                        }
                    ]
                }
            },
        ),
        post(f"{objects('trams')}?dryRun=All", thing("Tram", spec={"a": "x"}), until={"code": 422}),
    ),
    case(
        "definition-of-two-versions",
        post(m.DEFINITIONS, BUSES, unseen=True),
        get(objects("buses", "v2"), until={"code": 200}, unseen=True),
        post(objects("buses"), thing("Bus", spec={"a": 1})),
        get(f"{objects('buses', 'v2')}/a"),
        get(BUS),
    ),
    case(
        "definition-moves-its-storage",
        post(m.DEFINITIONS, definition("land.example", "lorries", "Lorry"), unseen=True),
        get(f"{m.DEFINITIONS}/lorries.land.example", until=ESTABLISHED, unseen=True),
        patch(f"{m.DEFINITIONS}/lorries.land.example", {"spec": {"versions": [{**V2, "name": "v1"}, {**V2, "storage": True}]}}),
        get(f"{m.DEFINITIONS}/lorries.land.example", until={"status.storedVersions": ["v1", "v2"]}),
        patch(f"{m.DEFINITIONS}/lorries.land.example", {"spec": {"versions": [{**V2, "storage": True}]}}),
    ),
    case(
        "columns-of-a-definition",
        post(m.DEFINITIONS, VANS, unseen=True),
        get(objects("vans"), until={"code": 200}, unseen=True),
        post(objects("vans"), thing("Van", spec={"wheels": 4, "tags": [{"name": "x", "kind": "big"}, {"name": "y"}]}), unseen=True),
        post(objects("vans"), thing("Van", "b", spec={"wheels": "four"}), unseen=True),
        get(objects("vans"), headers={"Accept": TABLE}),
        get(f"{objects('vans')}/a?includeObject=None", headers={"Accept": TABLE}),
        get(f"{objects('vans')}?includeObject=Object", headers={"Accept": TABLE}),
    ),
    wrong(
        "definitions-refused",
        lambda body: body["metadata"].update(name="other"),
        lambda body: body["spec"].update(scope="Somewhere"),
        lambda body: body["spec"].update(versions=[]),
        lambda body: body["spec"]["versions"][0].update(storage=False),
        lambda body: body["spec"]["versions"][0].update(schema=None),
        lambda body: body["spec"]["names"].update(kind="not a kind"),
    ),
    wrong(
        "schemas-refused",
        schema({"type": "object", "properties": {"spec": {}}}),
        schema({"type": "object", "properties": {"a": {"type": "strange"}}}),
        schema({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
        schema({"type": "object", "properties": {"a": {"type": "string", "default": 5}}}),
        schema({"properties": {}}),
    ),
    wrong(
        "rules-of-a-schema-refused",
        schema({"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self.b == 1"}]}}}),
        schema({"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "size(self)"}]}}}),
    ),
    case(
        "names-taken-twice",
        post(m.DEFINITIONS, definition("land.example", "sleds", "Sled"), unseen=True),
        get(f"{m.DEFINITIONS}/sleds.land.example", until=ESTABLISHED, unseen=True),
        post(m.DEFINITIONS, definition("land.example", "sledges", "Sled"), unseen=True),
        get(f"{m.DEFINITIONS}/sledges.land.example", until={"status.conditions[0].type": "NamesAccepted"}),
    ),
]
