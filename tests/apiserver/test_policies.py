"""Our own admission policies (deploy/policies) on the embedded API: what they refuse, in which words, and for whom."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rayfleet.apiserver import writing
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import User
from rayfleet.apiserver.bootstrap import open_api
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.status_error import StatusError
from rayfleet.apiserver.store import Store
from tests.api.cases import GOOD
from tests.api.policy import refusals
from tests.api.test_policies import CASES

DEPLOY = Path(__file__).parents[2] / "deploy"
Obj = dict[str, Any]
ROBOT = User("system:serviceaccount:default:robot", ("system:serviceaccounts",))
ADMIN = User("admin", ("system:masters",), trusted=True)


def objects(*files: str) -> Iterator[Obj]:
    for file in files:
        yield from (each for each in yaml.safe_load_all((DEPLOY / file).read_text()) if each)


def guarded(*files: str) -> Api:
    api = open_api(Store())
    definitions = (each for each in objects("rayfleet.yaml") if each["kind"] == "CustomResourceDefinition")
    for each in [*definitions, *objects(*files)]:
        group, _, version = each["apiVersion"].rpartition("/")
        served = next(found for found in api.registry.within(group, version) if found.kind.name == each["kind"])
        writing.create(api, served, "", each, WriteOptions())
    return api


def create(api: Api, document: Obj, user: User) -> None:
    """As a request of that user. Raises StatusError."""
    served = api.registry.find("ray.io", "v1", "rayclusters")
    assert served is not None
    whole = copy.deepcopy({"apiVersion": "ray.io/v1", "kind": "RayCluster", **document})
    whole["metadata"]["namespace"] = "default"
    writing.create(api, served, "default", whole, WriteOptions(dry_run=True, user=user))


@pytest.fixture(scope="module")
def api() -> Api:
    return guarded("policies/spec.yaml")


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_what_is_good_is_taken(api: Api, document: Obj) -> None:
    create(api, document, ADMIN)


def test_what_is_bad_is_refused_with_the_words_of_the_policy(api: Api) -> None:
    refused = 0
    for document in CASES:
        expected = refusals(document)
        if not expected:
            continue
        with pytest.raises(StatusError) as failure:
            create(api, document, ADMIN)
        if failure.value.reason == "Invalid" and "denied request: " in failure.value.message:
            assert failure.value.message.endswith(f"denied request: {expected[0].message}")
            refused += 1
    assert refused > 30  # the schema refuses the others before


def test_nobody_gets_by_way_of_a_cluster_what_they_could_not_make() -> None:
    api = guarded("policies/rights.yaml")
    document = next(iter(GOOD.values()))
    create(api, document, ADMIN)
    with pytest.raises(StatusError) as failure:
        create(api, document, ROBOT)
    assert (failure.value.code, failure.value.reason) == (403, "Forbidden")
    assert failure.value.message.endswith("you may not create Pods in this namespace, and so no Ray objects, which make Pods")
    allow(api, "", "pods", "services")
    create(api, document, ROBOT)


def allow(api: Api, group: str, *resources: str) -> None:
    rules = [{"apiGroups": [group], "resources": list(resources), "verbs": ["create"]}]
    role = {"metadata": {"name": "r"}, "rules": rules}
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    for plural, body in (("roles", role), ("rolebindings", {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": reference})):
        writing.create(api, api.registry.native(f"{plural}.rbac.authorization.k8s.io"), "default", body, WriteOptions())
