"""What is kept of Pods that are gone, and what not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kubelet import kept_logs
from rayfleet.kubelet.kept_logs import keep, listed, trim
from rayfleet.kubelet.logs import Wanted, read
from tests.kubelet.world import World, pod, until


def pod_directory(tmp_path: Path, uid: str, size: int) -> Path:
    directory = tmp_path / "pods" / uid
    (directory / "containers" / "main").mkdir(parents=True)
    (directory / "pod.json").write_text(f'{{"namespace": "n", "name": "a", "uid": "{uid}", "address": "", "link": ""}}')
    (directory / "containers" / "main" / "0.log").write_bytes(bytes(size))
    return directory


def test_the_oldest_go_first_and_the_newest_stays_however_large(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    for number in range(5):
        keep(pod_directory(tmp_path, f"u{number}", 1000), folder)
    trim(folder, most_bytes=3500)
    assert [kept.pod.uid for kept in listed(folder)] == ["u2", "u3", "u4"]
    trim(folder, most_pods=2)
    assert [kept.pod.uid for kept in listed(folder)] == ["u3", "u4"]
    trim(folder, most_bytes=10)
    assert [kept.pod.uid for kept in listed(folder)] == ["u4"]


def test_a_pod_that_said_nothing_leaves_nothing(tmp_path: Path) -> None:
    keep(pod_directory(tmp_path, "u", 0), tmp_path / "logs")
    assert list(listed(tmp_path / "logs")) == []


def test_a_disk_that_takes_nothing_more_hinders_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "logs").write_text("no directory can be made here")
    keep(pod_directory(tmp_path, "u", 1), tmp_path / "logs")
    assert "could not be kept" in caplog.text


def test_many_that_end_at_once_are_kept_within_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kept_logs.trim, "__defaults__", (10_000, 5))
    pods = [pod_directory(tmp_path, f"u{number}", 1000) for number in range(50)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda pod: keep(pod, tmp_path / "logs"), pods))
    assert len(list(listed(tmp_path / "logs"))) == 5
    assert not caplog.text


@pytest.mark.namespaces
async def test_a_pods_logs_outlive_it_by_its_uid(world: World) -> None:
    uid = (await world.apply(pod("echo last words", restartPolicy="Never")))["metadata"]["uid"]
    await world.reaches("Succeeded")
    await world.client.delete(PODS, "a", "default")
    (kept,) = await until("its logs are kept", lambda: list(listed(world.settings.kept_logs)))
    assert (kept.pod.uid, kept.histories()["main"][-1].exit_code) == (uid, 0)
    assert [piece async for piece in read(kept.logs("main")[0], Wanted(), lambda: True)] == [b"last words\n"]
