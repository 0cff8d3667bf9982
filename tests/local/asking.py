"""Requests of an API server by hand, so that what is tested is not asked through itself."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from rayfleet.local.credentials import token_of
from rayfleet.local.state import State


def ask(
    state: State, server: str, method: str, path: str, body: Any = None, *, kind: str = "application/json", verified: bool = True
) -> tuple[int, Any]:
    """As admin of a fleet: the HTTP code, 0 when nobody answers, and the answer, as text where it is no JSON. Not `verified`: of whoever
    answers there."""
    context = ssl.create_default_context(cafile=str(state.credentials / "ca.crt")) if verified else ssl._create_unverified_context()
    headers = {"Authorization": f"Bearer {token_of(state, 'admin')}", "Content-Type": kind}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, parsed(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, parsed(error.read())
    except OSError:
        return 0, None


def parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
