"""A Pod's own account: every Pod reaches the API by kubernetes.default.svc, as who it is, and may do what its account may."""

from __future__ import annotations

import pytest

from tests.e2e.fleet import GONE
from tests.e2e.servers import Site
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces]

PODS = "/api/v1/namespaces/default/pods"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
ASKS = f"""
import ssl, urllib.error, urllib.request
def get(path):
    headers = {{"Authorization": "Bearer " + open("{ACCOUNT}/token").read()}}
    request = urllib.request.Request("https://kubernetes.default.svc" + path, headers=headers)
    try:
        answer = urllib.request.urlopen(request, context=ssl.create_default_context(cafile="{ACCOUNT}/ca.crt"))
    except urllib.error.HTTPError as refusal:
        answer = refusal
    return answer.status, answer.read().decode()
print(open("{ACCOUNT}/namespace").read(), get("/version")[0], *get("{PODS}"))
"""


def test_a_pod_is_its_own_account_at_the_service_of_the_api_server(site: Site) -> None:
    container = {"name": "main", "image": "any", "command": ["python3", "-c", ASKS]}
    body = {"metadata": {"name": "asks"}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    eventually(lambda: site.server.request("POST", PODS, body)[0] == 201, GONE, "the account is there")
    ended = ("Succeeded", "Failed")
    eventually(lambda: site.server.request("GET", f"{PODS}/asks")[1]["status"].get("phase") in ended, GONE, "it has asked")
    told = site.server.request("GET", f"{PODS}/asks/log")[1]
    assert told.startswith("default 200 403 ")
    assert 'User \\"system:serviceaccount:default:default\\" cannot list resource \\"pods\\"' in told
    assert site.server.request("DELETE", f"{PODS}/asks")[0] == 200
