"""Events about Pods and other objects, for who reads `kubectl describe`. One sentence about one object is one Event, counted up."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from datetime import UTC, datetime
from typing import Any, Protocol

from rayfleet.api.excerpt import clip
from rayfleet.api.meta import EVENTS, PODS, ObjectMeta, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, NotFound
from rayfleet.kubelet.objects import Pod

log = logging.getLogger(__name__)
COUNTED_EVERY = 60.0  # seconds: a repeated sentence costs at most one write in this time
USUAL = ("Unhealthy",)  # every Pod with a probe is so for its first seconds


class Object(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


class Events:
    def __init__(self, client: Client, instance: str, controller: str = "rayfleet-kubelet") -> None:
        self.client, self.instance, self.controller = client, instance, controller
        self.told: dict[str, tuple[int, float]] = {}  # name of the Event -> (times it happened, when it was last written)
        self.tasks: set[asyncio.Task[None]] = set()

    def record(self, about: Object, kind: str, reason: str, note: str, of: Resource = PODS) -> None:
        """Written in the background: nothing waits for an Event, and a lost one harms nobody. `kind` is Normal or Warning."""
        digest = hashlib.sha256(f"{about.metadata.uid} {reason} {note}".encode()).hexdigest()[:16]
        name = f"{about.metadata.name[:200]}.{digest}"
        count, written = self.told.get(name, (0, 0.0))
        unusual = kind == "Warning" and reason not in USUAL and not count
        level = logging.WARNING if unusual else logging.DEBUG
        log.log(level, "%s %s: %s: %s", of.kind.lower(), about.metadata.key, reason, note)
        due = time.monotonic() - written >= COUNTED_EVERY or not count
        self.told[name] = (count + 1, time.monotonic() if due else written)
        if due:
            task = asyncio.create_task(self.write(self.body(about.metadata, of, name, kind, reason, note), count + 1))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def write(self, body: dict[str, Any], count: int) -> None:
        meta = body["metadata"]
        try:
            if count > 1:
                series = {"series": {"count": count, "lastObservedTime": body["eventTime"]}}
                try:
                    await self.client.patch(EVENTS, meta["name"], meta["namespace"], series)
                    return
                except NotFound:  # the server has forgotten it by now
                    pass
            await self.client.create(EVENTS, body)
        except ApiError as error:
            log.debug("event %s: %s", meta["name"], error)

    def body(self, meta: ObjectMeta, of: Resource, name: str, kind: str, reason: str, note: str) -> dict[str, Any]:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": meta.namespace},
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": reason,
            "reason": reason,
            "note": clip(note),
            "type": kind,
            "regarding": {"apiVersion": of.api_version, "kind": of.kind, "namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
        }

    def forget(self, pod: Pod) -> None:
        prefix = f"{pod.metadata.name[:200]}."
        for name in [name for name in self.told if name.startswith(prefix)]:
            del self.told[name]
