"""A job by the dashboard's HTTP API, when connections break."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from rayfleet.cli.ray_job import Refused, run_job


class Breaking(ThreadingHTTPServer):
    """Each kind of request breaks once, after it was carried out. Whoever comes first is to come later."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Dashboard)
        self.jobs: list[str] = []
        self.is_up = False
        self.broken: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Dashboard(BaseHTTPRequestHandler):
    server: Breaking

    def do_POST(self) -> None:
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["submission_id"]
        if not self.server.is_up:
            self.server.is_up = True
            return self.send_error(500, "No available agent to submit job, please try again later.")
        if job in self.server.jobs:
            return self.answer(400, {"message": f"Job with submission_id {job} already exists"})
        self.server.jobs.append(job)
        return self.answer(200, {"submission_id": job})

    def do_GET(self) -> None:
        if self.path.split("/")[3] not in self.server.jobs:
            return self.answer(404, {})
        return self.answer(200, {"logs": "hello"} if self.path.endswith("/logs") else {"status": "SUCCEEDED"})

    def answer(self, code: int, body: object) -> None:
        what = f"{self.command} {self.path.split('/')[-1]}"
        content = json.dumps(body).encode()
        self.send_response(code)
        if what not in self.server.broken:
            self.server.broken.add(what)
            self.send_header("Content-Length", str(len(content) + 1))
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def dashboard() -> Iterator[Breaking]:
    with Breaking() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_head_that_is_not_up_and_connections_that_break_cost_no_job_and_make_no_second_one(dashboard: Breaking) -> None:
    outcome = run_job(dashboard.url, "true")
    assert (outcome.status, outcome.log, len(dashboard.jobs)) == ("SUCCEEDED", "hello", 1)


def test_a_refusal_is_told_at_once(dashboard: Breaking) -> None:
    with pytest.raises(Refused, match="404"):
        run_job(f"{dashboard.url}/nothing/here/", "true")
