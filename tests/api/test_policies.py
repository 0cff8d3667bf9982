"""The admission policy and our own validation: what the policy refuses, the operator would refuse too, and none of its checks is idle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode_cluster
from rayfleet.api.policies import SPEC_CHECKS, rights_policy, spec_policy
from rayfleet.api.validation import validate_cluster
from tests.api.cases import BAD, GOOD
from tests.api.manifests import cluster, encoded
from tests.api.policy import nearly_good, refusals
from tests.api.test_properties import CLUSTERS
from tests.api.test_validation import ALL_GATES

MADE = cluster(upgradeStrategy={"type": "Recreate"})
MADE["metadata"]["labels"] = {"ray.io/originated-from-crd": "RayJob"}
CASES = [*(document for document, _, _ in BAD), MADE]


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_what_is_good_passes(document: dict[str, Any]) -> None:
    assert refusals(document) == []


def test_each_check_refuses_something_that_the_operator_would_refuse() -> None:
    idle = set(SPEC_CHECKS)
    for document in CASES:
        found = refusals(document)
        assert not found or validate_cluster(decode_cluster(encoded(document)), ALL_GATES)
        idle -= set(found)
    assert {check.message for check in idle} == set()


@given(CLUSTERS)
@settings(max_examples=200, deadline=None)
def test_whatever_the_policy_refuses_the_operator_would_refuse(document: dict[str, Any]) -> None:
    whole = decode_cluster(encoded(document))
    if isinstance(whole, Undecodable):
        return
    stored = msgspec.json.decode(msgspec.json.encode(whole))  # nulls are dropped by the API server
    found = refusals(stored)
    assert not found or validate_cluster(whole, Configuration()), [check.message for check in found]


@given(nearly_good())
@settings(max_examples=400, deadline=None)
def test_the_same_of_objects_of_which_little_is_wrong(document: dict[str, Any]) -> None:
    found = refusals(document)
    assert not found or validate_cluster(decode_cluster(encoded(document)), ALL_GATES), [check.message for check in found]


def test_the_manifests_are_whole() -> None:
    for policy, binding in (spec_policy(), rights_policy()):
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        assert policy["spec"]["failurePolicy"] == "Fail" and binding["spec"]["validationActions"] == ["Deny"]
        assert len({each["message"] for each in policy["spec"]["validations"]}) == len(policy["spec"]["validations"])
        assert all("\n" not in each["message"] for each in policy["spec"]["validations"])
