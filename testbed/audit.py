"""What the audited users asked of the API server, one record a request, as its audit log tells it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def policy(users: Iterable[str]) -> dict[str, Any]:
    """Log what these users and all service accounts ask, and nothing else: the tests' own requests would drown it."""
    rules: list[dict[str, Any]] = [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}]
    if named := sorted(users):
        rules.append({"level": "Metadata", "users": named})
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [*rules, {"level": "None"}],
    }


@dataclass(frozen=True)
class Asked:
    """`resource` is `group/plural` with `/subresource`, or the path of what is no resource; `code` is the answer's, `message` that of a
    refusal, `agent` the User-Agent.

    A watch is one record, of its beginning. `at` is when it came (RFC 3339).
    """

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    agent: str
    at: str
    message: str = ""

    @property
    def is_standing(self) -> bool:
        """Does it belong to what runs at rest by design: watches, and the lease?"""
        return self.verb == "watch" or self.resource == "coordination.k8s.io/leases"

    def __str__(self) -> str:
        return f"{self.at} {self.verb} {self.resource} {self.namespace}/{self.name} {self.code}"


def read(log: Path) -> Iterator[Asked]:
    if not log.exists():
        return
    for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):
            return  # it is still being written
        event = json.loads(line)
        watch = event["verb"] == "watch"
        if event["stage"] == ("ResponseStarted" if watch else "ResponseComplete") or (watch and refused(event)):
            yield asked(event)


def refused(event: dict[str, Any]) -> bool:
    return bool(event["stage"] == "ResponseComplete" and (event.get("responseStatus") or {}).get("code", 200) >= 300)


def asked(event: dict[str, Any]) -> Asked:
    about = event.get("objectRef") or {}
    parts = [about.get("apiGroup", ""), about.get("resource", ""), about.get("subresource", "")]
    return Asked(
        user=event["user"]["username"],
        verb=event["verb"],
        resource="/".join(part for part in parts if part) or event["requestURI"].partition("?")[0],
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        agent=event.get("userAgent", ""),
        at=event["requestReceivedTimestamp"],
        message=(event.get("responseStatus") or {}).get("message", ""),
    )


def counted(requests: Iterable[Asked]) -> Counter[str]:
    """How many of each: `create pods`, `patch ray.io/rayclusters/status` ..."""
    return Counter(f"{request.verb} {request.resource}" for request in requests)
