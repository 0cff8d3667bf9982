"""What schemas of custom kinds make of objects, word by word."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import APPLY, Case, case, get, patch, post
from tests.conformance.cases import definitions
from tests.conformance.cases import manifests as m
from tests.conformance.definitions import definition

Obj = dict[str, Any]
TEXT: Obj = {"type": "string", "maxLength": 40}
LIST, RULES = "x-kubernetes-list-type", "x-kubernetes-validations"
FORMS: list[Obj] = []
"""the kinds of these cases; both servers have them from the start, since a real one takes two seconds to serve each"""
GROUP = "/apis/form.example/v1/namespaces/${ns}"


def structure(**properties: Obj) -> Obj:
    return {"type": "object", "properties": properties}


def form(name: str, spec: Obj, *bodies: Obj, after: tuple[Any, ...] = (), **more: Any) -> Case:
    """A kind of its own with this spec, and objects of it."""
    plural = name.replace("-", "")
    made = definition("form.example", plural, "F" + plural, schema=structure(spec=spec), **more)
    FORMS.append(made)
    path = f"{GROUP}/{plural}"
    posts = [post(path, thing(plural, f"a{number}", spec=body)) for number, body in enumerate(bodies)]
    return case(name, *posts, *after)


def thing(plural: str, name: str, **body: Any) -> Obj:
    return {"apiVersion": "form.example/v1", "kind": "F" + plural, "metadata": {"name": name}, **body}


def rules(*texts: str | Obj) -> list[Obj]:
    return [text if isinstance(text, dict) else {"rule": text} for text in texts]


def ruled(name: str, fields: Obj, texts: list[str], body: Obj) -> Case:
    """One object, judged by rules that all do not hold: the answer tells of each. Those that hold are asked with a `!` before them."""
    return form(name, {**fields, RULES: rules(*texts)}, body)


def changed(plural: str, *specs: Any, name: str = "a0") -> tuple[Any, ...]:
    return tuple(patch(f"{GROUP}/{plural}/{name}", {"spec": spec}) for spec in specs)


ANY_NUMBER = structure(
    n={"x-kubernetes-int-or-string": True},
    m={"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%$"},
)
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": structure(a=TEXT)}}

CASES = [
    form(
        "schema-sets",
        structure(tags={"type": "array", LIST: "set", "items": TEXT}, numbers={"type": "array", LIST: "set", "items": {"type": "integer"}}),
        {"tags": ["a", "b"]},
        {"tags": ["a", "b", "a", "b", "a"]},
        {"numbers": [1, 2, 1]},
        {"tags": ["1"], "numbers": [1]},
        after=(
            patch(f"{GROUP}/schemasets/s?fieldManager=me", thing("schemasets", "s", spec={"tags": ["x", "y"]}), APPLY),
            patch(f"{GROUP}/schemasets/s?fieldManager=you", thing("schemasets", "s", spec={"tags": ["z", "x"]}), APPLY),
            patch(f"{GROUP}/schemasets/s?fieldManager=me", thing("schemasets", "s", spec={"tags": ["y"]}), APPLY),
            patch(f"{GROUP}/schemasets/s?fieldManager=me", thing("schemasets", "s", spec={"tags": []}), APPLY),
        ),
    ),
    form(
        "schema-keyed-lists",
        structure(
            ports={
                "type": "array",
                LIST: "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {
                    **structure(port={"type": "integer"}, protocol={"type": "string", "default": "TCP"}, name=TEXT),
                    "required": ["port"],
                },
            },
            atoms={"type": "array", LIST: "atomic", "items": structure(a=TEXT)},
            whole={"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT, "b": TEXT}},
        ),
        {"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]},
        {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
        {"ports": [{"protocol": "TCP"}]},
        {"atoms": [{"a": "x"}, {"a": "x"}]},
        after=(
            patch(
                f"{GROUP}/schemakeyedlists/s?fieldManager=me",
                thing("schemakeyedlists", "s", spec={"ports": [{"port": 1, "name": "a"}], "whole": {"a": "1"}}),
                APPLY,
            ),
            patch(
                f"{GROUP}/schemakeyedlists/s?fieldManager=you",
                thing("schemakeyedlists", "s", spec={"ports": [{"port": 1, "protocol": "UDP"}]}),
                APPLY,
            ),
            patch(
                f"{GROUP}/schemakeyedlists/s?fieldManager=you",
                thing("schemakeyedlists", "s", spec={"ports": [{"port": 1, "name": "b"}], "whole": {"b": "1"}}),
                APPLY,
            ),
        ),
    ),
    form(
        "schema-nullable",
        structure(
            no=TEXT,
            yes={**TEXT, "nullable": True},
            default={**TEXT, "default": "d"},
            both={**TEXT, "default": "d", "nullable": True},
            inner={"type": "object", "nullable": True, "properties": {"a": {**TEXT, "default": "x"}}},
            many={"type": "array", "items": {**TEXT, "nullable": True}},
            few={"type": "array", "items": TEXT},
            map={"type": "object", "additionalProperties": {**TEXT, "nullable": True}},
        ),
        dict.fromkeys(("no", "yes", "default", "both", "inner")),
        {"no": None, "many": ["a", None]},
        {"few": ["a", None]},
        {"map": {"a": None}, "inner": {}},
        after=changed("schemanullable", {"yes": None, "default": None}, {"both": "x", "inner": None}),
    ),
    form(
        "schema-int-or-string",
        ANY_NUMBER,
        {"n": 1, "m": "50%"},
        {"n": "one", "m": 5},
        {"n": True},
        {"n": 1.5},
        {"m": "many"},
        {"n": [1]},
        {"n": None},
    ),
    form(
        "schema-embedded",
        structure(one=EMBEDDED, many={"type": "array", "items": EMBEDDED}),
        {
            "one": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "a", "labels": {"a": "b"}},
                "spec": {"a": "x", "b": 1},
            }
        },
        {"one": {"metadata": {"name": "a"}}},
        {"one": {"apiVersion": "a/b/c", "kind": "Pod"}},
        {"one": {"apiVersion": "v1", "kind": "no kind"}},
        {"one": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NOT A NAME", "labels": {"a b": "c"}}}},
        {"one": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}},
        {"one": {"apiVersion": "v1", "kind": "Pod", "metadata": 5}},
        {"many": [{"apiVersion": "v1", "kind": "Pod"}, {"kind": "Pod"}]},
    ),
    form(
        "schema-numbers",
        structure(
            a={"type": "integer", "minimum": 2, "maximum": 4},
            b={"type": "number", "minimum": 2, "exclusiveMinimum": True},
            c={"type": "integer", "multipleOf": 3},
            d={"type": "integer", "format": "int32"},
            e={"type": "integer", "enum": [1, 2]},
        ),
        {"a": 3, "b": 2.5, "c": 6, "d": 1, "e": 2},
        {"a": 1},
        {"a": 5},
        {"b": 2},
        {"c": 4},
        {"d": 2**40},
        {"e": 3},
        {"a": 3.0},
    ),
    form(
        "schema-sizes",
        structure(
            text={"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]*$"},
            items={"type": "array", "minItems": 1, "maxItems": 2, "items": TEXT},
            map={"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "integer"}},
        ),
        {"text": "a"},
        {"text": "abcd"},
        {"text": "AB"},
        {"text": "éé"},
        {"items": []},
        {"items": ["a"] * 3},
        {"map": {}},
        {"map": {"a": 1, "b": 2, "c": 3}},
        {"map": {"a": "x"}},
    ),
    form(
        "schema-formats",
        structure(
            **{
                name.replace("-", ""): {"type": "string", "format": name}
                for name in (
                    "date-time",
                    "date",
                    "email",
                    "ipv4",
                    "ipv6",
                    "uri",
                    "uuid",
                    "byte",
                    "duration",
                    "hostname",
                    "cidr",
                    "mac",
                    "password",
                    "unknown",
                )
            }
        ),
        {"datetime": "2026-01-02T03:04:05Z"},
        {"datetime": "yesterday"},
        {"date": "2026-13-01"},
        {"email": "x"},
        {"ipv4": "::1"},
        {"ipv6": "1.2.3.4"},
        {"uri": "%"},
        {"uuid": "x"},
        {"byte": "?"},
        {"duration": "1 fortnight"},
        {"hostname": "a b"},
        {"cidr": "1.2.3.4"},
        {"mac": "x"},
        {"unknown": "x"},
    ),
    form(
        "schema-junctions",
        {
            **structure(a=TEXT, b=TEXT, c={"type": "integer"}),
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "not": {"properties": {"c": {"minimum": 5}}, "required": ["c"]},
        },
        {"a": "x"},
        {"a": "x", "b": "y"},
        {},
        {"a": "x", "c": 7},
    ),
    form(
        "schema-defaults-within",
        structure(
            outer={"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}, "b": TEXT}},
            list={"type": "array", "items": structure(x={"type": "boolean", "default": True})},
            map={"type": "object", "additionalProperties": structure(y={**TEXT, "default": "y"})},
            kept={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"z": {**TEXT, "default": "z"}}},
        ),
        {},
        {"outer": {"b": "x"}, "list": [{}, {"x": False}], "map": {"m": {}}, "kept": {"other": {"a": 1}}},
        {"outer": None, "list": None},
    ),
    form(
        "rules-with-a-past",
        {
            **structure(
                fixed={
                    **TEXT,
                    RULES: rules(
                        {"rule": "!oldSelf.hasValue() || self == oldSelf.value()", "optionalOldSelf": True, "message": "is fixed"}
                    ),
                },
                grows={
                    "type": "integer",
                    RULES: rules({"rule": "oldSelf.optMap(o, o <= self).orValue(self < 5)", "optionalOldSelf": True}),
                },
                once={**TEXT, RULES: rules({"rule": "self == oldSelf", "message": "set once"})},
            ),
            RULES: rules(
                {"rule": "!has(oldSelf.once) || has(self.once)", "message": "once set, it stays"},
                {"rule": "self.?fixed.orValue('none') != 'never'", "fieldPath": ".fixed", "reason": "FieldValueForbidden"},
                {"rule": "!has(self.grows) || self.grows < 100", "messageExpression": "'too many'"},
            ),
        },
        {"grows": 9},
        {"fixed": "never"},
        {"fixed": "a", "grows": 1, "once": "x"},
        {"grows": 100},
        after=changed(
            "ruleswithapast",
            {"fixed": "b"},
            {"grows": 0},
            {"grows": 7},
            {"once": "y"},
            {"once": None},
            {"fixed": None, "grows": 100},
            name="a2",
        ),
    ),
    ruled(
        "rules-that-find",
        structure(t=TEXT, many={"type": "array", "maxItems": 5, "items": TEXT}),
        [
            "self.t.find('[0-9]+') == ''",
            "self.t.find('a|ab') == 'ab'",
            "self.t.find('(?i)CD') != 'cd'",
            "self.t.find('x*') != ''",
            "self.t.find('zzz') != ''",
            "self.t.findAll('[0-9]+') == []",
            "self.t.findAll('[0-9]') != ['1', '2', '3', '4']",
            "self.t.findAll('[0-9]+', 1) != ['12']",
            "self.t.findAll('[0-9]+', 0) != []",
            "self.t.findAll('[0-9]+', -1) != ['12', '34']",
            "self.t.findAll('z*').size() == 3",
            "self.t.findAll('(ab)(cd)') != ['abcd']",
            "self.t.findAll('b?') == ['b']",
            "self.t.find('^ab') != 'ab' || self.t.find('34$') != '34'",
            "self.t.find('a.*?c') != 'abc' || self.t.find('a.{1,9}') != self.t",
            "self.t.find(r'\\d+') != '12' || self.t.find(r'\\w+') != self.t || self.t.find(r'\\bab') != 'ab'",
            "self.t.find('[^a-z]+') != '12' || self.t.find('[[:alpha:]]+') != 'abcd' || self.t.find(r'\\pN+') != '12'",
            "self.many.all(x, x.find('^[a-z]+$') != '')",
        ],
        {"t": "abcd12ef34", "many": ["a", "A"]},
    ),
    definitions.schemas(
        "patterns-of-rules-refused",
        definitions.ruled(TEXT, "self.find('[') == 'x'"),
        definitions.ruled(TEXT, "self.findAll('a)').size() == 1"),
        definitions.ruled(TEXT, "self.matches('*')"),
        definitions.ruled(TEXT, "self.matches('a' + '*')"),
        definitions.ruled(TEXT, "self.find(1) == 'x'"),
        definitions.ruled(TEXT, "self.find('a', 1) == 'x'"),
        definitions.ruled(TEXT, "self.findAll('a') == 'x'"),
        definitions.ruled(TEXT, "self.findAll('a', 'b') == []"),
    ),
    case(
        "versions-not-served",
        post(
            m.DEFINITIONS,
            {
                **(three := definition("form.example", "threes", "Three")),
                "spec": {
                    **three["spec"],
                    "versions": [
                        {**three["spec"]["versions"][0], "name": "v1"},
                        {
                            **three["spec"]["versions"][0],
                            "name": "v1beta1",
                            "storage": False,
                            "deprecated": True,
                            "deprecationWarning": "v1beta1 is old",
                        },
                        {**three["spec"]["versions"][0], "name": "v1alpha1", "storage": False, "served": False},
                    ],
                },
            },
            unseen=True,
        ),
        get(f"{GROUP}/threes", until={"code": 200}, unseen=True),
        post(f"{GROUP}/threes", {"apiVersion": "form.example/v1", "kind": "Three", "metadata": {"name": "a"}, "spec": {"x": 1}}),
        get(f"{GROUP.replace('/v1/', '/v1beta1/')}/threes/a"),
        get(f"{GROUP.replace('/v1/', '/v1alpha1/')}/threes/a"),
        post(
            f"{GROUP.replace('/v1/', '/v1alpha1/')}/threes",
            {"apiVersion": "form.example/v1alpha1", "kind": "Three", "metadata": {"name": "b"}},
        ),
        patch(f"{GROUP.replace('/v1/', '/v1beta1/')}/threes/a", {"spec": {"x": 2}}),
        get(f"{GROUP}/threes/a"),
    ),
]
