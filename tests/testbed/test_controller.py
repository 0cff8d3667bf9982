"""A controller made of client-go and controller-runtime (testbed/controller) sees the same on the embedded API as on a real one."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.build import HERE, controller
from testbed.control_plane import ControlPlane
from tests.apiserver.test_durability import TOKEN, free_port, running
from tests.kube.certificates import Authority

NAMESPACE = "controlled"


def configuration(file: Path, url: str, authority: Path, token: str) -> Path:
    cluster = {"name": "c", "cluster": {"server": url, "certificate-authority": str(authority)}}
    content: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "current-context": "c"}
    content |= {"users": [{"name": "u", "user": {"token": token}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}
    file.write_text(yaml.safe_dump(content))
    return file


async def told(file: Path, namespace: str) -> list[str]:
    """What the controller prints."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(str(controller()), str(file), namespace, stdout=pipe, stderr=pipe)
    out, err = await asyncio.wait_for(process.communicate(), 600)
    assert process.returncode == 0, (out.decode(), err.decode())
    return out.decode().splitlines()


@pytest.mark.testbed
async def test_a_controller_in_go_sees_the_same(control_plane: ControlPlane, tmp_path: Path) -> None:
    if not controller().exists():
        pytest.skip("make testbed builds it")
    authority, port = Authority(tmp_path), free_port()
    async with running(tmp_path / "state", port, *authority.issue("localhost")):
        ours = await told(configuration(tmp_path / "ours", f"https://localhost:{port}", authority.file, TOKEN), "default")
    credentials = control_plane.credentials
    control_plane.kubectl("create", "namespace", NAMESPACE)
    file = configuration(tmp_path / "theirs", control_plane.url, credentials.ca, credentials.tokens["admin"])
    assert ours == await told(file, NAMESPACE)
    assert ours[0] == "the cache is in sync"
    assert ours[-1] == "the second leads once the first has ended"


def test_it_is_made_of_the_same_version_of_kubernetes() -> None:
    texts = [(HERE / place / "go.mod").read_text() for place in (".", "controller")]
    assert len({version for text in texts for version in re.findall(r"k8s\.io/client-go (v\S+)", text)}) == 1
