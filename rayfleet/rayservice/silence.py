"""Heads that say nothing: since when, why, and for how long they are waited for."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.planning.clock import parse_rfc3339
from rayfleet.planning.conditions import find
from rayfleet.ray.answer import NotFound, Refused
from rayfleet.ray.serve import Details
from rayfleet.rayservice.observed import Member, Observed

SILENCE, DEAF = 30.0, 300.0
"""Seconds for which a dashboard may say nothing: before that is told, and before nobody waits any more for what its head is to be told."""


def silent_since(member: Member) -> float | None:
    """Since when nothing can be heard of a cluster's applications; None when something is, or was not asked yet."""
    if member.target is None:
        head = find(member.cluster.status.conditions, "HeadPodReady")
        gone = head is not None and head.status == "False" and head.last_transition_time
        return parse_rfc3339(gone) if gone else None
    heard = member.details
    return None if heard is None or isinstance(heard.answer, Details) else heard.since


def is_silent(observed: Observed, member: Member, seconds: float) -> bool:
    since = silent_since(member)
    return since is not None and observed.now - since >= seconds


def silent(observed: Observed, member: Member) -> str:
    """Why nothing is known of a cluster's applications; "" when something is, or was a short while ago."""
    if not is_silent(observed, member, SILENCE):
        return ""
    heard = member.details
    if member.target is None or heard is None:
        return f"the head of RayCluster {member.name} does not run"
    if isinstance(heard.answer, Refused):
        return f"the dashboard of RayCluster {member.name} answers {heard.answer.code}: {last_line(heard.answer.text)}"
    if isinstance(heard.answer, NotFound):
        return f"the dashboard of RayCluster {member.name} knows nothing of Serve"
    return f"the dashboard of RayCluster {member.name} does not answer"


def last_line(text: str) -> str:
    """Of a traceback the last line says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def until_noticed(observed: Observed, member: Member) -> Iterator[float]:
    """Seconds until its silence has lasted so long that something comes of it."""
    since = silent_since(member)
    if since is not None:
        yield from (left for limit in (SILENCE, DEAF) if (left := since + limit - observed.now) > 0)
