"""A world in which everything goes well and nothing takes time: Pods run at once, Ray does what it is told, nothing is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import (
    CERTIFICATES,
    ENDPOINTSLICES,
    GATEWAYS,
    HTTPROUTES,
    JOBS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
    SERVICES,
    Key,
    Resource,
)
from rayfleet.api.names import claim_name
from rayfleet.api.validation.ray_job import SIDECAR
from rayfleet.planning.actions import Action, AddFinalizer, Create, Fence, Patch, RemoveFinalizer
from rayfleet.planning.plan import Call, Plan
from rayfleet.planning.selection import selects
from rayfleet.raycluster.children import others
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.plan import plan as plan_cluster
from rayfleet.raycronjob.observe import Observer as CronObserver
from rayfleet.raycronjob.plan import plan as plan_cron_job
from rayfleet.rayjob.observe import Observer as JobObserver
from rayfleet.rayjob.plan import plan as plan_job
from rayfleet.rayservice.observe import Observer as ServiceObserver
from rayfleet.rayservice.plan import plan as plan_service
from rayfleet.sim.cache import finish, view
from rayfleet.sim.ideal_ray import AbsentRay, IdealRay
from rayfleet.sim.kubelet import key_of, running
from rayfleet.sim.store import Change, Obj, Request, Store

ACTOR = "operator-ideal"
MOST_ROUNDS, MOST_WAITS = 400, 200
KINDS = (RAYCRONJOBS, RAYJOBS, RAYSERVICES, RAYCLUSTERS)
Step = Action | Call


@dataclass
class Still:
    """A clock that stands until it is set."""

    now: float


@dataclass
class Shelf:
    """What an observation reads, straight from a store."""

    store: Store

    def get(self, resource: Resource, key: Key) -> Any:
        found = self.store.get(resource, key)
        return None if found is None else view(resource, found)

    def owned(self, resource: Resource, uid: str) -> tuple[Any, ...]:
        return tuple(sorted((view(resource, each) for each in self.store.owned(uid, resource)), key=lambda each: each.metadata.name))

    def unseen(self, resource: Resource) -> bool:
        return False

    def backoffs(self, key: Key) -> dict[str, Any]:
        return {}


@dataclass
class IdealWorld:
    """The objects of `store` and what becomes of them. `gone` are names that were used and are free now."""

    store: Store
    clock: Still
    config: Configuration
    ray: IdealRay | AbsentRay
    gone: frozenset[str] = frozenset()
    orphaned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store.watchers.append(self.hear)

    def hear(self, change: Change) -> None:
        if change.type == "DELETED" and change.resource in KINDS:  # of other kinds none has children
            self.orphaned.append(change.new["metadata"]["uid"])

    def plan(self, resource: Resource, key: Key) -> Plan:
        """What the operator would do next for one object."""
        if resource == RAYCLUSTERS:
            return plan_cluster(self.observed_cluster(key))
        observe, decide = self.core(resource)
        return decide(finish(observe(Shelf(self.store), key, self.clock.now)))

    def core(self, resource: Resource) -> tuple[Any, Callable[[Any], Plan]]:
        if resource == RAYSERVICES:
            return ServiceObserver(self.config, self.ray), plan_service  # type: ignore[arg-type]
        if resource == RAYJOBS:
            return JobObserver(self.config, self.ray), plan_job
        return CronObserver(self.config), plan_cron_job

    def observed_cluster(self, key: Key) -> Observed:
        cluster = view(RAYCLUSTERS, self.store.get(RAYCLUSTERS, key) or {})
        shelf, uid = Shelf(self.store), cluster.metadata.uid
        claim = shelf.get(PERSISTENTVOLUMECLAIMS, Key(key.namespace, claim_name(key.name)))
        rest = {resource: shelf.owned(resource, uid) for resource in others(self.config)}
        pods, services, jobs = (shelf.owned(resource, uid) for resource in (PODS, SERVICES, JOBS))
        return Observed(cluster, self.clock.now, pods, services, self.gone, jobs, claim, others=rest, config=self.config)

    def lived(self) -> Iterator[Step]:
        """Every step on the way to rest, each carried out. Raises RuntimeError when there is no end."""
        waits = 0
        for _ in range(MOST_ROUNDS):
            steps = list(self.round())
            yield from steps
            self.go_well()
            if steps or self.moved:
                continue
            wait = self.wait()
            if wait is None or waits == MOST_WAITS:
                return
            waits += 1
            self.clock.now += wait
            self.set_ray_clock()
        raise RuntimeError(f"no end after {MOST_ROUNDS} rounds")

    def round(self) -> Iterator[Step]:
        """One plan for each object, carried out."""
        self.moved = False
        for resource in KINDS:
            for key in sorted(map(key_of, self.store.all(resource))):
                if self.store.get(resource, key) is None:
                    continue
                plan = self.plan(resource, key)
                for action in plan.actions:
                    self.carry_out(action)
                    yield action
                if plan.status is not None:
                    self.moved = True
                    body = {"status": plan.status.patch}
                    if self.store.get(resource, key) is not None:
                        self.store.do(Request(ACTOR, "patch", resource, *key, body=body, subresource="status"))
                for call in plan.calls:
                    if isinstance(self.ray, IdealRay):
                        self.ray.take(call.target, call.message)
                    yield call

    def wait(self) -> float | None:
        """Seconds until a service goes on that still has two clusters; None when nothing is under way."""
        for found in self.store.all(RAYSERVICES):
            if sum(1 for _ in self.store.owned(found["metadata"]["uid"], RAYCLUSTERS)) > 1:
                return self.plan(RAYSERVICES, key_of(found)).requeue_after
        return None

    def set_ray_clock(self) -> None:
        if isinstance(self.ray, IdealRay):
            self.ray.now = self.clock.now

    def carry_out(self, action: Action) -> None:
        where = (action.resource, action.namespace, action.name)
        if isinstance(action, Create):
            self.store.do(Request(ACTOR, "create", *where, body=action.manifest))
        elif isinstance(action, Fence):
            self.store.do(Request(ACTOR, "patch", *where, body={"metadata": {"annotations": dict(action.annotations)}}))
        elif isinstance(action, AddFinalizer | RemoveFinalizer):
            self.store.do(Request(ACTOR, "patch", *where, body={"metadata": {"finalizers": list(action.finalizers) or None}}))
        elif isinstance(action, Patch):
            self.store.do(Request(ACTOR, "patch", *where, body=action.patch, uid=action.uid))
        else:
            self.store.do(Request(ACTOR, "delete", *where, uid=action.uid, grace=0))

    def go_well(self) -> None:
        """What others do meanwhile."""
        self.collect()
        self.issue()
        self.run_pods()
        self.lead()
        self.accept()
        if isinstance(self.ray, IdealRay):
            self.submit(self.ray)

    def collect(self) -> None:
        """What belonged to something that is gone goes too."""
        while self.orphaned:
            uid = self.orphaned.pop()
            for resource, key in sorted(self.store.children.get(uid, {}), key=lambda each: each[1]):
                self.store.do(Request("garbage-collector", "delete", resource, *key, grace=0))

    def issue(self) -> None:
        for found in self.store.all(CERTIFICATES):
            issued = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
            self.store.do(Request("issuer", "patch", CERTIFICATES, *key_of(found), body=issued, subresource="status"))

    def run_pods(self) -> None:
        addresses: dict[Key, list[str]] = {}
        for number, pod in enumerate(self.store.all(PODS), 1):
            address = f"10.0.0.{number}"
            body = {"status": running(pod, address, ready=True)}
            self.store.do(Request("kubelet", "patch", PODS, *key_of(pod), body=body, subresource="status"))
            cluster = (pod["metadata"].get("labels") or {}).get(labels.CLUSTER, "")
            addresses.setdefault(Key(pod["metadata"]["namespace"], cluster), []).append(address)
        if isinstance(self.ray, IdealRay):
            self.ray.addresses = {key: tuple(found) for key, found in addresses.items()}

    def lead(self) -> None:
        """The endpoints of the services' Services."""
        for service in self.store.all(SERVICES):
            if labels.SERVE not in (service["metadata"].get("labels") or {}):
                continue
            key, meta = key_of(service), service["metadata"]
            selector = {"matchLabels": service["spec"].get("selector") or {}}
            chosen = [pod["metadata"] for pod in self.store.all(PODS) if selects(selector, pod["metadata"].get("labels") or {})]
            ends = [{"conditions": {"ready": True}, "targetRef": {"name": pod["name"], "uid": pod["uid"]}} for pod in chosen]
            owner = [{"kind": "Service", "name": key.name, "uid": meta["uid"], "controller": True}]
            head = {"name": f"{key.name}-x", "namespace": key.namespace, "uid": f"{meta['uid']}-x", "labels": meta["labels"]}
            self.store.place(ENDPOINTSLICES, {"metadata": {**head, "ownerReferences": owner}, "endpoints": ends})

    def accept(self) -> None:
        """Whoever looks after Gateways takes what there is."""
        for resource, names in ((GATEWAYS, ("Accepted", "Programmed")), (HTTPROUTES, ("Accepted", "ResolvedRefs"))):
            for found in self.store.all(resource):
                seen = found["metadata"].get("generation", 1)
                told = {"conditions": [{"type": name, "status": "True", "observedGeneration": seen} for name in names]}
                body = {"status": told if resource == GATEWAYS else {"parents": [told]}}
                self.store.do(Request("gateway", "patch", resource, *key_of(found), body=body, subresource="status"))

    def submit(self, ray: IdealRay) -> None:
        """Submitters do their work, and heads that submit themselves."""
        for found in self.store.all(RAYJOBS):
            name, mode = (found.get("status") or {}).get("jobId"), found["spec"].get("submissionMode")
            submitter = any(True for _ in self.store.owned(found["metadata"]["uid"], JOBS))
            submits = submitter or (mode == SIDECAR and self.has_head(found))
            if name and submits:
                ray.jobs.setdefault(name, "RUNNING")

    def has_head(self, job: Obj) -> bool:
        cluster = self.store.get(RAYCLUSTERS, Key(job["metadata"]["namespace"], (job.get("status") or {}).get("rayClusterName", "")))
        return cluster is not None and (cluster.get("status") or {}).get("state") == "ready"
