"""Proxies of Serve in the Pods of a simulated cluster, and a client that sends requests to a service all the time."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api import labels
from rayfleet.api.meta import HTTPROUTES, PODS, RAYCLUSTERS, RAYSERVICES, SERVICES, Key
from rayfleet.sim.kubelet import is_ready
from rayfleet.sim.slices import Slices
from rayfleet.sim.store import Change, Obj
from rayfleet.sim.world import NAMESPACE, World

PERIOD, AT_REST = 0.5, 10.0  # seconds between two requests: while something happens, and when nothing has for so long as `CALM`
CALM = 30.0


class ShopFront:
    """`open`: workers are ready while their proxies answer. `ask` sends one request. `pause` is how long it is until the next."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.slices = Slices(world.clock, world.store, world.rays.dice)
        self.serving: set[str] = set()  # UIDs of heads whose applications have run
        self.changed = world.clock.now
        world.store.watchers += [self.hear, self.slices.hear]
        world.nodes.answers = self.answers_at

    def hear(self, change: Change) -> None:
        self.changed = self.world.clock.now

    @property
    def pause(self) -> float:
        return PERIOD if self.world.clock.now < self.changed + CALM else AT_REST

    def open(self) -> Iterator[float]:
        while True:
            yield self.pause
            for uid, life in self.world.rays.lives.items():
                if self.world.rays.serve.running(life.cluster.name, uid):
                    self.serving.add(uid)
            for pod in self.world.store.all(PODS):
                marks = pod["metadata"].get("labels") or {}
                if labels.SERVE in marks and marks.get(labels.NODE_TYPE) == labels.WORKER and pod["status"].get("phase") == "Running":
                    self.probe(pod)

    def probe(self, pod: Obj) -> None:
        ready = self.answers_at(pod)
        if is_ready(pod) and not ready:
            self.world.nodes.status(pod, {"conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]})
        elif ready and not is_ready(pod):
            self.world.nodes.become(pod, "ready")

    def answers_at(self, pod: Obj) -> bool:
        """Does the proxy in the Pod hand requests on to an application? One that runs does so while its config is changed, too. A head is
        ready without one, as its probes ask for nothing of Serve."""
        marks = pod["metadata"].get("labels") or {}
        if labels.SERVE not in marks or marks.get(labels.NODE_TYPE) == labels.HEAD:
            return True
        return self.serves(marks[labels.CLUSTER])

    def serves(self, cluster: str) -> bool:
        serve, life = self.world.rays.serve, self.world.rays.at(Key(NAMESPACE, cluster))
        well = serve.moods.get(cluster, "") not in ("unhealthy", "hang") and not serve.stuck.get(cluster)
        if life is None or not well or self.world.clock.now < life.up:
            return False
        return life.pod in self.serving or serve.running(cluster, life.pod)

    def target(self, service: str) -> str:
        """The name of the Service, or of the cluster's own one that the route sends this request to; "" for none."""
        route = next(iter(self.world.store.all(HTTPROUTES)), None)
        if route is None:
            return f"{service}-serve-svc"
        backends = [(each["name"], each.get("weight", 1)) for each in route["spec"]["rules"][0]["backendRefs"]]
        return self.world.rays.dice.choices([name for name, _ in backends], [weight for _, weight in backends])[0]

    def ask(self, service: str) -> tuple[str, str]:
        """(cluster, what is wrong) of one request: "" when it is answered. No cluster: it leads nowhere."""
        name = self.target(service)
        found = self.world.store.get(SERVICES, Key(NAMESPACE, name))
        if found is None:
            return "", "there is no Service"
        cluster = found["spec"]["selector"].get(labels.CLUSTER, "")
        pods = self.slices.ready(Key(NAMESPACE, name))
        if not pods:
            return cluster, "no endpoint is ready"
        pod = self.world.store.get(PODS, Key(NAMESPACE, self.world.rays.dice.choice(pods)))
        if pod is None or pod["status"].get("phase") != "Running":
            return cluster, "the Pod is gone"
        reached = pod["metadata"]["labels"][labels.CLUSTER]
        return reached, "" if self.serves(reached) else f"no application runs in {reached}"

    def clusters(self, service: str) -> list[Obj]:
        owner = self.world.store.get(RAYSERVICES, Key(NAMESPACE, service))
        return list(self.world.store.owned(owner["metadata"]["uid"], RAYCLUSTERS)) if owner else []
