"""The admission policies and our own validation: what a policy refuses, the operator would refuse too, and none of its checks is idle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable, decode_cluster
from rayfleet.api.policies import SPEC_POLICIES, SpecPolicy, rights_policy
from rayfleet.api.validation import validate_cluster
from rayfleet.sim.ideal import refusals as operator_refuses
from tests.api.cases import BAD, GOOD
from tests.api.manifests import cluster, encoded
from tests.api.policy import CLUSTERS, CRON_JOBS, JOBS, SERVICES, nearly_good, nearly_good_of, refusals
from tests.api.test_job_validation import BAD as BAD_JOBS
from tests.api.test_job_validation import GOOD as GOOD_JOBS
from tests.api.test_job_validation import job
from tests.api.test_properties import CLUSTERS as ANY_CLUSTER
from tests.api.test_service_validation import BAD_SERVICES, GOOD_SERVICES, service
from tests.api.test_validation import ALL_GATES

MADE = cluster(upgradeStrategy={"type": "Recreate"})
MADE["metadata"]["labels"] = {"ray.io/originated-from-crd": "RayJob"}
CASES = [*(document for document, _, _ in BAD), MADE]


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_what_is_good_passes(document: dict[str, Any]) -> None:
    assert refusals(document) == []


def test_each_check_refuses_something_that_the_operator_would_refuse() -> None:
    idle = set(CLUSTERS.checks)
    for document in CASES:
        found = refusals(document)
        assert not found or validate_cluster(decode_cluster(encoded(document)), ALL_GATES)
        idle -= set(found)
    assert {check.message for check in idle} == set()


@given(ANY_CLUSTER)
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


Obj = dict[str, Any]


def as_kind(policy: SpecPolicy, document: Obj) -> Obj:
    return {**document, "apiVersion": "ray.io/v1", "kind": policy.resource.kind}


def cron(document: Obj, **spec: Any) -> Obj:
    """A RayCronJob around a RayJob."""
    return {"metadata": document["metadata"], "spec": {"schedule": "0 3 * * *", "jobTemplate": document["spec"], **spec}}


def noted(document: Obj, **annotations: str) -> Obj:
    notes = {f"rayfleet.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {**document, "metadata": {**document["metadata"], "annotations": notes}}


def served(document: Obj) -> Obj:
    """A RayService with the spec of a RayCluster."""
    return {**service(config=document["spec"]), "metadata": {**document["metadata"], "name": "shop"}}


RESTARTS = {"headGroupSpec": {"template": {"spec": {"restartPolicy": "Always", "containers": [{"name": "ray"}]}}}}
WRONG_JOBS = [
    *(document for document, _, _ in BAD_JOBS),
    job("9x"),
    job(submissionMode="SidecarMode", rayClusterSpec=RESTARTS),
    *({**job(rayClusterSpec=each["spec"]), "metadata": {**each["metadata"], "name": "train"}} for each in CASES),
]
WRONG: dict[SpecPolicy, list[Obj]] = {
    SERVICES: [
        *BAD_SERVICES,
        *map(served, CASES),
    ],
    JOBS: WRONG_JOBS,
    CRON_JOBS: [
        *map(cron, WRONG_JOBS),
        cron(job(), schedule="TZ=UTC 0 3 * * *"),
        cron(job(), schedule="0 3 * *"),
        noted(cron(job()), concurrency_policy="Sometimes"),
        noted(cron(job()), failed_jobs_history_limit="-1"),
    ],
}
RIGHT: dict[SpecPolicy, list[Obj]] = {
    SERVICES: [*GOOD_SERVICES, *map(served, GOOD.values())],
    JOBS: list(GOOD_JOBS.values()),
    CRON_JOBS: [*map(cron, GOOD_JOBS.values()), noted(cron(job(), schedule="@every 5m"), concurrency_policy="Forbid")],
}
OTHERS = list(RIGHT)


def kind_of(policy: SpecPolicy) -> str:
    return policy.resource.kind


@pytest.mark.parametrize("policy", OTHERS, ids=kind_of)
def test_what_the_operator_takes_of_another_kind_passes(policy: SpecPolicy) -> None:
    taken = [each for each in RIGHT[policy] if not operator_refuses(as_kind(policy, each), ALL_GATES, 0.0)]
    assert len(taken) > 5
    for document in taken:
        assert refusals(document, policy) == [], document


@pytest.mark.parametrize("policy", OTHERS, ids=kind_of)
def test_each_check_of_another_kind_refuses_what_the_operator_would_refuse(policy: SpecPolicy) -> None:
    idle = set(policy.checks)
    for document in WRONG[policy]:
        found = refusals(document, policy)
        assert not found or operator_refuses(as_kind(policy, document), ALL_GATES, 0.0), (document, found)
        idle -= set(found)
    assert {check.message for check in idle} == set()


@pytest.mark.parametrize("policy", OTHERS, ids=kind_of)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_of_another_kind_too_nothing_is_refused_that_the_operator_would_take(policy: SpecPolicy, data: st.DataObject) -> None:
    document = data.draw(nearly_good_of(policy))
    found = refusals(document, policy)
    assert not found or operator_refuses(document, ALL_GATES, 0.0), [check.message for check in found]


def test_the_manifests_are_whole() -> None:
    for policy, binding in (*(each.manifests for each in SPEC_POLICIES), rights_policy()):
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        assert policy["spec"]["failurePolicy"] == "Fail" and binding["spec"]["validationActions"] == ["Deny"]
        assert len({each["message"] for each in policy["spec"]["validations"]}) == len(policy["spec"]["validations"])
        assert all("\n" not in each["message"] for each in policy["spec"]["validations"])
