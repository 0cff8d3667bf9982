"""What the rest of a control plane does: nodes that run Pods, and the garbage collector. Always told at once; what it does takes time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, SERVICES, Key, Resource
from rayfleet.kube.errors import ApiError
from rayfleet.planning.clock import rfc3339
from rayfleet.resources.submitter import CONTAINER
from rayfleet.sim.clock import VirtualClock
from rayfleet.sim.store import TERMINAL, Change, Obj, Request, Store, owner_uid

KUBELET = "kubelet"
COLLECTOR = "garbage-collector"
OWNERS = (RAYCLUSTERS, JOBS, RAYJOBS, RAYSERVICES, RAYCRONJOBS, SERVICES)
READY, FAILS, EXITS, PENDING = "ready", "fails", "exits", "pending"


@dataclass
class Nodes:
    """`fate(pod)` says how a new Pod ends up; `delay(dice)` how long each step of it takes; `ending(dice)` how long it takes to die."""

    clock: VirtualClock
    store: Store
    dice: Random
    names: tuple[str, ...] = ("node-0", "node-1")
    fate: Callable[[Obj], str] = lambda pod: READY
    delay: Callable[[Random], float] = lambda dice: 0.5
    ending: Callable[[Random], float] = lambda dice: 2.0
    answers: Callable[[Obj], bool] = lambda pod: True  # what its probe asks
    down: set[str] = field(default_factory=set)
    addresses: int = 0

    def hear(self, change: Change) -> None:
        if change.resource in OWNERS and change.type == "DELETED":
            self.clock.call_later(self.delay(self.dice), lambda: self.collect(change.new["metadata"]["uid"]))
        elif change.type == "ADDED" and (owner := owner_uid(change.new)) and not self.lives(owner):
            self.clock.call_later(self.delay(self.dice), lambda: self.collect(owner))
        if change.resource == PODS and change.type != "DELETED":
            self.hear_pod(change)

    def lives(self, uid: str) -> bool:
        return any(owner["metadata"]["uid"] == uid for kind in OWNERS for owner in self.store.all(kind))

    def collect(self, uid: str) -> None:
        """Delete what a dead owner left behind."""
        for (resource, key), child in sorted(self.store.children.get(uid, {}).items(), key=lambda item: item[0][1]):
            self.request("delete", resource, key, uid=child["metadata"]["uid"], actor=COLLECTOR, propagation="Background")

    def hear_pod(self, change: Change) -> None:
        pod, meta = change.new, change.new["metadata"]
        if change.type == "ADDED":
            self.later(pod, self.bind)
        if meta.get("deletionTimestamp") and not (change.old or pod)["metadata"].get("deletionTimestamp"):
            self.later(pod, self.end, min(self.ending(self.dice), meta["deletionGracePeriodSeconds"]))

    def later(self, pod: Obj, step: Callable[[Obj], None], seconds: float | None = None) -> None:
        uid, key = pod["metadata"]["uid"], Key(pod["metadata"]["namespace"], pod["metadata"]["name"])

        def go() -> None:
            now = self.store.get(PODS, key)
            if now is not None and now["metadata"]["uid"] == uid:
                step(now)

        self.clock.call_later(self.delay(self.dice) if seconds is None else seconds, go)

    def bind(self, pod: Obj) -> None:
        fate = self.fate(pod)
        if fate == PENDING:
            unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
            self.status(pod, {"conditions": [unschedulable]})
        elif not pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName"):
            body = {"spec": {"nodeName": self.dice.choice(self.names)}}
            bound = self.request("patch", PODS, key_of(pod), uid=pod["metadata"]["uid"], body=body)
            if bound:
                self.later(bound, lambda pod: self.run(pod, fate))

    def run(self, pod: Obj, fate: str) -> None:
        if pod["spec"]["nodeName"] in self.down:
            self.later(pod, lambda pod: self.run(pod, fate), 10.0)
            return
        self.addresses += 1
        self.status(pod, running(pod, f"10.0.{self.addresses // 250}.{self.addresses % 250 + 1}", ready=False))
        self.later(pod, lambda pod: self.become(pod, fate))

    def become(self, pod: Obj, fate: str) -> None:
        if pod["spec"].get("nodeName") in self.down:
            self.later(pod, lambda pod: self.become(pod, fate), 10.0)
        elif fate == FAILS:
            self.fail(pod)
        elif fate == EXITS:
            self.exit(pod)
        elif pod["status"]["phase"] == "Running" and self.is_of_a_job(pod) and submits_at(pod) is None:
            self.status(pod, {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}]})
        elif pod["status"]["phase"] == "Running":
            self.status(pod, running(pod, pod["status"]["podIP"], ready=self.answers(pod)))

    def is_of_a_job(self, pod: Obj) -> bool:
        return any(job["metadata"]["uid"] == owner_uid(pod) for job in self.store.all(JOBS))

    def fail(self, pod: Obj, reason: str = "") -> None:
        """The Pod as a whole is over: evicted, or ended with an error and not to be restarted."""
        if pod["status"]["phase"] not in TERMINAL:
            not_ready = [{"type": "Ready", "status": "False", "reason": "PodFailed"}]
            ended = {"conditions": not_ready, "containerStatuses": statuses(pod, 1)}
            self.status(pod, {"phase": "Failed", **ended, **optional("reason", reason)})

    def exit(self, pod: Obj) -> None:
        """The Ray container has ended with an error; other containers still run."""
        if pod["status"]["phase"] == "Running":
            not_ready = [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]
            self.status(pod, {"conditions": not_ready, "containerStatuses": statuses(pod, 1)})
            if pod["spec"]["restartPolicy"] != "Never":
                self.later(pod, lambda pod: self.become(pod, READY))

    def end_program(self, pod: Obj, number: int, exit_code: int) -> None:
        """One container has ended by itself, and is not started again: the Pod ends with its only one."""
        ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed", "finishedAt": rfc3339(self.clock.now)}
        found = statuses(pod, None, ready=is_ready(pod))
        found[number] |= {"ready": False, "state": {"terminated": ended}}
        phase = {"phase": "Failed" if exit_code else "Succeeded"} if len(found) == 1 else {}
        not_ready = {"type": "Ready", "status": "False", "reason": "PodCompleted"}
        self.status(pod, {**phase, "conditions": [not_ready], "containerStatuses": found})

    def lose(self, node: str) -> None:
        """Nobody hears of the node any more: its Pods count as not ready, later they are told to go, and cannot."""
        self.down.add(node)
        self.clock.call_later(4.0, lambda: self.each_lost(self.doubt))
        self.clock.call_later(20.0, lambda: self.each_lost(self.taint))

    def each_lost(self, act: Callable[[Obj], None]) -> None:
        for pod in self.store.all(PODS):
            if pod["spec"].get("nodeName") in self.down:
                act(pod)

    def doubt(self, pod: Obj) -> None:
        if pod["status"]["phase"] == "Running":
            self.status(pod, {"conditions": [{"type": "Ready", "status": "False", "reason": "NodeLost"}]})
            self.later(pod, lambda pod: self.become(pod, READY), 10.0)

    def taint(self, pod: Obj) -> None:
        self.request("delete", PODS, key_of(pod), actor="node-controller", uid=pod["metadata"]["uid"])

    def schedule_pending(self) -> None:
        """There is room now."""
        for pod in self.store.all(PODS):
            if not pod["spec"].get("nodeName"):
                self.later(pod, self.bind)

    def end(self, pod: Obj) -> None:
        if pod["spec"].get("nodeName") in self.down:
            self.later(pod, self.end, 10.0)
            return
        self.request("delete", PODS, key_of(pod), uid=pod["metadata"]["uid"], grace=0)

    def status(self, pod: Obj, status: Mapping[str, Any]) -> None:
        self.request("patch", PODS, key_of(pod), uid=pod["metadata"]["uid"], body={"status": status}, subresource="status")

    def request(self, verb: str, resource: Resource, key: Key, actor: str = KUBELET, **given: Any) -> Obj | None:
        try:
            return self.store.do(Request(actor, verb, resource, *key, **given))
        except ApiError:
            return None


def key_of(obj: Obj) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


def running(pod: Obj, address: str, *, ready: bool) -> Obj:
    found = statuses(pod, None, ready=ready)
    ready = ready and all(status["ready"] for status in found)
    condition = {"type": "Ready", "status": str(ready), **optional("reason", "" if ready else "ContainersNotReady")}
    return {"phase": "Running", "podIP": address, "conditions": [condition], "containerStatuses": found}


def statuses(pod: Obj, exit_code: int | None, *, ready: bool = False) -> list[Obj]:
    """Of every container; that of Ray has ended if there is an exit code, and one beside it that has ended has ended for good."""
    found = []
    known = {status["name"]: status for status in (pod.get("status") or {}).get("containerStatuses") or ()}
    for number, container in enumerate(pod["spec"].get("containers", ())):
        name = container.get("name", "")
        if number and "terminated" in known.get(name, {}).get("state", {}):
            found.append(known[name])
            continue
        ended = {"terminated": {"exitCode": exit_code, "reason": "Error"}} if exit_code is not None and number == 0 else {"running": {}}
        found.append({"name": name, "ready": ready, "restartCount": 0, "state": ended})
    return found


def is_ready(pod: Obj) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions") or ())


def submits_at(pod: Obj) -> int | None:
    """Which container submits a job; None: none does."""
    return next((at for at, each in enumerate(pod["spec"].get("containers", ())) if each.get("name") == CONTAINER), None)


def optional(name: str, value: str) -> dict[str, str]:
    return {name: value} if value else {}
