"""Events about Pods: what a person reads in `kubectl describe`. The same sentence about the same Pod is one Event that is counted up."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from datetime import UTC, datetime
from typing import Any

from rayfleet.api.meta import EVENTS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, NotFound
from rayfleet.kubelet.objects import Pod

log = logging.getLogger(__name__)
COUNTED_EVERY = 60.0  # seconds: a repeated sentence costs at most one write in this time
USUAL = ("Unhealthy",)  # every Pod with a probe is so for its first seconds
LONGEST_NOTE = 1024  # characters; the API refuses more


class Events:
    def __init__(self, client: Client, instance: str, controller: str = "rayfleet-kubelet") -> None:
        self.client, self.instance, self.controller = client, instance, controller
        self.told: dict[str, tuple[int, float]] = {}  # name of the Event -> (times it happened, when it was last written)
        self.tasks: set[asyncio.Task[None]] = set()

    def record(self, pod: Pod, kind: str, reason: str, note: str) -> None:
        """Written in the background: nothing waits for an Event, and a lost one harms nobody. `kind` is Normal or Warning."""
        digest = hashlib.sha256(f"{pod.metadata.uid} {reason} {note}".encode()).hexdigest()[:16]
        name = f"{pod.metadata.name[:200]}.{digest}"
        count, written = self.told.get(name, (0, 0.0))
        unusual = kind == "Warning" and reason not in USUAL and not count
        level = logging.WARNING if unusual else logging.DEBUG
        log.log(level, "pod %s: %s: %s", pod.metadata.key, reason, note)
        due = time.monotonic() - written >= COUNTED_EVERY or not count
        self.told[name] = (count + 1, time.monotonic() if due else written)
        if due:
            task = asyncio.create_task(self.write(pod, name, kind, reason, note, count + 1))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def write(self, pod: Pod, name: str, kind: str, reason: str, note: str, count: int) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            if count > 1:
                series = {"series": {"count": count, "lastObservedTime": now}}
                try:
                    await self.client.patch(EVENTS, name, pod.metadata.namespace, series)
                    return
                except NotFound:  # the server has forgotten it by now
                    pass
            await self.client.create(EVENTS, self.body(pod, name, kind, reason, note, now))
        except ApiError as error:
            log.debug("event %s: %s", name, error)

    def body(self, pod: Pod, name: str, kind: str, reason: str, note: str, now: str) -> dict[str, Any]:
        meta = pod.metadata
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": meta.namespace},
            "eventTime": now,
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": reason,
            "reason": reason,
            "note": note[:LONGEST_NOTE],
            "type": kind,
            "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
        }

    def forget(self, pod: Pod) -> None:
        prefix = f"{pod.metadata.name[:200]}."
        for name in [name for name in self.told if name.startswith(prefix)]:
            del self.told[name]
