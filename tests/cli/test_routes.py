"""On OpenShift: Routes are found by discovery at start, and made in place of Ingresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayfleet.api.crds import crds
from rayfleet.cli.output import dump_yaml
from tests.cli.api import api_server
from tests.cli.conftest import Run
from tests.cli.test_run import EXAMPLE, Start, start, workers_of
from tests.local.waiting import eventually

__all__ = ["start"]
ROUTES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "routes.route.openshift.io"},
    "spec": {
        "group": "route.openshift.io",
        "names": {"kind": "Route", "listKind": "RouteList", "plural": "routes", "singular": "route"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
TEXT = EXAMPLE.read_text().replace("  headGroupSpec:\n", "  headGroupSpec:\n    enableIngress: true\n")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with api_server(tmp_path) as path:
        yield str(path)


@pytest.mark.parametrize("switched", [False, True], ids=["route", "ingress"])
def test_routes_are_made_where_the_api_serves_them(
    command: Run,
    kubeconfig: str,
    start: Start,
    switched: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if switched:
        monkeypatch.setenv("USE_INGRESS_ON_OPENSHIFT", "true")
    command("apply", "-f", "-", "--kubeconfig", kubeconfig, text="---\n".join(map(dump_yaml, (*crds(), ROUTES))))
    command("apply", "-f", "-", "--kubeconfig", kubeconfig, text=TEXT)
    start("run", "--no-leader-election")
    start("hollow-kubelet", "--delay", "0.05")
    eventually(lambda: workers_of(command, kubeconfig) == {"one": "ready 2/2", "two": "ready 1/1"}, 30.0)
    entries = [each for each in listed(command, kubeconfig) if each["kind"] in ("Route", "Ingress")]
    assert [each["kind"] for each in entries] == (["Ingress"] if switched else ["Route"]) * 2
    same = command("diff", "-f", "-", "--kubeconfig", kubeconfig, text=TEXT)
    assert same.returncode == 0, same.stdout + same.stderr
    gone = command("diff", "-f", "-", "-o", "json", "--kubeconfig", kubeconfig, text=EXAMPLE.read_text())
    deleted = [(each["verb"], each["kind"]) for case in json.loads(gone.stdout) for each in case["changes"] if each["verb"] == "delete"]
    assert deleted == [("delete", "Ingress" if switched else "Route")] * 2


def listed(command: Run, kubeconfig: str) -> list[dict[str, str]]:
    """What stands under both resources, asked of the API itself."""
    import urllib.request

    server = json.loads(Path(kubeconfig).read_text())["clusters"][0]["cluster"]["server"]
    found = []
    for path, kind in (("route.openshift.io/v1/routes", "Route"), ("networking.k8s.io/v1/ingresses", "Ingress")):
        request = urllib.request.Request(f"{server}/apis/{path}", headers={"Authorization": "Bearer a-token"})
        with urllib.request.urlopen(request, timeout=60) as response:
            found += [{"kind": kind, "name": item["metadata"]["name"]} for item in json.load(response)["items"]]
    return found
