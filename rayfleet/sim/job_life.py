"""A RayJob's life without a control plane: plans are carried out on a few objects, clusters get ready, and a fake Ray answers.

Everything that the operator knows beyond the objects is in `Memory`, which a crash takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode_cluster, decode_job
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS, SERVICES, Key, Resource
from rayfleet.api.views import JobView, PodView, decode_service
from rayfleet.planning.actions import Action, AddFinalizer, Create, Delete, Fence, Patch, RemoveFinalizer
from rayfleet.planning.backoff import Backoff, retry_delay
from rayfleet.planning.clock import rfc3339
from rayfleet.planning.plan import Call, Event, Plan
from rayfleet.ray.answer import Act, Heard, Question, Target, complaint
from rayfleet.rayjob.observe import Observer
from rayfleet.rayjob.observed import Observed
from rayfleet.rayjob.plan import plan
from rayfleet.sim.job_surroundings import NAMESPACE, Surroundings
from rayfleet.sim.ray_jobs import FakeRay

KEY = Key(NAMESPACE, "train")
UID = "11111111-2222-3333-4444-555555555555"
START = 1_800_000_000.0
VIEWS: Mapping[Resource, Callable[[bytes], Any]] = {
    RAYJOBS: decode_job,
    RAYCLUSTERS: decode_cluster,
    SERVICES: decode_service,
    JOBS: msgspec.json.Decoder(JobView).decode,
    PODS: msgspec.json.Decoder(PodView).decode,
}


class Crash(Exception):
    """The operator dies."""


def head_template(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.60.0"}], **spec}}


def cluster_spec(**fields: Any) -> dict[str, Any]:
    return {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": {}, "template": head_template()}, **fields}


@dataclass
class Memory:
    """What one process of the operator knows."""

    heard: dict[tuple[Target, Question], Heard] = field(default_factory=dict)
    results: dict[Act, Heard] = field(default_factory=dict)
    asked: tuple[Target, tuple[Question, ...]] | None = None
    waiting: list[Call] = field(default_factory=list)
    backoffs: dict[str, Backoff] = field(default_factory=dict)


class Life(Surroundings):
    def __init__(self, *, annotations: dict[str, str] | None = None, config: Configuration | None = None, **spec: Any) -> None:
        super().__init__(START)
        self.memory = Memory()
        self.writes: list[str] = []
        self.statuses: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.config = config or Configuration()
        self.crash_at: int | None = None
        self.after_write: Callable[[], None] = lambda: None
        given = {"entrypoint": "python train.py", **({} if "clusterSelector" in spec else {"rayClusterSpec": cluster_spec()}), **spec}
        meta = {"name": KEY.name, "namespace": KEY.namespace, "uid": UID, "generation": 1, "annotations": annotations or {}}
        self.put(RAYJOBS, {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": given, "status": {}})

    # the objects
    def get(self, resource: Resource, key: Key) -> Any:
        found = self.objects.get((resource, key.name))
        return None if found is None else VIEWS[resource](msgspec.json.encode(found))

    def owned(self, resource: Resource, uid: str) -> list[Any]:
        found = [obj for (kind, _), obj in sorted(self.objects.items(), key=lambda item: item[0][1]) if kind == resource]
        mine = [obj for obj in found if any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences") or ())]
        return [VIEWS[resource](msgspec.json.encode(obj)) for obj in mine]

    def backoffs(self, key: Key) -> Mapping[str, Backoff]:
        return self.memory.backoffs

    @property
    def job(self) -> dict[str, Any]:
        return self.objects[RAYJOBS, KEY.name]

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.job["status"])

    @property
    def is_there(self) -> bool:
        return (RAYJOBS, KEY.name) in self.objects

    @property
    def state(self) -> str:
        return str(self.status.get("jobDeploymentStatus", ""))

    @property
    def ray(self) -> FakeRay:
        """Of the present cluster."""
        return self.rays[self.status["rayClusterName"]]

    @property
    def runs(self) -> list[str]:
        return [run for ray in self.rays.values() for run in ray.runs]

    def edit(self, **spec: Any) -> None:
        self.job["spec"].update(spec)
        self.job["metadata"]["generation"] += 1
        self.put(RAYJOBS, self.job)

    # the desk
    def follow(self, key: Key, target: Target, questions: Iterable[Question]) -> Mapping[Question, Heard]:
        asked = tuple(questions)
        self.memory.asked = (target, asked)
        self.memory.heard = {each: heard for each, heard in self.memory.heard.items() if each[1] in asked}
        return {each: self.memory.heard[target, each] for each in asked if (target, each) in self.memory.heard}

    def results(self, key: Key, cluster: Key) -> Mapping[Act, Heard]:
        return self.memory.results

    def forget(self, key: Key) -> None:
        self.memory.asked, self.memory.waiting = None, []
        self.memory.heard.clear()
        self.memory.results.clear()

    def hear(self) -> None:
        """Everything that waits is sent, everything that is followed is asked."""
        calls, self.memory.waiting = self.memory.waiting, []
        for call in calls:
            answer = self.rays[call.target.cluster.name].ask(call.message)
            self.memory.results[call.message] = Heard(answer, self.now, self.now)
            if why := complaint(answer):
                attempts = self.memory.backoffs[call.scope].attempts + 1 if call.scope in self.memory.backoffs else 1
                self.memory.backoffs[call.scope] = Backoff(call.scope, attempts, self.now + retry_delay(attempts), why, call.failed_event)
            else:
                self.memory.backoffs.pop(call.scope, None)
        target, questions = self.memory.asked or (None, ())
        for question in questions:
            assert target is not None
            answer = self.rays[target.cluster.name].ask(question)
            before = self.memory.heard.get((target, question))
            same = before is not None and before.answer == answer
            self.memory.heard[target, question] = Heard(answer, self.now, before.since if before and same else self.now)

    # the operator
    def observe(self) -> Observed | None:
        course = Observer(self.config, self)(self, KEY, self.now)
        try:
            course.send(None)
        except StopIteration as end:
            found: Observed | None = end.value
            return found
        raise AssertionError("an observation waited")

    def look(self) -> Plan | None:
        observed = self.observe()
        if observed is None:
            return None
        made = plan(observed)
        self.apply(made)
        return made

    def apply(self, made: Plan) -> None:
        for action in made.actions:
            self.crash_point()
            self.carry_out(action)
            self.after_write()
        self.events += made.events
        if made.status is not None and not any(isinstance(each, Fence | AddFinalizer | RemoveFinalizer) for each in made.actions):
            self.crash_point()
            assert made.status.resource_version == self.job["metadata"]["resourceVersion"]
            merge(self.job["status"], made.status.patch)
            self.put(RAYJOBS, self.job)
            self.writes.append("status")
            self.statuses.append(self.status)
            self.after_write()
        self.crash_point()
        self.memory.waiting += [call for call in made.calls if call not in self.memory.waiting]

    def crash_point(self) -> None:
        if self.crash_at is not None:
            self.crash_at -= 1
            if self.crash_at < 0:
                self.crash_at = None
                raise Crash

    def carry_out(self, action: Action) -> None:
        self.writes.append(f"{type(action).__name__} {action.resource.kind} {action.name}")
        if isinstance(action, Create):
            self.create(action)
        elif isinstance(action, Delete):
            found = self.objects.get((action.resource, action.name))
            assert found is None or found["metadata"]["uid"] == action.uid
            self.remove(action.resource, action.name)
        elif isinstance(action, Patch):
            merge(self.objects[action.resource, action.name], action.patch)
        else:
            meta = self.job["metadata"]
            assert action.resource_version == meta["resourceVersion"]
            if isinstance(action, Fence):
                merge(meta.setdefault("annotations", {}), action.annotations)
            else:
                meta["finalizers"] = list(action.finalizers)
            self.put(RAYJOBS, self.job)
            if meta.get("deletionTimestamp") and not meta["finalizers"]:
                del self.objects[RAYJOBS, KEY.name]

    def create(self, action: Create) -> None:
        assert (action.resource, action.name) not in self.objects, f"{action.name} is made twice"
        obj = msgspec.json.decode(msgspec.json.encode(action.manifest))
        obj["metadata"]["uid"] = f"uid-of-{action.name}-{self.version}"
        obj["metadata"]["creationTimestamp"] = rfc3339(self.now)
        obj["made"] = self.now
        obj.setdefault("status", {})
        self.put(action.resource, obj)
        if action.resource == RAYCLUSTERS:
            self.rays[action.name] = FakeRay()

    def remove(self, resource: Resource, name: str) -> None:
        if resource == RAYJOBS and self.job["metadata"].get("finalizers"):
            self.job["metadata"]["deletionTimestamp"] = rfc3339(self.now)
            self.put(RAYJOBS, self.job)
            return
        self.objects.pop((resource, name), None)
        if name in self.rays and resource == RAYCLUSTERS:
            self.rays[name].alive = False
            self.objects.pop((PODS, f"{name}-head"), None)

    def crash(self) -> None:
        self.memory = Memory()

    def live(self, seconds: float, step: float = 1.0) -> Life:
        """So many seconds of everything, until the object is gone."""
        end = self.now + seconds
        while self.now < end and self.is_there:
            self.grow()
            self.hear()
            try:
                self.settle()
            except Crash:
                self.crash()
            self.now += step
        return self

    def settle(self) -> None:
        """Looks until one changes nothing."""
        for _ in range(20):
            made = self.look()
            if made is None or not (made.actions or made.status) or not self.is_there:
                return
        raise AssertionError(f"the plans do not end: {self.writes[-10:]}")


def merge(into: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for name, value in patch.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            inner = into.setdefault(name, {})
            merge(inner, value)
        else:
            into[name] = value
