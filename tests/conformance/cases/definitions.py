"""CustomResourceDefinitions themselves."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import TABLE, case, delete, get, patch, post, read, watch
from tests.conformance.cases import manifests as m
from tests.conformance.definitions import OPEN, definition

ESTABLISHED = {"status.conditions[1].status": "True"}


def made(plural: str, kind: str, schema: Any = None, **more: Any) -> tuple[Any, str]:
    body = definition("land.example", plural, kind, schema=schema, **more)
    return body, f"{m.DEFINITIONS}/{plural}.land.example"


def objects(plural: str, version: str = "v1", group: str = "land.example") -> str:
    return f"/apis/{group}/{version}/namespaces/${{ns}}/{plural}"


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
SEATED = {"color": {"type": "string"}, "seats": {"type": "integer"}, "new": {"type": "boolean"}}
SLEDS, _ = made(
    "sleds",
    "Sled",
    {"type": "object", "properties": {"spec": {"type": "object", "properties": SEATED}}},
    selectableFields=[{"jsonPath": f".spec.{name}"} for name in SEATED],
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


def named_alike(plural: str, kind: str, **names: Any) -> Any:
    body = definition("snow.example", plural, kind)
    body["spec"]["names"].update(names)
    return body


def wrong(name: str, *changes: Any) -> Any:
    bodies = []
    for number, change in enumerate(changes):
        body, _ = made(f"wrongs{number}", "Wrong")
        change(body)
        bodies.append(post(m.DEFINITIONS, body))
    return case(name, *bodies)


def schema(value: Any) -> Any:
    return lambda body: body["spec"]["versions"][0]["schema"].update(openAPIV3Schema=value)


def structure(**properties: Any) -> Any:
    return {"type": "object", "properties": properties}


def schemas(name: str, *fields: Any) -> Any:
    """Each with one field."""
    return wrong(name, *(schema(structure(a=each)) for each in fields))


def ruled(field: Any, rule: str, **more: Any) -> Any:
    return {**field, "maxLength": 9, RULES: [{"rule": rule, **more}]}


def fitting(*rules: str) -> Any:
    rules_of_spec = [{"rule": rule} for rule in rules]
    return made("fits", "Fit", structure(spec={**FIELDS, RULES: rules_of_spec}))[0]


TEXT = {"type": "string"}
NAMED = structure(n=TEXT)
LIST, KEYS, RULES = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations"
SHORT = {"type": "string", "maxLength": 9}
FIELDS = structure(
    text=SHORT,
    count={"type": "integer"},
    share={"type": "number"},
    flag={"type": "boolean"},
    when={"type": "string", "format": "date-time"},
    lasting={"type": "string", "format": "duration"},
    port={"x-kubernetes-int-or-string": True},
    words={"type": "array", "items": SHORT, "maxItems": 3},
    things={"type": "array", "items": {"type": "object", "properties": {"name": SHORT, "size": {"type": "integer"}}}, "maxItems": 3},
    labels={"type": "object", "additionalProperties": SHORT, "maxProperties": 3},
    **{"with-dash": SHORT, "if": SHORT, "namespace": SHORT},
)
FITTING = (
    "self.count > 1 && self.share < 2.0 || !self.flag",
    "self.count + 1 == 2 && self.count % 2 == 0 && -self.count < 0",
    "self.count < 2.5",
    "size(self.text) == self.text.size() && self.text + 'a' != \"b\"",
    "has(self.text) ? self.text.startsWith('a') : true",
    "self.text in ['a', 'b'] && 'a' in self.labels && 'a' in self.words",
    "self.words.all(w, w.matches('^[a-z]+$')) && self.words.exists_one(w, w == 'a')",
    "self.words.map(w, w.upperAscii()).filter(w, w != 'A').size() <= 3",
    "self.words.map(w, w != '', w + '!').exists(w, w.contains('!'))",
    "self.things.all(t, t.size >= 0 && (!has(t.name) || t.name.size() > 0))",
    "self.things.exists(t, t.name == self.text) || self.things[0].size == 1",
    "self.labels.all(key, key != '' && self.labels[key] != '')",
    "self.labels['a'] == 'b' || self.labels.size() == 0",
    "type(self.port) == int || self.port == 'http'",
    "self.when < timestamp('2030-01-01T00:00:00Z') && self.when.getFullYear() > 2000",
    "self.lasting > duration('1s') && self.when + self.lasting > self.when",
    "self.with__dash__dash == self.__if__ && self.__namespace__ != ''",
    "string(self.count) == '1' && int(self.text) == 1 && double(self.count) == 1.0",
    "self.text.split(',').size() == 1 && self.text.lastIndexOf('b') >= 0 && self.text.trim().substring(1) == ''",
    "self.words.isSorted() && [1, 2].sum() == 3 && self.words.indexOf('a') < 3",
    "quantity('1Gi').isGreaterThan(quantity('1Mi')) && isURL('http://a') && url('http://a').getHost() == 'a'",
    "self == oldSelf || self.count == oldSelf.count",
    "{'a': 1}['a'] == 1 && [] == [] && {'a': [1]} == {'a': [1]}",
    "(self.flag ? 'a' : 'b') == 'a' && self.text == r'a\\d'",
)


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
        "definition-with-selectable-fields",
        post(m.DEFINITIONS, SLEDS, unseen=True),
        get(objects("sleds"), until={"code": 200}, unseen=True),
        *(
            post(objects("sleds"), thing("Sled", name, spec={"color": color, "seats": seats, "new": new}), unseen=True)
            for name, color, seats, new in (("a", "red", 9, True), ("b", "blue", 9, False), ("c", "red", 12, True))
        ),
        *(
            get(f"{objects('sleds')}?fieldSelector={selector}")
            for selector in (
                "spec.color=red",
                "spec.color!=red",
                "spec.seats=9,spec.color=red",
                "spec.new=true",
                "spec.other=x",
                "spec.color=",
            )
        ),
        get(objects("sleds"), keep={"v": "metadata.resourceVersion"}, unseen=True),
        watch("w", f"{objects('sleds')}?watch=1&resourceVersion=${{v}}&fieldSelector=spec.color=blue"),
        patch(f"{objects('sleds')}/a", {"spec": {"color": "blue"}}, unseen=True),
        patch(f"{objects('sleds')}/b", {"spec": {"color": "red"}}, unseen=True),
        read("w", 2),
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
    schemas(
        "schemas-without-types-refused",
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "object", "additionalProperties": {}},
        {"type": "object", "properties": {"x": TEXT}, "additionalProperties": TEXT},
        {"type": "array", "items": TEXT, "uniqueItems": True},
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"anyOf": [TEXT, {"type": "integer"}]},
        {"type": "string", "$ref": "x"},
    ),
    schemas(
        "schemas-of-lists-refused",
        {"type": "string", LIST: "map"},
        {"type": "array", "items": NAMED, LIST: "map"},
        {"type": "array", "items": NAMED, LIST: "map", KEYS: ["n"]},
        {"type": "array", "items": NAMED, LIST: "map", KEYS: ["m"]},
        {"type": "array", "items": NAMED, LIST: "bag"},
    ),
    wrong("schemas-of-metadata-refused", schema(structure(metadata=NAMED)), schema(structure(metadata=TEXT))),
    schemas(
        "defaults-of-a-schema-refused",
        {"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {"type": "string", "default": 1}}}}},
        {"type": "object", "default": {"x": 1}, "properties": {"x": TEXT}},
        {"type": "object", "default": {"y": 1}, "properties": {"x": TEXT}},
        {"type": "integer", "default": 5, "maximum": 3},
        {"type": "string", "default": "c", "enum": ["a", "b"]},
    ),
    schemas("patterns-refused", *({"type": "string", "pattern": each} for each in ("a)", "[a", "*a", "(?=a)", "a{2,1}"))),
    wrong(
        "schemas-of-two-versions-refused",
        lambda body: body["spec"]["versions"].append({**V2, "schema": {"openAPIV3Schema": {"properties": {}}}}),
        lambda body: body["spec"]["versions"].append(body["spec"]["versions"][0]),
    ),
    wrong(
        "names-of-a-definition-refused",
        lambda body: body["spec"].update(group="nodots"),
        lambda body: body["spec"].pop("group"),
        lambda body: body["spec"].pop("scope"),
        lambda body: body["spec"]["names"].pop("plural"),
        lambda body: body["spec"]["names"].update(singular="UP"),
        lambda body: body["spec"]["names"].update(listKind="Wrong"),
        lambda body: body["spec"]["names"].update(shortNames=["UP"], categories=["A B"]),
        lambda body: body["spec"].update(conversion={"strategy": "Sometimes"}),
    ),
    wrong(
        "parts-of-a-definition-refused",
        lambda body: body["spec"]["versions"][0].update(additionalPrinterColumns=[{"name": "", "type": "x", "jsonPath": "a"}]),
        lambda body: body["spec"]["versions"][0].update(subresources={"scale": {}}),
    ),
    schemas("rules-of-a-schema-refused", ruled(TEXT, "self.b == 1"), ruled(TEXT, "size(self)")),
    schemas(
        "rules-of-other-types-refused",
        ruled(TEXT, "self == 1"),
        ruled(NAMED, "self.y == 'a'"),
        ruled(NAMED, "foo(self.n)"),
        ruled(NAMED, "self.n == bar"),
        ruled({"type": "array", "items": TEXT}, "self.all(x, x.all(y, y == 'a'))"),
        ruled({"type": "integer"}, "self + 1.0 > 2.0"),
        ruled({"type": "integer"}, "self && true"),
        ruled({"type": "integer"}, "self.startsWith('a')"),
        ruled({"type": "array", "items": TEXT, "maxItems": 3}, "self.exists(x, size(x))"),
        ruled({"type": "array", "items": TEXT, "maxItems": 3}, "self['a'] == 'b'"),
        ruled({"type": "integer"}, "-self > 0 ? 'a' : 'b'"),
    ),
    schemas("rules-too-costly-refused", {"type": "array", "items": {"type": "string", RULES: [{"rule": "self.contains(self)"}]}}),
    case("rules-that-fit", post(f"{m.DEFINITIONS}?dryRun=All", fitting(*FITTING))),
    schemas(
        "unreadable-rules-refused",
        ruled(TEXT, ""),
        ruled(TEXT, "self.size("),
        ruled(TEXT, "self ="),
        ruled(TEXT, "self == 'a'", messageExpression="1"),
        ruled(TEXT, "self == 'a'", messageExpression="self + 1"),
        ruled(TEXT, "self == 'a'", reason="Odd"),
        ruled(TEXT, "self == 'a'", message="a\nb"),
        ruled(TEXT, "self == 'a' ||\nself == 'b'"),
        ruled(TEXT, "self == 'a'", fieldPath=".x"),
    ),
    case(
        "names-taken-twice",
        post(m.DEFINITIONS, definition("snow.example", "sleds", "Sled"), unseen=True),
        get(objects("sleds", group="snow.example"), until={"code": 200}, unseen=True),
        post(m.DEFINITIONS, definition("snow.example", "sledges", "Sled"), unseen=True),
        get(f"{m.DEFINITIONS}/sledges.snow.example", until={"status.conditions[0].type": "NamesAccepted"}),
        get(objects("sledges", group="snow.example")),
        delete(f"{m.DEFINITIONS}/sleds.snow.example", unseen=True),
        get(f"{m.DEFINITIONS}/sledges.snow.example", until=ESTABLISHED),
        get(objects("sledges", group="snow.example"), until={"code": 200}),
    ),
    case(
        "names-taken-in-part",
        post(m.DEFINITIONS, definition("snow.example", "skis", "Ski"), unseen=True),
        get(f"{m.DEFINITIONS}/skis.snow.example", until=ESTABLISHED, unseen=True),
        post(m.DEFINITIONS, named_alike("poles", "Pole", shortNames=["skis", "po"]), unseen=True),
        get(f"{m.DEFINITIONS}/poles.snow.example", until={"status.conditions[0].type": "NamesAccepted"}),
        patch(f"{m.DEFINITIONS}/poles.snow.example", {"spec": {"names": {"shortNames": ["po"]}}}, unseen=True),
        get(f"{m.DEFINITIONS}/poles.snow.example", until=ESTABLISHED),
    ),
]
