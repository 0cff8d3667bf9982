"""A RayService's life without a control plane: plans are carried out on a few objects; Ray and the kubelet do what a story says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode, decode_cluster
from rayfleet.api.gateway import decode_gateway, decode_route
from rayfleet.api.meta import Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.api.views import PodView, ServiceView, SliceView, decode_service
from rayfleet.planning.actions import AddFinalizer, RemoveFinalizer
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.plan import Call, Plan
from rayfleet.ray import serve
from rayfleet.ray.answer import Accepted, Heard, Target
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.plan import plan
from rayfleet.sim.service_objects import Objects
from rayfleet.sim.store import merged


class Story(Objects):
    """One service and what became of it. Every plan is carried out; Ray and the kubelet do only what the test says."""

    def __init__(self, config: Configuration | None = None, **given: Any) -> None:
        super().__init__(**given)
        self.config = config or Configuration()
        self.unseen: frozenset[Resource] = frozenset()
        self.says: dict[str, Any] = {}
        self.health: dict[str, Any] = {}
        self.results: dict[str, dict[Any, Heard]] = {}
        self.backoffs: dict[str, Backoff] = {}
        self.puts: list[tuple[str, Mapping[str, Any]]] = []
        self.events: list[str] = []

    # what the operator sees and does
    def observed(self) -> Observed:
        assert self.service is not None
        service = decode(msgspec.json.encode(self.service), RayService)
        return Observed(
            service=service,
            now=self.now,
            members=tuple(self.member(self.clusters[name]) for name in sorted(self.clusters)),
            services=self.services_of("RayService"),
            fronts=self.services_of("RayCluster"),
            slices=self.slices(),
            gateways=tuple(decode_gateway(msgspec.json.encode(each)) for each in self.gateways.values()),
            routes=tuple(decode_route(msgspec.json.encode(each)) for each in self.routes.values()),
            unseen=self.unseen,
            backoffs=dict(self.backoffs),
            config=self.config,
        )

    def services_of(self, kind: str) -> tuple[ServiceView, ...]:
        """Those whose owner is of that kind."""
        own = [each for _, each in sorted(self.services.items()) if each["metadata"]["ownerReferences"][0]["kind"] == kind]
        return tuple(decode_service(msgspec.json.encode(each)) for each in own)

    def member(self, found: dict[str, Any]) -> Member:
        cluster = decode_cluster(msgspec.json.encode(found))
        assert isinstance(cluster, RayCluster), cluster
        name = cluster.metadata.name
        pods = tuple(
            msgspec.convert(pod, PodView) for _, pod in sorted(self.pods.items()) if pod["metadata"]["labels"][labels.CLUSTER] == name
        )
        target = Target(cluster.metadata.key, f"{name}-head-svc") if any(pod.is_head for pod in pods) else None
        return Member(
            cluster=cluster,
            pods=pods,
            target=target,
            details=self.says.get(name) if target else None,
            health=self.health.get(name),
            results=self.results.get(name, {}),
        )

    def slices(self) -> tuple[SliceView, ...]:
        """As the endpoint slice controller would write them at once."""
        found = []
        for name, service in sorted(self.services.items()):
            ends = []
            for pod in self.pods.values():
                marks = pod["metadata"]["labels"]
                if service["spec"]["selector"].items() <= marks.items():
                    ready = pod["status"]["conditions"][0]["status"] == "True"
                    ends.append(
                        {"conditions": {"ready": ready}, "targetRef": {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}}
                    )
            meta = {"name": f"{name}-x", "namespace": "default", "labels": service["metadata"]["labels"]}
            found.append(msgspec.convert({"metadata": meta, "endpoints": ends}, SliceView))
        return tuple(found)

    def look(self) -> Plan:
        """One look: plan, and carry it out."""
        made = plan(self.observed())
        self.apply(made)
        return made

    def apply(self, made: Plan) -> None:
        """As the runtime does: who tests a version and finds another one stops there."""
        for stage in made.stages():
            for action in stage:
                self.crash_point()
                if not self.carry(action):
                    return
                self.after_write()
        self.events += [event.reason for event in made.events]
        if made.status is not None and not any(isinstance(each, AddFinalizer | RemoveFinalizer) for each in made.actions):
            self.crash_point()
            self.write_status(made.status)
        for call in made.calls:
            self.crash_point()
            self.send(call)

    def send(self, call: Call) -> None:
        """Ray takes everything."""
        cluster = call.target.cluster.name
        self.puts.append((cluster, msgspec.json.decode(call.message.body)))
        known = self.results.setdefault(cluster, {})
        known.pop(call.message, None)
        known[call.message] = Heard(Accepted(), self.now, self.now)

    def settle(self, looks: int = 20) -> Plan:
        """Look until there is nothing to do."""
        for _ in range(looks):
            made = self.look()
            if made.done:
                return made
        raise AssertionError(f"no rest after {looks} looks: {made}")

    # what others do
    def edit(self, **spec: Any) -> None:
        assert self.service is not None
        self.service = {**self.service, "spec": {**self.service["spec"], **spec}}
        self.change_service({"metadata": {"generation": self.service["metadata"]["generation"] + 1}})

    def annotate(self, **annotations: str | None) -> None:
        assert self.service is not None
        self.service = merged(
            self.service, {"metadata": {"annotations": {f"rayfleet.dev/{name}": value for name, value in annotations.items()}}}
        )

    def start_pods(self, cluster: str, workers: int = 1) -> None:
        """The cluster's Pods run, the head is ready."""
        for role, number in ((labels.HEAD, 1), (labels.WORKER, workers)):
            for index in range(number):
                name = f"{cluster}-{role}-{index}"
                marks = {labels.CLUSTER: cluster, labels.NODE_TYPE: role, labels.SERVE: str(role == labels.WORKER).lower()}
                meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": marks}
                status = {
                    "phase": "Running",
                    "podIP": "10.0.0.1",
                    "conditions": [{"type": "Ready", "status": "True" if role == labels.HEAD else "False"}],
                }
                self.pods[name] = {"metadata": meta, "spec": {"containers": [{"name": "ray"}]}, "status": status}

    def start(self, cluster: str) -> None:
        """Its Pods run, and its Serve says that it was told nothing yet."""
        self.start_pods(cluster)
        self.say(cluster, {})

    def say(self, cluster: str, statuses: Mapping[str, str], message: str = "", **more: Any) -> None:
        """Serve says that its applications are in these states, with the config that it was given last."""
        self.now += 1.0
        given = next((body for name, body in reversed(self.puts) if name == cluster), {"applications": []})
        configs = {each["name"]: each for each in given["applications"]}
        more.setdefault("target_capacity", given.get("target_capacity"))
        applications = {
            name: serve.Application(status=status, message=message if status != "RUNNING" else "", deployed_app_config=configs.get(name))
            for name, status in statuses.items()
        }
        self.says[cluster] = Heard(serve.Details(applications=applications, **more), self.now, self.now)

    def answer(self, cluster: str, answer: Any) -> None:
        self.now += 1.0
        self.says[cluster] = Heard(answer, self.now, self.now)

    def proxies(self, cluster: str, head: bool = True, workers: bool = True) -> None:
        """Proxies answer, so that workers are ready."""
        self.now += 1.0
        self.health[cluster] = Heard(b"success" if head else b"", self.now, self.now)
        for name, pod in self.pods.items():
            if name.startswith(f"{cluster}-{labels.WORKER}"):
                self.pods[name] = merged(pod, {"status": {"conditions": [{"type": "Ready", "status": str(workers)}]}})

    def serve(self, cluster: str) -> None:
        """All goes well on a cluster until its applications run."""
        self.start(cluster)
        self.settle()
        self.say(cluster, dict.fromkeys(("fruit", "sums"), "DEPLOYING"))
        self.settle()
        self.say(cluster, dict.fromkeys(("fruit", "sums"), "RUNNING"))
        self.proxies(cluster)
        self.settle()

    def accept(self) -> None:
        """Whoever looks after Gateways takes what there is."""
        for place, names in ((self.gateways, ("Accepted", "Programmed")), (self.routes, ("Accepted", "ResolvedRefs"))):
            for name, found in place.items():
                seen = found["metadata"]["generation"]
                told = {"conditions": [{"type": each, "status": "True", "observedGeneration": seen} for each in names]}
                place[name] = {**found, "status": told if place is self.gateways else {"parents": [told]}}

    def wait(self, seconds: float) -> None:
        self.now += seconds


def serving(**given: Any) -> tuple[Story, str]:
    """A service whose first cluster serves, and that cluster's name."""
    story = Story(**given)
    story.settle()
    (name,) = story.names
    story.serve(name)
    return story, name
