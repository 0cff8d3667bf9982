"""What the schemas let in and what they refuse, as an API server would: after defaults, with CEL."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from rayfleet.apiserver.cel.program import program
from tests.api.defaulting import defaulted, rules
from tests.api.manifests import TEMPLATE, cluster, head_group, recorded_objects, worker_group
from tests.api.test_crds import KINDS, schema_of

VALIDATORS = {kind: jsonschema_rs.Draft202012Validator(schema_of(kind)) for kind in KINDS}
REFUSED_BY_SCHEMA = {"raycluster-invalid-replicas-string"}


def errors(document: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """Messages of the schema, and the CEL rules that fail; `old` is the object before an update."""
    schema = schema_of(document["kind"])
    whole = defaulted(document, schema)
    found = [error.message for error in VALIDATORS[document["kind"]].iter_errors(whole)]
    before = {(path, rule): value for path, rule, value in rules(defaulted(old, schema), schema)} if old else {}
    for path, rule, value in rules(whole, schema):
        if "oldSelf" not in rule:
            found += [] if program(rule).execute({"self": value}) else [f"{path}: {rule}"]
        elif (path, rule) in before:
            found += [] if program(rule).execute({"self": value, "oldSelf": before[path, rule]}) else [f"{path}: {rule}"]
    return found


def job(**spec: Any) -> dict[str, Any]:
    whole = {"entrypoint": "python a.py", "rayClusterSpec": cluster()["spec"], **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}, "spec": whole}


GOOD = [
    cluster(),
    cluster(workerGroupSpecs=[]),
    cluster(workerGroupSpecs=[{"groupName": "bare", "template": {}}]),
    cluster(workerGroupSpecs=[worker_group(replicas=None, minReplicas=None, rayStartParams=None)]),
    cluster(workerGroupSpecs=[worker_group(minReplicas=-1, maxReplicas=-2)]),
    cluster(
        headGroupSpec={"template": {"spec": {"containers": [{"name": "a", "fieldOfTomorrow": {"deep": [1]}}]}}, "serviceType": "Sideways"}
    ),
    cluster(managedBy="kueue.x-k8s.io/multikueue", gcsFaultToleranceOptions={"storage": {"size": 5}}),
    cluster(gcsFaultToleranceOptions={"backend": "rocksdb", "storage": {"size": "1.5Gi"}}),
    {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "nothing"}},
    job(submissionMode="Telepathy"),
    job(deletionStrategy={"onSuccess": {"policy": "DeleteWorkers"}, "onFailure": {"policy": "DeleteSelf"}}),
    job(deletionStrategy={"deletionRules": [{"policy": "DeleteNone", "condition": {"jobStatus": "FAILED"}}]}),
    {
        "apiVersion": "ray.io/v1",
        "kind": "RayCronJob",
        "metadata": {"name": "n"},
        "spec": {"schedule": "@daily", "jobTemplate": job()["spec"]},
    },
]
BAD = [
    cluster(headGroupSpec=None),
    cluster(headGroupSpec={}),
    cluster(headGroupSpec=head_group(template=[])),
    cluster(headGroupSpec=head_group(rayStartParams={"num-cpus": 1})),
    cluster(workerGroupSpecs=[worker_group(replicas="3")]),
    cluster(workerGroupSpecs=[{"template": TEMPLATE}]),
    cluster(upgradeStrategy={"type": "Sometimes"}),
    cluster(managedBy="somebody"),
    cluster(gcsFaultToleranceOptions={"storage": {"size": "plenty"}}),
    cluster(gcsFaultToleranceOptions={"storage": {"size": 1.5}}),
    cluster(networkPolicy={"workerGroups": [{}]}),
    job(preRunningDeadlineSeconds=0),
    job(deletionStrategy={}),
    job(deletionStrategy={"onSuccess": {"policy": "DeleteWorkers"}}),
    job(deletionStrategy={"deletionRules": []}),
    job(deletionStrategy={"deletionRules": [{"policy": "DeleteAll", "condition": {"jobStatus": "FAILED"}}]}),
    job(deletionStrategy={"deletionRules": [{"policy": "DeleteSelf", "condition": {}}]}),
    job(
        deletionStrategy={
            "deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}]
        }
    ),
    job(
        deletionStrategy={
            "deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}],
            "onSuccess": {"policy": "DeleteSelf"},
            "onFailure": {"policy": "DeleteSelf"},
        }
    ),
    {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "s"}, "spec": {}},
    {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": "n"}, "spec": {"schedule": "@daily"}},
]


@pytest.mark.parametrize("document", GOOD)
def test_accepted(document: dict[str, Any]) -> None:
    assert errors(document) == []


@pytest.mark.parametrize("document", BAD)
def test_refused(document: dict[str, Any]) -> None:
    assert errors(document)


def test_immutable_fields() -> None:
    ours, other = (cluster(managedBy=name) for name in ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"))
    assert errors(ours, old=ours) == [] and errors(ours, old=cluster()) == []
    assert errors(ours, old=other)
    redis, rocksdb = (cluster(gcsFaultToleranceOptions={"backend": name}) for name in ("redis", "rocksdb"))
    assert errors(rocksdb, old=rocksdb) == []
    assert errors(rocksdb, old=redis)


@pytest.mark.parametrize(("case", "document"), recorded_objects())
def test_recorded_inputs(case: str, document: dict[str, Any]) -> None:
    assert bool(errors(document)) == (case in REFUSED_BY_SCHEMA)
