"""`rayfleet diff` against a real API server: its defaults are no differences, and what it foretells is what comes."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.local.waiting import eventually
from tests.testbed.operator import Operators
from tests.testbed.place import Place, cluster

pytestmark = pytest.mark.testbed


def diff(place: Place, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    words = ["diff", "-f", "-", "-o", "json", "--namespace", place.name, "--kubeconfig", str(place.plane.kubeconfig())]
    command = [sys.executable, "-m", "rayfleet", *words]
    done = subprocess.run(command, input=json.dumps(body), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)[0]["changes"]


def test_what_is_foretold_comes(operators: Operators, place: Place) -> None:
    operators.start("--watch-namespace", place.name)
    body = cluster("demo", 2)
    body["spec"] |= {"enableInTreeAutoscaling": True, "upgradeStrategy": {"type": "Recreate"}}
    body["spec"]["headGroupSpec"]["enableIngress"] = True
    code, foretold = diff(place, body)
    assert code == 1
    place.create("ray.io/v1/rayclusters", body)
    place.await_ready(workers=2)
    kinds = ("Role", "RoleBinding", "ServiceAccount", "Ingress", "Service", "Pod")
    counted = {kind: [each["verb"] for each in foretold if each["kind"] == kind].count("create") for kind in kinds}
    assert counted == {"Role": 1, "RoleBinding": 1, "ServiceAccount": 1, "Ingress": 1, "Service": 1, "Pod": 3}
    code, found = diff(place, body)
    assert code == 0, found

    more = copy.deepcopy(body)
    more["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "rayproject/ray:2.61.0"
    more["spec"]["headGroupSpec"]["enableIngress"] = False
    before = {pod["metadata"]["name"] for pod in place.pods()}
    code, foretold = diff(place, more)
    assert code == 1
    assert {each["name"] for each in foretold if (each["verb"], each["kind"]) == ("replace", "Pod")} == before
    assert [each["kind"] for each in foretold if each["verb"] == "delete"] == ["Ingress"]
    patch = {"spec": {"headGroupSpec": more["spec"]["headGroupSpec"]}}
    place.plane.request("PATCH", place.path("ray.io/v1/rayclusters", "demo"), patch, kind="application/merge-patch+json")
    replaced = {each["by"] for each in foretold if each["verb"] == "replace"}
    eventually(lambda: {pod["metadata"]["name"] for pod in place.pods()} == replaced, 60.0, "the names that were foretold")
    place.await_ready(workers=2)
    assert diff(place, more) == (0, [])
