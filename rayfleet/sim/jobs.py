"""The Job controller of the simulated control plane: one Pod for each Job, and the Job ends as its Pod does, or by its deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from rayfleet.api.meta import JOBS, PODS, Key
from rayfleet.kube.errors import ApiError
from rayfleet.planning.clock import rfc3339
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.store import TERMINAL, Change, Obj, Request, Store, owner_uid

CONTROLLER = "job-controller"
AGAIN = 10.0  # seconds after a Pod that was refused


@dataclass
class Jobs:
    """`delay(dice)` says how long each step takes."""

    clock: VirtualClock
    store: Store
    dice: Random
    delay: Callable[[Random], float] = lambda dice: 0.5

    def hear(self, change: Change) -> None:
        if change.resource == JOBS and change.type == "ADDED":
            key, uid = key_of(change.new), change.new["metadata"]["uid"]
            self.clock.call_later(self.delay(self.dice), lambda: self.fill(key, uid))
            if limit := change.new["spec"].get("activeDeadlineSeconds"):
                self.clock.call_later(limit, lambda: self.conclude(key, uid, "Failed", "DeadlineExceeded"))
        elif change.resource == PODS and change.type != "DELETED" and change.new["status"].get("phase") in TERMINAL:
            owner, succeeded = owner_uid(change.new), change.new["status"]["phase"] == "Succeeded"
            ended = ("Complete", "CompletionsReached") if succeeded else ("Failed", "BackoffLimitExceeded")
            keys = [key_of(job) for job in self.store.all(JOBS) if job["metadata"]["uid"] == owner]
            if keys:
                self.clock.call_later(self.delay(self.dice), lambda: self.conclude(keys[0], owner, *ended))

    def fill(self, key: Key, uid: str) -> None:
        """Make the Pod; again and again while it is refused."""
        if (job := self.open(key, uid)) is None or list(self.store.owned(uid, PODS)):
            return
        meta = {**job["spec"]["template"].get("metadata", {}), "ownerReferences": [reference(job)]}
        body = {"metadata": meta, "spec": job["spec"]["template"]["spec"]}
        try:
            self.store.do(Request(CONTROLLER, "create", PODS, key.namespace, f"{key.name}-{uid[:5]}", body=body))
        except ApiError:
            self.clock.call_later(AGAIN, lambda: self.fill(key, uid))

    def conclude(self, key: Key, uid: str, kind: str, reason: str) -> None:
        if self.open(key, uid) is None:
            return
        condition = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": rfc3339(self.clock.now)}
        body = {"status": {"conditions": [condition]}}
        self.store.do(Request(CONTROLLER, "patch", JOBS, *key, body=body, subresource="status"))
        for pod in list(self.store.owned(uid, PODS)):
            if pod["status"].get("phase") not in TERMINAL:
                self.store.do(Request(CONTROLLER, "delete", PODS, *key_of(pod)))

    def open(self, key: Key, uid: str) -> Obj | None:
        """The Job, if it is there and has not ended."""
        job = self.store.get(JOBS, key)
        return job if job is not None and job["metadata"]["uid"] == uid and not is_over(job) else None


def reference(job: Obj) -> Obj:
    meta: dict[str, Any] = job["metadata"]
    return {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": meta["name"], "uid": meta["uid"], "controller": True}


def is_over(job: Obj) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)
