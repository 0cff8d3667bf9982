"""Which containers show a certificate, and the one that waits for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.resources import tls
from tests.issuer.authority import issue
from tests.raycluster.vocabulary import cluster, group, template
from tests.resources.test_pods import env_of, head_of, worker_of

TLS = {"tlsOptions": {"enabled": True}}


def test_every_container_of_ray_has_it_and_the_first_one_waits() -> None:
    of = cluster(group(), enableInTreeAutoscaling=True, **TLS)
    head, worker = head_of(of)["spec"], worker_of(of)["spec"]
    for container in (*head["containers"], *worker["containers"], worker["initContainers"][-1]):
        assert env_of(container)["RAY_USE_TLS"] == "1"
        assert {"name": "ray-tls", "mountPath": "/etc/ray/tls", "readOnly": True} in container["volumeMounts"]
    assert [spec["initContainers"][0]["name"] for spec in (head, worker)] == [tls.WAIT, tls.WAIT]
    secrets = [volume["secret"]["secretName"] for spec in (head, worker) for volume in spec["volumes"] if "secret" in volume]
    assert secrets == ["ray-head-secret-demo", "ray-worker-secret-demo"]


def test_the_heads_certificate_names_a_service_of_the_users_own() -> None:
    own = {"headService": {"metadata": {"name": "entry"}}, "template": template()}
    manifest = tls.node_certificate(cluster(headGroupSpec=own, **TLS), "head", [tls.LOCAL], Configuration())
    assert manifest["spec"]["dnsNames"] == ["entry.default.svc.cluster.local", "localhost"]


def test_it_waits_while_the_certificate_is_for_another_host_and_goes_on_when_it_is_replaced(tmp_path: Path) -> None:
    def put(**spec: Any) -> None:
        (tmp_path / "draft").write_bytes(issue(spec).certificate)
        (tmp_path / "draft").replace(tmp_path / "tls.crt")

    put(ipAddresses=["10.0.0.10", "127.0.0.1"])
    script = tls.SCRIPT.format(path=tmp_path)
    environment = {"POD_IP": "10.0.0.1", "PATH": os.environ["PATH"]}
    with subprocess.Popen(["sh", "-c", script], env=environment, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        said = [waiting.stdout.readline() for _ in range(3)]
        assert "does not name 10.0.0.1 yet" in said[0]
        assert "10.0.0.10" in "".join(said)
        assert waiting.poll() is None
        put(ipAddresses=["10.0.0.1"])
        assert waiting.wait(timeout=120) == 0
