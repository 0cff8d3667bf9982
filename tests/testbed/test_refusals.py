"""What a cluster's administrators do to an operator: quotas, policies, webhooks, namespaces that go away under it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from testbed.audit import counted
from testbed.control_plane import free_port
from tests.local.waiting import eventually
from tests.testbed.operator import Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed
TOLD = "no workers on Mondays"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def failure(place: Place) -> dict[str, Any]:
    return place.condition("ReplicaFailure")


def test_a_full_quota_is_told_in_the_apis_words_asked_seldom_and_used_once_it_is_raised(operators: Operators, place: Place) -> None:
    place.create("resourcequotas", {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "3"}}})
    eventually(lambda: "hard" in place.list("resourcequotas")[0].get("status", {}))
    operators.start()
    place.make_cluster(workers=30)
    eventually(lambda: failure(place).get("status") == "True")
    assert "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3" in failure(place)["message"]
    eventually(lambda: any("exceeded quota: small" in note for note in place.events("FailedToCreateWorkerPod")))
    assert len(place.pods()) == 3
    refused = [request for request in operators.writes(place.name) if request.resource == "pods" and request.code == 403]
    assert len(refused) <= 8, "of 28 that are missing only a few were tried"
    raised = {"spec": {"hard": {"pods": "100"}}}
    place.plane.request("PATCH", place.path("resourcequotas", "small"), raised, kind="application/merge-patch+json")
    place.await_ready(workers=30, within=60.0)
    eventually(lambda: failure(place).get("status") != "True")


def policy(place: Place) -> Callable[[], None]:
    """A ValidatingAdmissionPolicy that lets no Ray worker in; gives what removes it."""
    name = f"no-workers-{place.name}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.?labels['ray.io/node-type'].orValue('') != 'worker'", "message": TOLD}],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": place.name}}
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector}}
    for plural, body in (("validatingadmissionpolicies", spec), ("validatingadmissionpolicybindings", binding)):
        code, answer = place.plane.request("POST", f"{ADMISSION}/{plural}", {"metadata": {"name": name}, "spec": body})
        assert code == 201, answer

    def remove() -> None:
        for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            place.plane.request("DELETE", f"{ADMISSION}/{plural}/{name}")

    return remove


def webhook(place: Place) -> Callable[[], None]:
    """A webhook for Pods whose server is down; gives what removes it."""
    name = f"down-{place.name}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    hook = {
        "name": "pods.down.example",
        "clientConfig": {"url": f"https://127.0.0.1:{free_port()}/"},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.name}},
    }
    path = f"{ADMISSION}/validatingwebhookconfigurations"
    code, answer = place.plane.request("POST", path, {"metadata": {"name": name}, "webhooks": [hook]})
    assert code == 201, answer

    def remove() -> None:
        place.plane.request("DELETE", f"{path}/{name}")

    return remove


@pytest.mark.parametrize(
    ("forbid", "told"),
    [(policy, TOLD), (webhook, 'failed calling webhook "pods.down.example"')],
    ids=["policy", "webhook"],
)
def test_pods_that_are_not_admitted_are_told_of_and_made_once_they_are(
    operators: Operators, place: Place, forbid: Callable[[Place], Callable[[], None]], told: str
) -> None:
    allow = forbid(place)
    try:
        eventually(lambda: told in str(trial(place)))
        operator = operators.start()
        place.make_cluster(workers=10)
        eventually(lambda: told in failure(place).get("message", ""))
        assert len([request for request in operators.writes(place.name) if request.resource == "pods" and request.code >= 400]) <= 8
        assert operator.said("error") == operator.said("broken") == []
    finally:
        allow()
    place.await_ready(workers=10, within=60.0)


def trial(place: Place) -> Any:
    """What the API says of a worker Pod that nobody makes; a new policy counts only after a moment."""
    pod = {
        "metadata": {"name": "trial", "labels": {"ray.io/node-type": "worker"}},
        "spec": {"containers": [{"name": "trial", "image": "trial"}]},
    }
    return place.plane.request("POST", place.path("pods") + "?dryRun=All", pod)


def test_a_namespace_that_goes_away_under_its_clusters_makes_no_storm(operators: Operators, place: Place) -> None:
    operator = operators.start()
    for number in range(5):
        place.make_cluster(f"many-{number}", workers=4)
    for number in range(5):
        place.await_ready(workers=4, name=f"many-{number}")
    settled = len(operators.writes(place.name))
    place.remove()
    eventually(lambda: place.plane.answers(f"/api/v1/namespaces/{place.name}") == 404, 90.0)
    written = operators.writes(place.name)[settled:]
    refused = [str(request) for request in written if request.code == 403]
    assert len(refused) <= 10 * 5, f"{len(refused)} refusals for 5 clusters: {counted(written)}"
    assert operator.said("error") == operator.said("broken") == []
    other = Place(place.plane).make()
    other.make_cluster(workers=1)
    other.await_ready(workers=1)
    other.remove()
