"""Run one job on a Ray cluster through its dashboard's HTTP API, and wait for its end."""

from __future__ import annotations

import http.client
import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
STEP = 0.25
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy of the environment does not know this machine's loopback


@dataclass(frozen=True)
class Outcome:
    """How a job ended, and what it printed."""

    status: str
    message: str
    log: str


class Refused(OSError):
    """The dashboard's answer is an error: its HTTP code."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


def run_job(dashboard: str, entrypoint: str, within: float = 90.0, token: str = "") -> Outcome:
    """Submit, wait, fetch the log. A job that has not ended in time has the status it had then. `token` is shown where there is one.

    Raises OSError when the dashboard refuses, or does not answer in time: a connection that breaks is made again, and one that cannot
    answer yet (5xx: "No available agent to submit job, please try again later") is asked again.
    https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html
    """
    job, deadline = f"rayfleet-{secrets.token_hex(6)}", time.monotonic() + within
    patiently(lambda: submit(dashboard, job, entrypoint, token), deadline)
    while True:
        found = patiently(lambda: ask(f"{dashboard}/api/jobs/{job}", token=token), deadline)
        if found["status"] in ENDED or time.monotonic() > deadline:
            log = patiently(lambda: ask(f"{dashboard}/api/jobs/{job}/logs", token=token), deadline)["logs"]
            return Outcome(found["status"], found.get("message") or "", log)
        time.sleep(STEP)


def patiently(call: Callable[[], Any], deadline: float) -> Any:
    while True:
        try:
            return call()
        except OSError as error:
            if time.monotonic() > deadline or (isinstance(error, Refused) and error.code < 500):
                raise
            time.sleep(STEP)


def submit(dashboard: str, job: str, entrypoint: str, token: str) -> None:
    try:
        ask(f"{dashboard}/api/jobs/", {"entrypoint": entrypoint, "submission_id": job}, token)
    except Refused as refusal:
        if "already exists" not in str(refusal):  # else it has arrived before, and the answer has not
            raise


def ask(url: str, body: Any = None, token: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url, data=data, headers=headers)
    try:
        return answer_to(request)
    except http.client.HTTPException as error:
        raise OSError(f"{url} broke its answer off: {error}") from error


def answer_to(request: urllib.request.Request) -> Any:
    try:
        with DIRECT.open(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        raise Refused(
            refusal.code, f"{request.full_url} answered {refusal.code}: {refusal.read()[:500].decode(errors='replace')}"
        ) from refusal
