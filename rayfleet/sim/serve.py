"""Ray Serve on the heads of a simulated world, as its HTTP API shows it: slow, failing, forgetful or hostile where it is told to be.

What a head was told lives as long as its Pod: another Pod at the same cluster knows nothing of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rayfleet.ray.answer import Act, Question, Target
from rayfleet.ray.serve import HEALTH, PATH

ANOTHER = [{"name": "other", "import_path": "x:y"}]  # what a Serve that lies says it runs
DEPLOYS = 3.0
"""Seconds from a PUT until its applications run."""


@dataclass
class Head:
    """One head Pod's Serve: what it was told, and when; `changed` is when its applications were last others."""

    config: dict[str, Any] | None = None
    since: float = 0.0
    changed: float = 0.0


@dataclass
class FakeServe:
    """An `Ask` for every head. `time()` gives seconds; `deploys` is how long an application takes; `puts` are (cluster, config) as taken.

    `moods` by cluster: "" for one that is well, or `error` (500), `html`, `missing` (404), `hang` (no answer), `unhealthy` (its proxy
    answers 503), `forgetful` (it takes a config and keeps nothing), `other` (somebody else has deployed something else). `stuck` by
    cluster: the state in which applications stay.
    """

    time: Callable[[], float]
    deploys: float = DEPLOYS
    latency: Callable[[], float] = lambda: 0.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    heads: dict[str, Head] = field(default_factory=dict)
    moods: dict[str, str] = field(default_factory=dict)
    stuck: dict[str, str] = field(default_factory=dict)
    puts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)

    async def __call__(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        await self.sleep(self.latency())
        name, mood = target.cluster.name, self.moods.get(target.cluster.name, "")
        self.calls[f"{getattr(call, 'method', 'GET')} {name}"] += 1
        if mood == "hang":
            raise TimeoutError
        head = self.heads.setdefault(target.pod, Head())
        if call.path == HEALTH:
            return (503, b"no routes yet") if mood == "unhealthy" or head.config is None else (200, b"success")
        if mood in ("error", "missing", "html"):
            return {"error": (500, b"Traceback: boom"), "missing": (404, b""), "html": (200, b"<html></html>")}[mood]
        if isinstance(call, Act):
            return self.put(name, head, call, mood)
        return 200, msgspec.json.encode(self.details(name, target, head, mood))

    def put(self, name: str, head: Head, call: Act, mood: str) -> tuple[int, bytes]:
        assert (call.method, call.path) == ("PUT", PATH)
        config: dict[str, Any] = msgspec.json.decode(call.body)
        self.puts.append((name, config))
        if mood != "forgetful" and head.config != config:
            if head.config is None or head.config["applications"] != config["applications"]:
                head.changed = self.time()
            head.config, head.since = config, self.time()
        return 200, b""

    def details(self, name: str, target: Target, head: Head, mood: str) -> dict[str, Any]:
        config = {"applications": ANOTHER} if mood == "other" else head.config
        if config is None:
            return {"controller_info": {}, "proxies": {}, "applications": {}, "target_capacity": None}
        states = self.states(name, head, len(config["applications"]))
        proxy = {"status": "UNHEALTHY" if mood == "unhealthy" else "HEALTHY", "node_ip": target.address}
        applications = {
            each.get("name", "default"): {
                "status": status,
                "message": "" if status == "RUNNING" else f"pretend state {status}",
                "deployments": {"D": {"status": "HEALTHY" if status == "RUNNING" else "UPDATING"}},
                "deployed_app_config": each,
            }
            for status, each in zip(states, config["applications"], strict=True)
        }
        return {"proxies": {"head": proxy}, "applications": applications, "target_capacity": config.get("target_capacity")}

    def states(self, name: str, head: Head, number: int) -> list[str]:
        """Of so many applications: they come up one after the other, the last one when all is done."""
        if stuck := self.stuck.get(name):
            return [stuck] * number
        share = (self.time() - head.since) / self.deploys if self.deploys else 1.0
        return ["RUNNING" if share >= (index + 1) / number else "DEPLOYING" for index in range(number)]

    def running(self, name: str, pod: str) -> bool:
        """Do its applications run, whatever it says? They run on while their share of replicas is changed."""
        head = self.heads.get(pod)
        return head is not None and head.config is not None and not self.stuck.get(name) and self.time() - head.changed >= self.deploys
