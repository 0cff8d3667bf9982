"""The submitter's program, run as it is in a Pod, against a server that speaks as Ray does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rayfleet.rayjob.findings import PASSING
from rayfleet.resources.submitter_program import PROGRAM

ENTRYPOINT = 'echo "it\'s" && `id` $HOME $(X) \\ \n é 東京'


class Ray(ThreadingHTTPServer):
    """Jobs end as soon as they are asked for twice."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.session = "session_1"
        self.jobs: dict[str, Any] = {}
        self.posted: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.refuses: tuple[int, str] | None = None
        self.lies: tuple[int, str] | None = None
        self.loses_answers = False
        self.end = "SUCCEEDED"


class Handler(BaseHTTPRequestHandler):
    server: Ray

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.tokens.add(self.headers.get("x-ray-authorization"))
        if self.server.lies:
            self.say(*self.server.lies)
        elif self.path == "/api/version":
            self.say(200, json.dumps({"session_name": self.server.session}))
        elif (name := self.path.rpartition("/")[2]) in self.server.jobs:
            self.say(200, json.dumps({"status": self.server.jobs[name]}))
            self.server.jobs[name] = self.server.end
        else:
            self.say(404, "no such job")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.refuses:
            self.say(*self.server.refuses)
            return
        if body["submission_id"] in self.server.jobs:
            self.say(500, "ValueError: it already exists")
            return
        self.server.posted.append(body)
        self.server.jobs[body["submission_id"]] = "RUNNING"
        self.say(502 if self.server.loses_answers else 200, "{}")

    def say(self, status: int, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def ray() -> Iterator[Ray]:
    server = Ray()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


# -I: Ray's client is not needed, and starts slowly.
COMMAND = [sys.executable, "-I", "-S", "-c", PROGRAM]


def environment(ray: Ray, **more: str) -> dict[str, str]:
    body = json.dumps({"entrypoint": ENTRYPOINT, "submission_id": "train-1"}, ensure_ascii=False).replace("$", "\\u0024")
    told = {"RAY_DASHBOARD_ADDRESS": f"127.0.0.1:{ray.server_address[1]}", "RAY_JOB_SUBMISSION_ID": "train-1", "RAYFLEET_SUBMISSION": body}
    return {"PATH": os.environ["PATH"], **told, **more}


def submit(ray: Ray, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(COMMAND, env=environment(ray, **more), capture_output=True, text=True, timeout=300)


def test_it_submits_byte_for_byte_and_sees_the_end(ray: Ray) -> None:
    """Report B5, 80 (k#3802, k#3929, k#3561, k#3764, k#2943, k#2949, k#2959)."""
    done = submit(ray, RAY_AUTH_TOKEN="secret")
    assert done.returncode == 0 and "train-1 SUCCEEDED" in done.stdout, done
    assert ray.posted == [{"entrypoint": ENTRYPOINT, "submission_id": "train-1"}]
    assert ray.tokens == {"Bearer secret"}


def test_a_second_submitter_follows_the_first_ones_job(ray: Ray) -> None:
    ray.jobs["train-1"] = "RUNNING"
    ray.end = "FAILED"
    done = submit(ray)
    assert done.returncode == 0 and "train-1 FAILED" in done.stdout
    assert ray.posted == []


def test_a_submission_whose_answer_is_lost_is_found_again(ray: Ray) -> None:
    ray.loses_answers = True
    assert submit(ray).returncode == 0
    assert len(ray.posted) == 1


def test_it_submits_in_no_other_life_of_ray(ray: Ray) -> None:
    done = submit(ray, RAYFLEET_RAY_SESSION="session_0")
    assert done.returncode == 1 and "began anew" in done.stderr
    assert ray.posted == []


def test_a_refusal_is_told(ray: Ray) -> None:
    ray.refuses = (400, "TypeError: no such field")
    done = submit(ray)
    assert done.returncode == 1 and "no such field" in done.stderr


def test_kubernetes_finds_nothing_to_expand_in_it() -> None:
    assert "$" not in PROGRAM


@pytest.mark.parametrize("field", ["refuses", "lies"])
def test_what_says_nothing_against_the_job_may_pass(ray: Ray, field: str) -> None:
    setattr(ray, field, {"refuses": (401, "not yet"), "lies": (200, "<html>not yet</html>")}[field])
    with subprocess.Popen(COMMAND, env=environment(ray), stdout=subprocess.PIPE, text=True) as submitter:
        assert submitter.stdout is not None and "not yet" in submitter.stdout.readline()
        setattr(ray, field, None)
        assert submitter.wait(30) == 0
    assert len(ray.posted) == 1
    assert ", ".join(map(str, sorted(PASSING))) in PROGRAM, "as where the operator submits"


def test_it_ends_when_it_is_told_to_also_as_the_first_process_of_a_container(ray: Ray) -> None:
    """Which a signal ends only when it is handled."""
    ray.refuses = (503, "not yet")
    with subprocess.Popen(COMMAND, env=environment(ray), stdout=subprocess.PIPE, text=True) as submitter:
        assert submitter.stdout is not None and "not yet" in submitter.stdout.readline()
        submitter.terminate()
        assert submitter.wait(30) == 128 + signal.SIGTERM
    assert ray.posted == []
