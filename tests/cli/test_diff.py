"""`diff` against a live cluster: what would be done, why, and the exit code; nothing is written."""

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
TEXT = EXAMPLE.read_text()


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with api_server(tmp_path) as path:
        yield str(path)


def test_a_living_fleet_is_compared_with_changed_files(command: Run, kubeconfig: str, start: Start) -> None:
    def diff(text: str, *words: str) -> tuple[int, str]:
        done = command("diff", "-f", "-", "--kubeconfig", kubeconfig, *words, text=text)
        return done.returncode, done.stdout + done.stderr

    command("apply", "-f", "-", "--kubeconfig", kubeconfig, text="---\n".join(map(dump_yaml, crds())))
    code, shown = diff(TEXT)
    assert code == 1
    assert "create raycluster/one" in shown and "create pod/one-head-" in shown and "because it is not there" in shown

    command("apply", "-f", str(EXAMPLE), "--kubeconfig", kubeconfig)
    operator = start("run", "--no-leader-election")
    start("hollow-kubelet", "--delay", "0.05")
    eventually(lambda: workers_of(command, kubeconfig) == {"one": "ready 2/2", "two": "ready 1/1"}, 30.0)
    operator.kill()
    assert diff(TEXT) == (0, "raycluster default/one\n  nothing to do\nraycluster default/two\n  nothing to do\n")

    code, shown = diff(TEXT.replace("replicas: 2", "replicas: 3"), "-o", "json")
    assert code == 1
    (one, two) = json.loads(shown)
    assert [(each["verb"], each["kind"]) for each in one["changes"]] == [("change", "RayCluster"), ("create", "Pod")]
    assert one["changes"][0]["fields"] == ["spec.workerGroupSpecs[0].replicas: 2 -> 3"]
    assert one["changes"][1]["why"] == "2 of 3 replicas are there" and two["changes"] == []

    code, shown = diff(TEXT.replace("2.60.0", "2.61.0"))
    assert code == 1 and "note: living Pods keep what they were made from" in shown
    code, shown = diff(TEXT.replace("replicas: 2", "replicas: -2"))
    assert code == 2 and "spec.workerGroupSpecs[0].replicas: -2 is negative" in shown
    assert workers_of(command, kubeconfig) == {"one": "ready 2/2", "two": "ready 1/1"}


def test_what_cannot_be_found_out_is_neither_yes_nor_no(command: Run, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("{}")
    for words in (("-f", "/no/such.yaml"), ("-f", str(EXAMPLE), "--kubeconfig", "/no/such"), ("-f", str(EXAMPLE), "--feature-gates", "X")):
        failed = command("diff", *words)
        assert failed.returncode == 2, failed.stderr
        assert failed.stderr.startswith(("Error: ", "Usage: ")) and "Traceback" not in failed.stderr
