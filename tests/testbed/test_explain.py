"""`explain` and `doctor --cluster` against a real control plane: its refusals, its rights."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from deploy.objects import NAME, SYSTEM_NAMESPACE
from testbed.control_plane import ControlPlane
from tests.local.waiting import eventually
from tests.testbed.operator import Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RBAC = "rbac.authorization.k8s.io"


def rayfleet(kubeconfig: Any, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rayfleet", *words, "--kubeconfig", str(kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def explained(kubeconfig: Any, place: Place, name: str = "demo") -> dict[str, Any]:
    done = rayfleet(kubeconfig, "explain", name, "-n", place.name, "-o", "json")
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if found["healthy"] else 1)
    return found


def problems(kubeconfig: Any, place: Place) -> list[str]:
    return [finding["problem"] for finding in explained(kubeconfig, place)["findings"]]


def test_a_webhook_that_does_not_answer_is_named_until_it_is_gone(operators: Operators, plane: ControlPlane, place: Place) -> None:
    hook = {
        "name": "pods.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/judge"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.name}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 2,
        "admissionReviewVersions": ["v1"],
    }
    made = {"metadata": {"name": place.name}, "webhooks": [hook]}
    assert plane.request("POST", WEBHOOKS, made)[0] == 201
    admin = plane.kubeconfig()
    try:
        operators.start()
        place.make_cluster(workers=1)
        eventually(lambda: "WebhookUnavailable" in problems(admin, place), 60.0)
        (finding,) = explained(admin, place)["findings"]
        assert "pods.example.com" in finding["seen"]
        assert [step["source"] for step in finding["why"]] == ["condition", "event"]
    finally:
        plane.request("DELETE", f"{WEBHOOKS}/{place.name}")
    place.await_ready(workers=1)
    eventually(lambda: explained(admin, place)["state"] == "ready", 30.0)
    assert problems(admin, place) == []


def test_who_may_not_read_logs_and_events_is_told_so_and_the_rest(operators: Operators, plane: ControlPlane, place: Place) -> None:
    rules = [{"apiGroups": ["ray.io", ""], "resources": ["rayclusters", "pods"], "verbs": ["get", "list"]}]
    place.create("serviceaccounts", {"metadata": {"name": "reader"}})
    place.create(f"{RBAC}/v1/roles", {"metadata": {"name": "reader"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": place.name}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "reader"}
    place.create(f"{RBAC}/v1/rolebindings", {"metadata": {"name": "reader"}, "roleRef": reference, "subjects": [subject]})
    operators.start()
    place.make_cluster(workers=1)
    place.await_ready(workers=1)
    found = explained(plane.service_account(place.name, "reader"), place)
    assert found["healthy"] and found["state"] == "ready"
    assert any(note.startswith("not seen: events: ") and "forbidden" in note for note in found["notes"])


def test_the_shipped_rights_suffice_and_those_of_nobody_do_not(plane: ControlPlane) -> None:
    admin = plane.kubeconfig()
    ours = rayfleet(admin, "doctor", "--cluster", "--as", f"system:serviceaccount:{SYSTEM_NAMESPACE}:{NAME}", "-o", "json")
    assert ours.returncode == 0, ours.stdout + ours.stderr
    states = {row["item"]: row["state"] for row in json.loads(ours.stdout)["checks"] if row["area"] == "rights"}
    assert {states.pop(gated) for gated in ("network policies", "certificates", "RocksDB claims")} == {"off"}, "in a manifest of their own"
    assert set(states.values()) == {"ok"}
    nobody = rayfleet(admin, "doctor", "--cluster", "--as", "nobody")
    assert nobody.returncode == 1
    assert "not allowed: get, list, watch, patch rayclusters.ray.io" in nobody.stdout
