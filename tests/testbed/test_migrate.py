"""`rayfleet migrate check` with the rights of an administrator, and with those of somebody who may see little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed.operator import Operators
from tests.testbed.place import Place, cluster
from tests.testbed.test_rights import grant

pytestmark = pytest.mark.testbed
READ = ["get", "list"]


def test_what_may_not_be_seen_is_said_and_not_guessed_at(operators: Operators, place: Place) -> None:
    operators.start()
    made = cluster("demo", workers=1)
    made["spec"]["headGroupSpec"]["enableIngress"] = True
    place.create("ray.io/v1/rayclusters", made)
    place.await_ready(workers=1)
    operators.settle(place.name)

    code, text = check(place.plane.kubeconfig("admin"), place.name)
    assert code == 0 and text.endswith("1 RayCluster in 1 namespace: nothing would change\n")

    place.plane.kubectl("create", "serviceaccount", "reader", "--namespace", place.name)
    kinds = {"ray.io": ["rayclusters"], "": ["pods", "services"]}
    grant(place, "reader", [{"apiGroups": [group], "resources": names, "verbs": READ} for group, names in kinds.items()])
    code, text = check(place.plane.service_account(place.name, "reader"), place.name)
    assert code == 2
    for kind in (f"ingresses in {place.name}", f"rayjobs in {place.name}", "leases of other namespaces"):
        assert f"cannot see: {kind}" in text
    assert "nothing would change" in text, "an Ingress that may not be seen is not taken for one that is missing"

    grant(place, "reader", [{"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": READ}])
    code, text = check(place.plane.service_account(place.name, "reader"), place.name)
    assert code == 2 and 'cannot list resource "pods"' in text


def check(kubeconfig: Path, namespace: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "rayfleet", "migrate", "check", "-n", namespace, "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr
