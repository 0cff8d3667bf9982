"""Jobs: their Pods are made, counted and replaced, and their status is told, as Kubernetes' controller does it.

What is counted and what is no longer held by the finalizer are written in one transaction, so nothing is ever counted twice, and
status.uncountedTerminatedPods stays empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rayfleet.apiserver import deletion, garbage, job_pods, metadata, writing
from rayfleet.apiserver import job_status as status_of
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.job_status import Why
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.record import DELETED, Change, Obj, Record
from rayfleet.apiserver.status_error import StatusError

JOBS = "jobs.batch"
MANAGER = "kubernetes.io/job-controller"
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""seconds between a Pod's failure and the next try; each failure in a row doubles them"""
_MARK = job_pods.TRACKING.encode()
Key = tuple[str, str]


@dataclass(slots=True)
class Pause:
    """Failures since the last success, and when the last one was seen."""

    failures: int = 0
    since: float = 0.0

    def end(self) -> float:
        return self.since + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self.failures - 1)) if self.failures else 0.0


@dataclass(slots=True)
class _Round:
    """One look at a Job. `job` is changed as it goes; `pods` are those that it has, by name."""

    job: Obj
    pods: dict[str, Obj]
    events: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def status(self) -> Obj:
        status: Obj = self.job["status"]
        return status

    def put(self, name: str, pod: Obj | None) -> None:
        """None: it is gone."""
        if pod is None:
            self.pods.pop(name, None)
        else:
            self.pods[name] = pod

    def active(self) -> list[Obj]:
        return [pod for pod in self.pods.values() if job_pods.is_active(pod)]

    def dying(self) -> int:
        return sum(job_pods.is_dying(pod) for pod in self.pods.values())


class Jobs:
    """`due`: when a Job is to be looked at although nothing happens (seconds of the Api's clock)."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._pauses: dict[str, Pause] = {}
        self.due: dict[Key, float] = {}

    def concerned(self, change: Change) -> Record | None:
        """The Job to look at after a change; or the Pod itself, when its Job is gone and it is still held for it."""
        record = change.record
        if record.resource == JOBS:
            if change.type == DELETED:
                self._pauses.pop(record.uid, None)
                self.due.pop((record.namespace, record.name), None)
            return record
        if record.resource != "pods":
            return None
        for uid in record.owners:
            owner = self._api.store.by_uid(uid)
            if owner is not None and owner.resource == JOBS:
                return owner
        return record if _MARK in record.data and change.type != DELETED else None

    def release(self, record: Record) -> None:
        """A Pod whose Job is gone is held no longer."""
        owners = [self._api.store.by_uid(uid) for uid in record.owners]
        if _MARK in record.data and not any(owner is not None and owner.resource == JOBS for owner in owners):
            self._let_go(record.namespace, record.name)

    def look_at(self, record: Record) -> None:
        job = record.decode()
        self.due.pop((record.namespace, record.name), None)
        if job["spec"].get("managedBy", MANAGER) != MANAGER:
            return
        pods = {each.name: each.decode() for each in self._api.store.dependents(record.uid) if each.resource == "pods"}
        if "deletionTimestamp" in job["metadata"]:
            for name in pods:
                self._let_go(record.namespace, name)
        elif status_of.is_finished(job):
            self._expire(record, job)
        else:
            self._work(record, _Round(job, pods))

    def _work(self, record: Record, look: _Round) -> None:
        now, status = self._api.clock(), look.status
        if "startTime" not in status and not look.job["spec"].get("suspend"):
            status["startTime"] = metadata.timestamp(now)
        policy = _policy(look)
        self._count(look)
        failing = status_of.failure(look.job, look.pods.values(), policy, now)
        if failing:
            self._end(look, status_of.TARGET, status_of.FAILED, failing)
        elif status_of.is_complete(look.job, len(look.active())):
            self._end(look, status_of.MET, status_of.COMPLETE, status_of.REACHED)
        else:
            self._suspend_or_resume(look, now)
            self._fit(record, look)
        self._tell(record, look)

    def _count(self, look: _Round) -> None:
        """The ends of Pods, each once."""
        job, status, uid = look.job, look.status, look.job["metadata"]["uid"]
        done = status_of.indexes(status.get("completedIndexes", ""))
        for name, pod in list(look.pods.items()):
            if not job_pods.is_tracked(pod):
                continue
            if job_pods.has_succeeded(pod):
                index = job_pods.index_of(pod)
                status["succeeded"] = status.get("succeeded", 0) + (index is None or index not in done)
                done |= {index} if index is not None else set()
                self._pauses.pop(uid, None)
            elif not job_pods.has_failed(pod, job):
                continue
            elif job_pods.matched(job, pod).action != "Ignore":
                status["failed"] = status.get("failed", 0) + 1
                pause = self._pauses.setdefault(uid, Pause())
                pause.failures, pause.since = pause.failures + 1, self._api.clock()
            look.put(name, self._let_go(pod["metadata"]["namespace"], name))
        if done:
            status["completedIndexes"] = status_of.index_text(done)

    def _end(self, look: _Round, first: str, last: str, why: Why) -> None:
        """The Pods that are left go; then the Job is what it was to become."""
        now, status = self._api.clock(), look.status
        for pod in look.active():
            self._remove(look, pod)
            if first == status_of.TARGET:
                status["failed"] = status.get("failed", 0) + 1
        if not status_of.holds(status, first):
            status_of.set_condition(status, first, why, now)
        elif not look.dying():
            status_of.set_condition(status, last, why, now)
            if last == status_of.COMPLETE:
                status["completionTime"] = metadata.timestamp(now)
            told = ("Normal", "Completed", "Job completed") if last == status_of.COMPLETE else ("Warning", *why)
            look.events.append(told)

    def _suspend_or_resume(self, look: _Round, now: float) -> None:
        status, suspended = look.status, bool(look.job["spec"].get("suspend"))
        if suspended == status_of.holds(status, status_of.SUSPENDED):
            return
        word = "Suspended" if suspended else "Resumed"
        status_of.set_condition(status, status_of.SUSPENDED, (f"Job{word}", f"Job {word.lower()}"), now, true=suspended)
        look.events.append(("Normal", word, f"Job {word.lower()}"))
        if suspended:
            status.pop("startTime", None)
        else:
            status["startTime"] = metadata.timestamp(now)

    def _fit(self, record: Record, look: _Round) -> None:
        """As many active Pods as there should be."""
        active = look.active()
        wanted = status_of.wanted_active(look.job, len(active))
        # Those that do least yet go first.
        surplus = sorted(active, key=lambda pod: (job_pods.is_ready(pod), bool(pod["spec"].get("nodeName"))))
        for pod in surplus[: max(0, len(active) - wanted)]:
            self._remove(look, pod)
        missing = wanted - len(active)
        if look.job["spec"].get("podReplacementPolicy") == "Failed":
            missing -= look.dying()
        if missing > 0:
            self._make(record, look, missing)

    def _make(self, record: Record, look: _Round, missing: int) -> None:
        key, pause = (record.namespace, record.name), self._pauses.get(record.uid, Pause())
        if pause.end() > self._api.clock():
            self._remind(key, pause.end())
            return
        for index in self._free_indexes(look, missing):
            try:
                body = job_pods.made(look.job, index)
                made = writing.create(self._api, self._api.registry.native("pods"), record.namespace, body, WriteOptions())
            except StatusError as refusal:
                look.events.append(("Warning", "FailedCreate", f"Error creating: {refusal.message}"))
                self._remind(key, self._api.clock() + FIRST_PAUSE)
                return
            look.put(made.name, made.decode())
            look.events.append(("Normal", "SuccessfulCreate", f"Created pod: {made.name}"))

    def _free_indexes(self, look: _Round, count: int) -> list[int | None]:
        if look.job["spec"].get("completionMode") != "Indexed":
            return [None] * count
        taken = status_of.indexes(look.status.get("completedIndexes", "")) | {job_pods.index_of(pod) for pod in look.active()}
        return [index for index in range(look.job["spec"]["completions"]) if index not in taken][:count]

    def _tell(self, record: Record, look: _Round) -> None:
        """Writes what changed, and says when to look again."""
        active, status = look.active(), look.status
        status |= {"ready": sum(map(job_pods.is_ready, active)), "terminating": look.dying(), "uncountedTerminatedPods": {}}
        status.pop("active", None)
        if active:
            status["active"] = len(active)
        if status != record.decode()["status"]:
            self._api.store.put(record.resource, record.namespace, record.name, look.job)
        end = status_of.out_of_time_at(look.job)
        if end is not None and not status_of.holds(status, status_of.TARGET):
            self._remind((record.namespace, record.name), end)
        for kind, reason, message in look.events:
            self._note(look.job, kind, reason, message)

    def _expire(self, record: Record, job: Obj) -> None:
        """ttlSecondsAfterFinished."""
        limit = job["spec"].get("ttlSecondsAfterFinished")
        if limit is None:
            return
        end = status_of.finished_at(job) + float(limit)
        if end > self._api.clock():
            self._remind((record.namespace, record.name), end)
            return
        kind = self._api.registry.native(JOBS).kind
        deletion.delete(self._api, kind, record, deletion.DeleteOptions(uid=record.uid, propagation="Foreground"))

    def _remind(self, key: Key, when: float) -> None:
        self.due[key] = min(when, self.due.get(key, when))

    def _remove(self, look: _Round, pod: Obj) -> None:
        """It is not counted any more, so nothing but its kubelet holds it."""
        meta = pod["metadata"]
        self._let_go(meta["namespace"], meta["name"])
        record = self._api.store.get("pods", meta["namespace"], meta["name"])
        if record is not None:
            last, gone = deletion.delete(self._api, self._api.registry.native("pods").kind, record, deletion.DeleteOptions())
            look.put(meta["name"], None if gone else last.decode())
        look.events.append(("Normal", "SuccessfulDelete", f"Deleted pod: {meta['name']}"))

    def _let_go(self, namespace: str, name: str) -> Obj | None:
        """The Pod without the finalizer; None when that was all it waited for."""
        record = self._api.store.get("pods", namespace, name)
        if record is None or not job_pods.is_tracked(pod := record.decode()):
            return record.decode() if record else None
        pod["metadata"]["finalizers"] = [each for each in pod["metadata"]["finalizers"] if each != job_pods.TRACKING]
        garbage.save(self._api, record, pod)
        left = self._api.store.get("pods", namespace, name)
        return left.decode() if left else None

    def _note(self, job: Obj, kind: str, reason: str, message: str) -> None:
        meta, stamp = job["metadata"], metadata.timestamp(self._api.clock())
        about = {"kind": "Job", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"], "apiVersion": "batch/v1"}
        body = {
            "metadata": {"name": f"{meta['name']}.{self._api.dice.getrandbits(64):016x}", "namespace": meta["namespace"]},
            "involvedObject": {**about, "resourceVersion": meta["resourceVersion"]},
            "reason": reason,
            "message": message,
            "type": kind,
            "source": {"component": "job-controller"},
            "reportingComponent": "job-controller",
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
        try:
            writing.create(self._api, self._api.registry.native("events"), meta["namespace"], body, WriteOptions())
        except StatusError:
            pass  # the namespace ends


def _policy(look: _Round) -> str:
    """What the failure policy says of Pods that have failed, when it ends the Job."""
    failed = (pod for pod in look.pods.values() if job_pods.is_tracked(pod) and job_pods.has_failed(pod, look.job))
    found = (job_pods.matched(look.job, pod) for pod in failed)
    return next((each.message for each in found if each.action == "FailJob"), "")
