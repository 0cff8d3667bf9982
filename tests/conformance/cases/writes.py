"""Names drawn by the server, dry runs, unknown fields and the warnings about them."""

from __future__ import annotations

from tests.conformance.case import MERGE, case, delete, get, patch, post, put
from tests.conformance.cases import manifests as m

MISSPELT = {"metadata": {"name": "a", "nmae": "b"}, "spec": {"ports": [{"port": 80, "prot": 1}], "selctor": {}}}
BOAT = {**m.boat("a"), "spec": {"length": 3, "colour": "red", "crew": [{"name": "x", "age": 5}]}}

CASES = [
    case(
        "generate-name",
        post(m.CONFIGMAPS, {"metadata": {"generateName": "gen-"}}, keep={"name": "metadata.name"}),
        get(f"{m.CONFIGMAPS}/${{name}}"),
        post(m.BOATS, {**m.boat("a"), "metadata": {"generateName": "gen-"}}),
        post(m.CONFIGMAPS, {"metadata": {"generateName": "gen-", "name": "given"}}),
        post(m.CONFIGMAPS, {"metadata": {"generateName": "Gen-"}}),
    ),
    case(
        "dry-run-create",
        post(f"{m.CONFIGMAPS}?dryRun=All", m.configmap("a")),
        get(f"{m.CONFIGMAPS}/a"),
        post(f"{m.CONFIGMAPS}?dryRun=All", m.configmap("A")),
        post(f"{m.CONFIGMAPS}?dryRun=Some", m.configmap("a")),
        post(f"{m.SERVICES}?dryRun=All", m.service("a")),
        post(f"{m.BOATS}?dryRun=All", m.boat("a")),
    ),
    case(
        "dry-run-update",
        post(m.CONFIGMAPS, m.configmap("a")),
        patch(f"{m.CONFIGMAPS}/a?dryRun=All", {"data": {"k": "w"}}),
        put(f"{m.CONFIGMAPS}/a?dryRun=All", m.configmap("a", {"x": "y"})),
        get(f"{m.CONFIGMAPS}/a"),
    ),
    case(
        "dry-run-delete",
        post(m.CONFIGMAPS, m.configmap("a")),
        delete(f"{m.CONFIGMAPS}/a?dryRun=All"),
        delete(f"{m.CONFIGMAPS}/a", {"dryRun": ["All"]}),
        get(f"{m.CONFIGMAPS}/a"),
    ),
    case("field-validation-warn", post(f"{m.SERVICES}?fieldValidation=Warn", MISSPELT), post(f"{m.BOATS}?fieldValidation=Warn", BOAT)),
    case(
        "field-validation-default",
        post(m.SERVICES, MISSPELT),
        post(m.BOATS, BOAT),
        patch(f"{m.BOATS}/a", {"spec": {"colour": "blue"}}),
        patch(f"{m.SERVICES}/a", {"spec": {"colour": "blue"}}),
    ),
    case(
        "field-validation-strict",
        post(f"{m.SERVICES}?fieldValidation=Strict", MISSPELT),
        post(f"{m.BOATS}?fieldValidation=Strict", BOAT),
        get(f"{m.SERVICES}/a"),
        post(f"{m.BOATS}?fieldValidation=Strict", m.boat("a")),
        patch(f"{m.BOATS}/a?fieldValidation=Strict", {"spec": {"colour": "blue"}}),
    ),
    case(
        "field-validation-ignore",
        post(f"{m.SERVICES}?fieldValidation=Ignore", MISSPELT),
        post(f"{m.BOATS}?fieldValidation=Ignore", BOAT),
        post(f"{m.BOATS}?fieldValidation=Maybe", m.boat("b")),
    ),
    case(
        "field-validation-of-duplicates",
        post(m.CONFIGMAPS, b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'),
        post(f"{m.CONFIGMAPS}?fieldValidation=Strict", b'{"metadata":{"name":"b"},"data":{"k":"1","k":"2"}}'),
    ),
    case(
        "field-validation-of-pods",
        post(f"{m.PODS}?fieldValidation=Strict", m.pod("a", {"contianers": []}, {"imagePullPolcy": "Always"})),
        post(m.PODS, m.pod("a", {"contianers": []}, {"imagePullPolcy": "Always"})),
    ),
    case(
        "no-op-writes-nothing",
        post(m.CONFIGMAPS, m.configmap("a")),
        put(f"{m.CONFIGMAPS}/a", m.configmap("a")),
        patch(f"{m.CONFIGMAPS}/a", {}),
        patch(f"{m.CONFIGMAPS}/a", {"data": {"k": "v"}}),
        get(f"{m.CONFIGMAPS}/a"),
    ),
    case(
        "generation-counts-the-spec",
        post(m.BOATS, m.boat("a")),
        patch(f"{m.BOATS}/a", {"metadata": {"labels": {"x": "y"}}}),
        patch(f"{m.BOATS}/a", {"spec": {"length": 10}}),
        patch(f"{m.BOATS}/a/status", {"status": {"port": "Bergen"}}, MERGE),
    ),
    case(
        "nulls-and-empties",
        post(m.CONFIGMAPS, {"metadata": {"name": "a", "labels": {}, "annotations": None}, "data": {}}),
        post(m.SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80, "name": ""}], "selector": None, "externalIPs": []}}),
    ),
]
