"""`rayfleet job` against a fake cluster behind an API server's proxy: what is made, what is printed where, and with which code it ends."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from rayfleet.cli import job_course
from tests.cli.fake_ray import FakeRay, fake_ray

Job = Callable[..., Result]
PROGRAM = ("--", "python", "x.py", "it's $HOME")
QUOTED = "python x.py 'it'\"'\"'s $HOME'"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[FakeRay, str]]:
    with fake_ray(tmp_path) as found:
        yield found


@pytest.fixture
def fake(place: tuple[FakeRay, str]) -> FakeRay:
    return place[0]


@pytest.fixture
def job(place: tuple[FakeRay, str], invoke: Job, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(job_course, "STEP", 0.02)
    return lambda verb, *words, **more: invoke("job", verb, "--kubeconfig", place[1], *words, **more)


@pytest.fixture
def work(tmp_path: Path) -> str:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/x.py").write_text("print(1)")
    return str(tmp_path / "work")


def test_a_directory_is_brought_to_a_cluster_that_is_there_before_the_job_is_made(fake: FakeRay, job: Job, work: str) -> None:
    done = job("submit", "--cluster", "one", "--name", "a", "--env", "A=b=c", "--working-dir", work, *PROGRAM)
    assert (done.exit_code, done.stdout) == (0, fake.log), done.output
    assert fake.done == ["upload", "create a"]
    (name,) = fake.packages
    assert zipfile.ZipFile(io.BytesIO(fake.packages[name])).namelist() == ["x.py"]
    spec = fake.jobs["a"]["spec"]
    assert (spec["submissionMode"], spec["clusterSelector"], spec["entrypoint"]) == ("HTTPMode", {"ray.io/cluster": "one"}, QUOTED)
    assert yaml.safe_load(spec["runtimeEnvYAML"]) == {"env_vars": {"A": "b=c"}, "working_dir": f"gcs://{name}"}
    again = job("submit", "--cluster", "one", "--name", "b", "--working-dir", work, *PROGRAM)
    assert again.exit_code == 0 and fake.done[2:] == ["create b"], "the same content is uploaded once"


def test_a_cluster_of_its_own_is_waited_for_and_the_job_handed_over_once(fake: FakeRay, job: Job, work: str) -> None:
    fake.refusals["answer"] = 1
    done = job("submit", "--name", "a", "--metadata", "team=x", "--working-dir", work, *PROGRAM)
    assert (done.exit_code, done.stdout) == (0, fake.log), done.output
    assert fake.done == ["create a", "upload", "submit a-abcde", "patch {'spec': {'jobId': 'a-abcde'}}"]
    told = fake.ray["a-abcde"]
    assert (told["entrypoint"], told["metadata"]) == (QUOTED, {"team": "x"})
    assert told["runtime_env"] == yaml.safe_load(fake.jobs["a"]["spec"]["runtimeEnvYAML"])
    assert "is Initializing on RayCluster one: the head comes up" in done.stderr and done.stderr.endswith("a SUCCEEDED\n")


@pytest.mark.parametrize(
    ("ends", "code", "expected"), [("FAILED", 7, 7), ("FAILED", -9, 137), ("FAILED", None, 1), ("STOPPED", None, 130), ("SUCCEEDED", 0, 0)]
)
def test_it_exits_as_the_program_did(fake: FakeRay, job: Job, ends: str, code: int | None, expected: int) -> None:
    fake.ends, fake.exit_code = ends, code  # type: ignore[assignment]
    assert job("submit", *PROGRAM).exit_code == expected


def test_a_connection_that_breaks_shows_nothing_twice(fake: FakeRay, job: Job) -> None:
    fake.breaks = 2
    done = job("submit", *PROGRAM)
    assert (done.exit_code, done.stdout) == (0, fake.log)


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_an_object_that_is_asked_for_stands_alone_on_standard_output(fake: FakeRay, job: Job, form: str, read: Any) -> None:
    done = job("submit", "--name", "a", "-o", form, *PROGRAM)
    assert read(done.stdout)["status"]["jobStatus"] == "SUCCEEDED"
    assert fake.log in done.stderr


def test_without_waiting_the_name_is_told(fake: FakeRay, job: Job) -> None:
    assert job("submit", "--no-wait", "--name", "a", *PROGRAM).stdout == "rayjob.ray.io/a created\n"
    assert job("submit", "--no-wait", "--name", "b", "-o", "name", *PROGRAM).stdout == "rayjob.ray.io/b\n"
    assert not fake.ray


def test_a_dry_run_makes_nothing(fake: FakeRay, job: Job, work: str) -> None:
    words = ("--workers", "2", "--cpus", "3", "--gpus", "1", "--deadline", "60", "--ttl", "5", "--working-dir", work)
    spec = yaml.safe_load(job("submit", "--dry-run", *words, "--", "a && b").stdout)["spec"]
    assert fake.done == []
    (group,) = spec["rayClusterSpec"]["workerGroupSpecs"]
    (ray,) = group["template"]["spec"]["containers"]
    assert (group["replicas"], ray["resources"]["limits"]) == (2, {"cpu": "3", "memory": "4Gi", "nvidia.com/gpu": "1"})
    assert (spec["entrypoint"], spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == ("a && b", 60, 5)


def test_a_file_is_begun_from(fake: FakeRay, job: Job, tmp_path: Path) -> None:
    file = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "of-file", "labels": {"team": "x"}}}
    spec = {"entrypoint": "old", "clusterSelector": {"ray.io/cluster": "one"}, "runtimeEnvYAML": "{env_vars: {A: a, B: b}}"}
    (tmp_path / "job.json").write_text(json.dumps(file | {"spec": spec}))
    words = ("-f", str(tmp_path / "job.json"), "--name", "mine", "--env", "B=c", "--mode", "HTTPMode")
    assert job("submit", *words, *PROGRAM).exit_code == 0
    made = fake.jobs["mine"]
    assert made["metadata"]["labels"] == {"team": "x"} and made["spec"]["entrypoint"] == QUOTED
    assert yaml.safe_load(made["spec"]["runtimeEnvYAML"]) == {"env_vars": {"A": "a", "B": "c"}}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "which program"),
        (("--cluster", "one", "--workers", "2", *PROGRAM), "--workers"),
        (("--cluster", "one", "--file", "x", *PROGRAM), "exclude each other"),
        (("--env", "A", *PROGRAM), "NAME=VALUE"),
        (("--working-dir", ".", "--mode", "SidecarMode", *PROGRAM), "SidecarMode"),
        (("--working-dir", "nowhere", *PROGRAM), "nowhere is not there"),
        (("--name", "A_b", *PROGRAM), "the job is refused"),
        (("--working-dir", "tests/cli", "--retries", "2", *PROGRAM), "backoffLimit"),
        (("--runtime-env", "/dev/null", "--env", "A=b", "--ttl", "1", "--cluster", "one", *PROGRAM), "--ttl"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_is_made(fake: FakeRay, job: Job, words: tuple[str, ...], told: str) -> None:
    done = job("submit", *words)
    assert done.exit_code in (1, 2) and told in done.stderr
    assert fake.done == []


@pytest.mark.parametrize(("what", "told"), [("upload", "there is no room"), ("submit", "no such field")])
def test_a_job_that_ray_refuses_leaves_nothing(fake: FakeRay, job: Job, work: str, what: str, told: str) -> None:
    fake.refusals[what] = 400
    done = job("submit", "--name", "a", "--working-dir", work, *PROGRAM)
    assert done.exit_code == 1 and told in done.stderr
    assert fake.done[-1] == "delete a" and not fake.jobs


@pytest.mark.parametrize("handed", [True, False])
def test_ctrl_c_leaves_a_job_that_runs_and_removes_one_that_nobody_would_submit(
    place: tuple[FakeRay, str], work: str, handed: bool
) -> None:
    fake, kubeconfig = place
    fake.endless, fake.holds = True, not handed
    words = ("--name", "a", "--working-dir", work, "--kubeconfig", kubeconfig, *PROGRAM)
    run = subprocess.Popen(
        [sys.executable, "-m", "rayfleet", "job", "submit", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert fake.seen.wait(60)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=300)
    assert run.returncode == 130 and "Traceback" not in told
    if handed:
        assert "rayfleet job logs a -f" in told and "rayfleet job stop a" in told and "a" in fake.jobs
    else:
        assert "was not submitted yet" in told and not fake.jobs


def test_colours_and_what_turns_are_for_a_terminal_alone(place: tuple[FakeRay, str]) -> None:
    fake, kubeconfig = place
    words = [sys.executable, "-m", "rayfleet", "job", "submit", "--kubeconfig", kubeconfig]
    plain = subprocess.run([*words, "--name", "a", *PROGRAM], capture_output=True, text=True, timeout=300)
    master, terminal = pty.openpty()
    drawn = subprocess.run(
        [*words, "--name", "b", *PROGRAM], stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}, timeout=300
    )
    os.close(terminal)
    assert "\x1b" not in plain.stdout + plain.stderr and plain.stderr.endswith("rayjob.ray.io/a SUCCEEDED\n")
    assert drawn.stdout.decode() == fake.log
    seen = os.read(master, 65536)
    assert b"\x1b[32mrayjob.ray.io/b SUCCEEDED" in seen and b"Initializing on RayCluster one" in seen


def test_the_log_of_a_job_is_shown_and_followed_to_its_end(fake: FakeRay, job: Job) -> None:
    fake.ends, fake.exit_code = "FAILED", 3
    job("submit", "--no-wait", "--name", "a", *PROGRAM)
    followed = job("logs", "a", "-f")
    assert (followed.exit_code, followed.stdout) == (3, fake.log)
    assert job("logs", "a", "--tail", "1").stdout == "three\n"


def test_when_the_cluster_is_gone_there_is_what_the_submitter_printed(fake: FakeRay, job: Job) -> None:
    assert job("submit", "--name", "a", "--mode", "K8sJobMode", *PROGRAM).exit_code == 0
    fake.refusals["cluster"], fake.submitter = 404, "submitted a\none\ntwo\n"
    assert job("logs", "a", "--tail", "2").stdout == "one\ntwo\n"
    fake.submitter = ""
    none = job("logs", "a")
    assert none.exit_code == 1 and "RayCluster one is gone" in none.stderr


def test_a_job_is_stopped_and_one_that_does_not_run_is_not(fake: FakeRay, job: Job) -> None:
    job("submit", "--no-wait", "--name", "a", *PROGRAM)
    early = job("stop", "a")
    assert early.exit_code == 1 and "rayfleet delete rayjob a" in early.stderr
    for _ in range(2):
        fake.advance(fake.jobs["a"])
    done = job("stop", "a")
    assert done.exit_code == 0 and "STOPPED (JobStopped)" in done.stderr
    assert "nothing of it runs" in job("stop", "a").stderr
