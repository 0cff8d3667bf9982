"""What is behind a Pod's volumes, how it follows its objects, and what is told when it cannot be had."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, PODS
from rayfleet.kube.errors import NotFound
from rayfleet.kubelet.env import ConfigError, Facts
from rayfleet.kubelet.host_paths import admitted, prepare
from rayfleet.kubelet.volumes import fill
from tests.kubelet.world import FOR_EVER, World, pod, until

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def host_path(path: Path, kind: str = "") -> dict[str, Any]:
    return {"name": "v", "hostPath": {"path": str(path), "type": kind}}


@pytest.mark.parametrize(
    ("kind", "there", "good"),
    [
        ("", "nothing", True),
        ("", "file", True),
        ("Directory", "directory", True),
        ("Directory", "file", False),
        ("Directory", "nothing", False),
        ("DirectoryOrCreate", "nothing", True),
        ("DirectoryOrCreate", "file", False),
        ("File", "file", True),
        ("File", "nothing", False),
        ("FileOrCreate", "nothing", True),
        ("Socket", "socket", True),
        ("Socket", "file", False),
        ("CharDevice", "file", False),
        ("BlockDevice", "nothing", False),
        ("Strange", "nothing", False),
    ],
)
def test_what_a_host_path_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, there: str, good: bool) -> None:
    path = tmp_path / "it"
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        {"nothing": lambda: None, "file": path.touch, "directory": path.mkdir, "socket": lambda: one.bind("it")}[there]()
        if good:
            prepare(host_path(path, kind), path)
            assert path.exists()
        else:
            with pytest.raises(ConfigError, match=kind.removesuffix("OrCreate")):
                prepare(host_path(path, kind), path)


def test_a_host_path_is_where_the_user_allowed_it_whatever_links_lead_there(tmp_path: Path) -> None:
    file, data = tmp_path / "allowed.json", tmp_path / "data"
    data.mkdir()
    (data / "out").symlink_to("/etc")
    file.write_text(f'["{data}"]')
    assert admitted(host_path(data / "a" / "b"), file) == data / "a" / "b"
    for path in (data / "out", data / ".." / "x", tmp_path, Path("/")):
        with pytest.raises(ConfigError, match="hostPaths"):
            admitted(host_path(path), file)
        assert admitted(host_path(path), None) == path.resolve()
    with pytest.raises(ConfigError, match="hostPaths"):
        admitted(host_path(data), tmp_path / "no-such-file")


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../out"])
def test_no_file_of_a_volume_leads_out_of_it(tmp_path: Path, path: str) -> None:
    volume = {"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": path}]}}
    facts = Facts({}, {}, "", "", {}, {("configmap", "c"): {"k": "x"}})
    with pytest.raises(ConfigError, match="inside its volume"):
        fill(tmp_path / "pod", [volume], facts, None)


@pytest.mark.namespaces
async def test_what_cannot_be_had_is_told(bare_world: World, tmp_path: Path) -> None:
    bare_world.settings = replace(bare_world.settings, host_paths=tmp_path / "allowed.json")
    await bare_world.start_kubelet()
    for name, volume in (("nfs", {"nfs": {"server": "s", "path": "/"}}), ("host", {"hostPath": {"path": "/etc"}})):
        mounts = [{"name": "v", "mountPath": "/v"}]
        await bare_world.apply(pod(FOR_EVER, name, volumes=[{"name": "v", **volume}], volumeMounts=mounts))
    for words in ('volume "v": nfs volumes are not offered by the local kubelet', "hostPath /etc is below no directory"):

        async def told(words: str = words) -> bool:
            return any(words in note for note in await bare_world.events("FailedMount"))

        await until(words, told)


@pytest.mark.namespaces
async def test_files_follow_their_object_and_only_the_kubelet_writes_them(world: World) -> None:
    await world.apply({"metadata": {"name": "c"}, "data": {"old": "1", "both": "1", "run": "echo ran"}}, CONFIGMAPS)
    sources = [
        {"configMap": {"name": "c", "items": [{"key": "run", "path": "bin/run", "mode": 0o755}]}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]
    volumes = [{"name": "all", "configMap": {"name": "c", "optional": True, "defaultMode": 0o640}}]
    volumes += [{"name": "some", "projected": {"sources": sources}}, {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("all", "some", "m")]
    script = """
        /some/bin/run; stat -c %a /all/ /all/both | tail -1
        touch /all/mine 2>&1 | grep -o 'Read-only.*'
        head -c 2000000 /dev/zero 2>&1 > /m/f | grep -o 'No space.*'
        cat /some/labels; echo
        until [ ! -e /all/old ] && grep -q 2 /all/both && grep -q 'more="3"' /some/labels; do sleep 0.05; done; ls /all"""
    await world.apply(pod(script, restartPolicy="Never", volumes=volumes, volumeMounts=mounts))
    await until("it runs", lambda: world.log_has('app="a"'))
    await world.client.patch(CONFIGMAPS, "c", "default", {"data": {"old": None, "both": "2"}})
    await world.client.patch(PODS, "a", "default", {"metadata": {"labels": {"more": "3"}}})
    await world.reaches("Succeeded")
    told = (await world.log()).splitlines()
    assert told == ["ran", "640", "Read-only file system", "No space left on device", 'app="a"', "both", "run"]


@pytest.mark.namespaces
async def test_an_ephemeral_volume_is_a_claim_that_comes_and_goes_with_its_pod(world: World) -> None:
    template = {
        "metadata": {"labels": {"of": "v"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}
    await world.apply(pod(f"echo x > /v/f; {FOR_EVER}", volumes=[volume], volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    await world.becomes_ready()
    claim = await world.client.get(PERSISTENTVOLUMECLAIMS, "a-v", "default")
    assert claim["status"]["phase"] == "Bound"
    assert claim["metadata"]["labels"] == {"of": "v"}
    assert claim["metadata"]["ownerReferences"][0]["uid"] == (await world.pod())["metadata"]["uid"]
    await world.client.delete(PODS, "a", "default")
    await until("the Pod is gone", world.gone)
    assert not any(world.settings.claims.iterdir())
    with pytest.raises(NotFound):
        await world.client.get(PERSISTENTVOLUMECLAIMS, "a-v", "default")


@pytest.mark.namespaces
async def test_another_pods_claim_is_not_taken(world: World) -> None:
    await world.apply({"metadata": {"name": "a-v"}, "spec": CLAIM}, PERSISTENTVOLUMECLAIMS)
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    await world.apply(pod(FOR_EVER, volumes=[volume]))
    assert "is not this Pod's" in (await until("an event", lambda: world.events("FailedMount")))[0]
    await world.client.delete(PODS, "a", "default", grace=0)
    await until("the Pod is gone", world.gone)
    assert await world.client.get(PERSISTENTVOLUMECLAIMS, "a-v", "default")
