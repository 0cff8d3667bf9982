"""The Job controller of the simulated control plane: one Pod for each try of a Job, which ends as the last one does, or by its deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
            for job in [job for job in self.store.all(JOBS) if job["metadata"]["uid"] == owner]:
                self.clock.call_later(self.delay(self.dice), partial(self.ended, job, succeeded))
        elif change.resource == PODS and change.type == "DELETED":
            for job in [job for job in self.store.all(JOBS) if job["metadata"]["uid"] == owner_uid(change.new)]:
                self.clock.call_later(self.delay(self.dice), partial(self.fill, key_of(job), job["metadata"]["uid"]))

    def ended(self, job: Obj, succeeded: bool) -> None:
        """A Pod has: the Job has as well, or tries once more."""
        key, uid = key_of(job), job["metadata"]["uid"]
        failures = sum(pod["status"].get("phase") == "Failed" for pod in self.store.owned(uid, PODS))
        if succeeded:
            self.conclude(key, uid, "Complete", "CompletionsReached")
        elif failures > job["spec"].get("backoffLimit", 6):
            self.conclude(key, uid, "Failed", "BackoffLimitExceeded")
        else:
            self.clock.call_later(AGAIN, lambda: self.fill(key, uid))

    def fill(self, key: Key, uid: str) -> None:
        """Make the Pod; again and again while it is refused."""
        pods = list(self.store.owned(uid, PODS))
        if (job := self.open(key, uid)) is None or any(pod["status"].get("phase") not in TERMINAL for pod in pods):
            return
        meta = {**job["spec"]["template"].get("metadata", {}), "ownerReferences": [reference(job)]}
        body = {"metadata": meta, "spec": job["spec"]["template"]["spec"]}
        name = f"{key.name}-{uid[:5]}" + (f"-{self.dice.getrandbits(24):06x}" if pods else "")
        try:
            self.store.do(Request(CONTROLLER, "create", PODS, key.namespace, name, body=body))
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
