"""Runs the program of a submitter (`resources.submitter_program`) in the Pods that have one, on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayfleet.api.meta import PODS, Key
from rayfleet.ray.answer import Act, Question
from rayfleet.ray.jobs import STATUSES
from rayfleet.rayjob.findings import PASSING
from rayfleet.resources.submitter import ADDRESS, SESSION, SUBMISSION, SUBMISSION_ID
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.kubelet import Nodes, key_of, submits_at
from rayfleet.sim.rays import Rays
from rayfleet.sim.store import Change, Obj, Store

PAUSE, SILENCES = 2.0, 30


class Submitters:
    def __init__(self, clock: VirtualClock, store: Store, nodes: Nodes, rays: Rays) -> None:
        self.clock = clock
        self.store = store
        self.nodes = nodes
        self.rays = rays
        self.started: set[str] = set()

    def hear(self, change: Change) -> None:
        if change.resource != PODS or change.type == "DELETED" or change.new["status"].get("phase") != "Running":
            return
        uid, number = change.new["metadata"]["uid"], submits_at(change.new)
        if number is not None and uid not in self.started:
            self.started.add(uid)
            self.clock.spawn(self.run(change.new, number))

    def run(self, pod: Obj, number: int) -> Iterator[float]:
        """Until the program or its Pod ends."""
        key, uid = key_of(pod), pod["metadata"]["uid"]
        env = {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][number]["env"]}
        host = env[ADDRESS].partition(":")[0]
        cluster = cluster_of(pod) if host == "127.0.0.1" else host.partition(".")[0].removesuffix("-head-svc")
        program = Program(self.rays, Key(key.namespace, cluster), uid if host == "127.0.0.1" else "", env)
        yield 0.3
        while (found := self.alive(key, uid)) is not None:
            code = program.go_on()
            if code is not None:
                self.nodes.end_program(found, number, code)
                return
            yield PAUSE

    def alive(self, key: Key, uid: str) -> Obj | None:
        """The Pod while it runs."""
        found = self.store.get(PODS, key)
        return found if found and found["metadata"]["uid"] == uid and found["status"].get("phase") == "Running" else None


class Program:
    """`here`: the head Pod beside which it runs, "" when it reaches the head by a Service."""

    def __init__(self, rays: Rays, cluster: Key, here: str, env: dict[str, str]) -> None:
        self.rays = rays
        self.cluster = cluster
        self.here = here
        self.job = env[SUBMISSION_ID]
        self.body = msgspec.json.encode(msgspec.json.decode(env[SUBMISSION]))
        self.session = env.get(SESSION, "")
        self.submitted = False
        self.silences = 0

    def ask(self, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """Status 0: no answer."""
        life = self.rays.lives.get(self.here) if self.here else self.rays.at(self.cluster)
        if life is None or self.rays.clock.now < life.up or life.slow > SILENCES:
            return 0, b""
        try:
            return self.rays.answer(life, Question(path, bytes) if body is None else Act("POST", path, body))
        except OSError:
            return 0, b""

    def said(self, path: str, body: bytes | None = None) -> tuple[int, bytes, dict[str, Any]]:
        """The same, and what Ray says: whoever says something else with a 200 is not Ray."""
        status, text = self.ask(path, body)
        try:
            return status, text, msgspec.json.decode(text, type=dict) if status == 200 else {}
        except msgspec.MsgspecError:
            return 0, b"", {}

    def go_on(self) -> int | None:
        """Once round its loop; the exit code when it ends."""
        return self.follow() if self.submitted else self.submit()

    def submit(self) -> int | None:
        status, text, found = self.said("/api/version")
        if status == 200 and self.session and found.get("session_name", self.session) != self.session:
            return 1
        if status == 200:
            status, text, found = self.said(f"/api/jobs/{self.job}")
            self.submitted = found.get("status") in STATUSES
            if status == 404:
                status, text, found = self.said("/api/jobs/", self.body)
                self.submitted = status == 200 or b"already exists" in text
                return 1 if 400 <= status < 500 and status not in PASSING else None
        return None

    def follow(self) -> int | None:
        status, _, found = self.said(f"/api/jobs/{self.job}")
        if status == 404:
            return 1
        if found.get("status") in ("SUCCEEDED", "FAILED", "STOPPED"):
            return 0
        self.silences = 0 if status == 200 else self.silences + 1
        return 1 if self.silences >= SILENCES else None


def cluster_of(pod: Obj) -> str:
    return str(next(each["name"] for each in pod["metadata"]["ownerReferences"] if each["kind"] == "RayCluster"))
