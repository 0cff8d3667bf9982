"""Runs a case against one server, as plain as curl."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.conformance.case import Case, Step
from tests.conformance.paths import at

HEADERS = ("Content-Type", "Warning", "Retry-After")
"""compared besides the code and the body"""
PATIENCE = 60.0
_NAME = re.compile(r"\$\{(\w+)\}")

Answer = dict[str, Any]


class Peer:
    """One server. Raises AssertionError when an `until` does not come true in PATIENCE seconds."""

    def __init__(
        self,
        url: str,
        token: str,
        context: ssl.SSLContext | None = None,
        *,
        patience: float = PATIENCE,
        compact: Callable[[], object],
        ancient: Any,
    ) -> None:
        self._patience = patience
        self._compact = compact
        self._ancient = base64.urlsafe_b64encode(json.dumps(ancient).encode()).decode().rstrip("=")
        self._url = urlsplit(url)
        self._token = token
        self._context = context
        self._connection = self._connect()

    def run(self, case: Case) -> list[Answer]:
        """One answer a step; those that are not to be compared are left out."""
        self.make_namespace(case.namespace)
        kept = {"ns": case.namespace, "ancient": self._ancient}
        streams: dict[str, http.client.HTTPResponse] = {}
        try:
            answers = [(step, self._answer(step, kept, streams)) for step in case.steps]
        finally:
            for stream in streams.values():
                stream.close()
        return [answer for step, answer in answers if not step.unseen]

    def make_namespace(self, name: str) -> None:
        """With the account that every Pod needs."""
        self.ask(Step("POST", "/api/v1/namespaces", {"metadata": {"name": name}}), {})
        self.ask(Step("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default", until={"code": 200}), {})

    def _answer(self, step: Step, kept: dict[str, Any], streams: dict[str, http.client.HTTPResponse]) -> Answer:
        if step.method == "WATCH":
            response = self._send(self._connect(), "GET", step, kept)
            answer = self._headed(response)
            if response.status == 200:
                streams[step.stream] = response
            else:
                answer["body"] = json.loads(response.read())
        elif step.method == "COMPACT":
            self._compact()
            answer = {"body": None}
        elif step.method == "READ":
            answer = {"body": list(_events(streams[step.stream], step.count))}
        else:
            answer = self.ask(step, kept)
        for name, path in step.keep.items():
            kept[name] = at(answer["body"], path)
        return answer

    def ask(self, step: Step, kept: dict[str, Any]) -> Answer:
        deadline = time.monotonic() + self._patience
        while True:
            response = self._send(self._connection, step.method, step, kept)
            answer = self._headed(response)
            text = response.read()
            answer["body"] = json.loads(text) if "json" in answer["headers"].get("Content-Type", "") else text.decode()
            wrong = {path: value for path, value in step.until.items() if _seen(answer, path) != value}
            if not wrong:
                return answer
            assert time.monotonic() < deadline, f"{step.method} {step.path}: not {wrong} but {answer}"
            time.sleep(0.02)

    def _send(self, connection: http.client.HTTPConnection, method: str, step: Step, kept: dict[str, Any]) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self._token}", **{name: _filled(value, kept) for name, value in step.headers.items()}}
        body = None
        if step.body is not None:
            headers["Content-Type"] = step.media
            body = step.body if isinstance(step.body, bytes) else json.dumps(_filled(step.body, kept)).encode()
        connection.request(method, _filled(step.path, kept), body, headers)
        return connection.getresponse()

    def _headed(self, response: http.client.HTTPResponse) -> Answer:
        found = {name: response.headers.get_all(name) for name in HEADERS}
        return {"code": response.status, "headers": {name: ", ".join(values) for name, values in found.items() if values}}

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._patience)
        return http.client.HTTPSConnection(host, port, timeout=self._patience, context=self._context)


def _events(response: http.client.HTTPResponse, count: int) -> list[Any]:
    events = []
    while not count or len(events) < count:
        line = response.readline()
        if not line:
            break
        events.append(json.loads(line))
    return events


def _seen(answer: Answer, path: str) -> Any:
    """`@NAME`: whether the answer has that header."""
    if path.startswith("@"):
        return path[1:] in answer["headers"]
    return answer["code"] if path == "code" else at(answer["body"], path)


def _filled(value: Any, kept: dict[str, Any]) -> Any:
    if isinstance(value, str):
        return _NAME.sub(lambda found: str(kept[found[1]]), value)
    if isinstance(value, dict):
        return {_filled(key, kept): _filled(member, kept) for key, member in value.items()}
    return [_filled(item, kept) for item in value] if isinstance(value, list) else value
