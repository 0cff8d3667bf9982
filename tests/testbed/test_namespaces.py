"""Several chosen namespaces, with rights in them and nowhere else."""

from __future__ import annotations

import pytest

from deploy.objects import NAME
from rayfleet.cli.rights import WORK, rules
from testbed.control_plane import ControlPlane
from tests.testbed.operator import Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed
RBAC = "rbac.authorization.k8s.io"


def test_an_operator_of_two_namespaces_asks_of_no_other(operators: Operators, plane: ControlPlane) -> None:
    home, other, foreign = (Place(plane, name).make() for name in ("team-home", "team-other", "team-foreign"))
    home.create("serviceaccounts", {"metadata": {"name": NAME}})
    for place in (home, other):
        place.create(f"{RBAC}/v1/roles", {"metadata": {"name": NAME}, "rules": rules(WORK)})
        subject = {"kind": "ServiceAccount", "name": NAME, "namespace": home.name}
        reference = {"apiGroup": RBAC, "kind": "Role", "name": NAME}
        place.create(f"{RBAC}/v1/rolebindings", {"metadata": {"name": NAME}, "roleRef": reference, "subjects": [subject]})
    kubeconfig = plane.service_account(home.name, NAME)
    operators.start("--watch-namespace", f"{home.name},{other.name}", "--no-leader-election", kubeconfig=kubeconfig)
    for place in (home, other, foreign):
        place.make_cluster(workers=1)
    for place in (home, other):
        place.await_ready(workers=1)
    asked = [request for request in operators.asked() if request.user == f"system:serviceaccount:{home.name}:{NAME}"]
    objects = [request for request in asked if not request.resource.startswith("/")]  # what is served may be asked by everybody
    assert {request.namespace for request in objects} == {home.name, other.name}
    assert [str(request) for request in asked if request.code in (401, 403)] == []
    assert foreign.cluster()["metadata"]["generation"] == 1 and not foreign.pods() and "status" not in foreign.cluster()
    for place in (home, other, foreign):
        place.remove()
