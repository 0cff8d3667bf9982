"""Real Ray behind a token, and behind certificates: who has them is served, and nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.fleet import GONE, Cluster
from tests.e2e.servers import Site
from tests.issuer.authority import Issued, issue
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces]

PATIENCE = 15.0  # seconds; who is served has his answer after two
FILES = {"RAY_TLS_SERVER_CERT": "tls.crt", "RAY_TLS_SERVER_KEY": "tls.key", "RAY_TLS_CA_CERT": "ca.crt"}

SIZED = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 3600}}
"""By the operator, whom the head must let in for that."""


def await_hearing(cluster: Cluster) -> None:
    """Until the operator has been told by the head what waits for room."""

    def is_heard() -> bool:
        conditions = cluster.found()["status"]["conditions"]
        return any((each["type"], each["reason"]) == ("Autoscaling", "Working") for each in conditions)

    eventually(is_heard, PATIENCE, f"the operator hears the head of {cluster.name}")


def await_nothing(cluster: Cluster) -> None:
    cluster.delete()
    for plural in ("pods", "services", "secrets"):
        eventually(lambda plural=plural: not cluster.children(plural), GONE, f"no {plural} of {cluster.name} are left")


@pytest.fixture(scope="module")
def guarded(site: Site) -> Iterator[Cluster]:
    cluster = Cluster(site, "guarded").make(1, authOptions={"mode": "token"}, **SIZED)
    cluster.await_ready(1)
    yield cluster
    await_nothing(cluster)


def test_with_the_token_a_job_runs_on_all_pods(guarded: Cluster) -> None:
    await_hearing(guarded)
    guarded.await_work_on_all(guarded.secret("guarded")["auth_token"].decode())


@pytest.mark.parametrize(("token", "code"), [("", 401), ("wrong", 403)])
def test_without_it_a_job_is_refused(guarded: Cluster, token: str, code: int) -> None:
    with pytest.raises(OSError, match=f"answered {code}"):
        guarded.job("print('in')", token)


def test_a_secret_that_is_deleted_is_made_again_and_the_next_head_has_another_token(guarded: Cluster) -> None:
    before = guarded.secret("guarded")["auth_token"]
    path = "/api/v1/namespaces/default/secrets/guarded"
    assert guarded.site.server.request("DELETE", path)[0] == 200
    eventually(lambda: guarded.site.server.request("GET", path)[0] == 200, GONE, "the Secret is there again")
    after = guarded.secret("guarded")["auth_token"]
    assert after != before
    assert guarded.job("print('in')", before.decode()).status == "SUCCEEDED"  # who runs keeps the token that he was started with


@pytest.fixture(scope="module")
def certified(site: Site) -> Iterator[Cluster]:
    cluster = Cluster(site, "certified").make(1, tlsOptions={"enabled": True}, **SIZED)
    cluster.await_ready(1)
    yield cluster
    await_nothing(cluster)


def is_alive(cluster: Cluster, files: dict[str, bytes], directory: Path) -> bool:
    """Does the head's GCS answer a client with these files, or one without any?"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "RAY_AUTH_MODE": "disabled"}
    if files:
        for name, content in files.items():
            (directory / name).write_bytes(content)
        environment |= {"RAY_USE_TLS": "1", **{variable: str(directory / name) for variable, name in FILES.items()}}
    words = [Path(sys.executable).with_name("ray"), "health-check", "--address", f"{cluster.address()}:6379"]
    try:
        return subprocess.run(words, env=environment, capture_output=True, timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:  # by itself it tries for half a minute
        return False


def test_nodes_with_certificates_work_together(certified: Cluster) -> None:
    await_hearing(certified)
    certified.await_work_on_all()


def test_only_who_shows_a_certificate_of_the_clusters_own_ca_is_served(certified: Cluster, tmp_path: Path) -> None:
    files = certified.secret("ray-worker-secret-certified")
    eventually(lambda: is_alive(certified, files, tmp_path), GONE, "the head answers")
    assert not is_alive(certified, {}, tmp_path)
    stranger: Issued = issue({"dnsNames": ["localhost"]}, issue({"commonName": "another CA", "isCA": True}))
    assert not is_alive(certified, {**files, "tls.crt": stranger.certificate, "tls.key": stranger.key}, tmp_path)


def test_a_worker_that_comes_later_is_named_and_joins(certified: Cluster) -> None:
    before = certified.uids()
    certified.scale(2)
    certified.await_ready(2)
    assert before.items() < certified.uids().items()
    certified.await_work_on_all()
