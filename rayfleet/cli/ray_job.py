"""Run one job on a Ray cluster through its dashboard's HTTP API, and wait for its end."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
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


def run_job(dashboard: str, entrypoint: str, within: float = 90.0, token: str = "") -> Outcome:
    """Submit, wait, fetch the log. A job that has not ended in time has the status it had then. `token` is shown where there is one.

    Raises OSError when the dashboard does not answer. https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html
    """
    job = ask(f"{dashboard}/api/jobs/", {"entrypoint": entrypoint}, token)["submission_id"]
    deadline = time.monotonic() + within
    while True:
        found = ask(f"{dashboard}/api/jobs/{job}", token=token)
        if found["status"] in ENDED or time.monotonic() > deadline:
            return Outcome(found["status"], found.get("message") or "", ask(f"{dashboard}/api/jobs/{job}/logs", token=token)["logs"])
        time.sleep(STEP)


def ask(url: str, body: Any = None, token: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url, data=data, headers=headers)
    try:
        with DIRECT.open(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        raise OSError(f"{url} answered {refusal.code}: {refusal.read()[:500].decode(errors='replace')}") from refusal
