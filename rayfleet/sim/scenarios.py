"""Stories that every change of the decisions is told by: a user's steps, and time for the operator to answer them.

The same stories are run with a crash at every write, and in disturbed orders; their ends must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, ROLES, SERVICES, Key
from rayfleet.kube.errors import Forbidden
from rayfleet.sim.kubelet import FAILS, READY, key_of
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.store import Obj, Request
from rayfleet.sim.transcript import Transcript
from rayfleet.sim.world import NAMESPACE, OPERATOR, World

Act = Callable[[World], object]
NAME = "demo"


@dataclass(frozen=True)
class Step:
    """`seconds` pass after the act."""

    title: str
    act: Act
    seconds: float = 60.0


@dataclass(frozen=True)
class Scenario:
    name: str
    steps: tuple[Step, ...]
    leads_first: bool = True

    def run(self, world: World) -> str:
        """The transcript. An operator that dies is replaced; the first one starts before the first step unless told otherwise."""
        transcript = Transcript(world)
        if self.leads_first:
            world.lead()
        for step in self.steps:
            transcript.step(step.title)
            step.act(world)
            world.run(step.seconds)
        return transcript.text


def apply(*groups: Obj, **spec: object) -> Act:
    return lambda world: world.apply(cluster(NAME, *groups, **spec))


def edit(**spec: object) -> Act:
    return lambda world: world.edit(NAME, spec)


def workers(world: World) -> list[Obj]:
    return [pod for pod in world.pods(NAME) if pod["metadata"]["labels"].get(labels.NODE_TYPE) == labels.WORKER and not going(pod)]


def head(world: World) -> Obj:
    return next(pod for pod in world.pods(NAME) if pod["metadata"]["labels"].get(labels.NODE_TYPE) == labels.HEAD and not going(pod))


def going(pod: Obj) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def remove(pod: Callable[[World], Obj]) -> Act:
    return lambda world: world.user("delete", PODS, key_of(pod(world)))


def name_first_worker(replicas: int) -> Act:
    def act(world: World) -> None:
        named = {"workersToDelete": [workers(world)[0]["metadata"]["name"], "another-cluster-worker-x"]}
        world.edit(NAME, {"workerGroupSpecs": [{**group("small", replicas), "scaleStrategy": named}]})

    return act


def foreign_pod(world: World) -> None:
    """A Pod of nobody's, whose name a careless autoscaler lists."""
    body = {"metadata": {"labels": {labels.NODE_TYPE: labels.WORKER}}, "spec": {"containers": [{"name": "ray"}]}}
    world.user("create", PODS, Key(NAMESPACE, "another-cluster-worker-x"), body=body)


def fail_workers(times: int) -> Act:
    """The next so many worker Pods fail."""

    def act(world: World) -> None:
        left = [times]

        def fate(pod: Obj) -> str:
            if pod["metadata"]["labels"].get(labels.NODE_TYPE) == labels.WORKER and left[0] > 0:
                left[0] -= 1
                return FAILS
            return READY

        world.nodes.fate = fate
        world.apply(cluster(NAME, group("small", 1, restart="Never")))

    return act


def limit_pods(most: int) -> Act:
    """A quota on Pods."""

    def act(world: World) -> None:
        def check(request: Request) -> None:
            used = len(world.store.all(PODS))
            if request.resource == PODS and request.actor.startswith(OPERATOR) and used >= most:
                text = f"exceeded quota: pods, requested: pods=1, used: pods={used}, limited: pods={most}"
                raise Forbidden(403, "Forbidden", f'pods "{request.name}" is forbidden: {text}')

        world.store.admission[:] = [check]

    return act


def then(*acts: Act) -> Act:
    def act(world: World) -> None:
        for each in acts:
            each(world)

    return act


def delete_cluster(world: World) -> None:
    world.delete(RAYCLUSTERS, NAME)


def foreign_service(world: World) -> None:
    labelled = {"name": f"{NAME}-head-svc", "namespace": NAMESPACE, "labels": {"app": "somebody-elses"}}
    world.apply({"apiVersion": "v1", "kind": "Service", "metadata": labelled, "spec": {"selector": {"app": "somebody-elses"}}})


def second_head(world: World) -> None:
    """Another operator's create of a head lands beside ours."""
    first = head(world)
    body = {
        "metadata": {"labels": first["metadata"]["labels"], "ownerReferences": first["metadata"]["ownerReferences"]},
        "spec": first["spec"],
    }
    world.user("create", PODS, Key(NAMESPACE, f"{NAME}-head-x2k7m"), body=body)


def foreign_role(world: World) -> None:
    """Somebody's Role of the name that the autoscaler's would have, with other rights."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    world.user("create", ROLES, Key(NAMESPACE, NAME), body={"metadata": {"labels": {"app": "somebody-elses"}}, "rules": rules})


def remove_role(world: World) -> None:
    world.delete(ROLES, NAME)


def remove_service(world: World) -> None:
    world.delete(SERVICES, f"{NAME}-head-svc")


LEFT = (("head-x2k7m", "head", "headgroup"), ("small-worker-ab2cd", "worker", "small"), ("small-worker-zq9wk", "worker", "small"))


def left_by_another_operator(world: World) -> None:
    """A head and two workers as an operator without slots and fences leaves them: random names, no labels that say which slot."""
    owner = world.apply(cluster(NAME, group("small", 2)))["metadata"]
    reference = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": NAME, "uid": owner["uid"], "controller": True}
    for name, node_type, of in LEFT:
        marks = {labels.CLUSTER: NAME, labels.NODE_TYPE: node_type, labels.GROUP: of}
        body = {"metadata": {"labels": marks, "ownerReferences": [reference]}, "spec": {"containers": [{"name": "ray"}]}}
        world.user("create", PODS, Key(NAMESPACE, f"{NAME}-{name}"), body=body)
    world.run(10.0)
    world.lead()


SMALL = group("small", 2)
BROKEN = [{**group("small", 2), "minReplicas": 5, "maxReplicas": 2}]
SCENARIOS = (
    Scenario("create", (Step("apply a head and 2 workers", apply(SMALL)),)),
    Scenario(
        "scale",
        (
            Step("apply a head and 1 worker", apply(group("small", 1))),
            Step("replicas 1 -> 3", edit(workerGroupSpecs=[group("small", 3)])),
            Step("replicas 3 -> 1", edit(workerGroupSpecs=[group("small", 1)])),
        ),
    ),
    Scenario(
        "workers-to-delete",
        (
            Step("a stranger's Pod is there; apply a head and 3 workers", then(foreign_pod, apply(group("small", 3)))),
            Step("replicas 3 -> 2, workersToDelete names one worker and the stranger's Pod", name_first_worker(2)),
            Step("replicas stay 2, workersToDelete names another worker and the stranger's Pod", name_first_worker(2)),
        ),
    ),
    Scenario("worker-fails-three-times", (Step("apply a head and 1 worker, whose Pod fails three times", fail_workers(3), 120.0),)),
    Scenario("head-lost", (Step("apply a head and 2 workers", apply(SMALL)), Step("somebody deletes the head Pod", remove(head)))),
    Scenario(
        "head-failed",
        (
            Step("apply a head and 2 workers", apply(SMALL)),
            Step("the head Pod is evicted", lambda world: world.nodes.fail(head(world), "Evicted")),
        ),
    ),
    Scenario(
        "groups",
        (
            Step("apply a head and 1 worker of group small", apply(group("small", 1))),
            Step("add group large", edit(workerGroupSpecs=[group("small", 1), group("large", 2)])),
            Step("rename group small to tiny", edit(workerGroupSpecs=[group("tiny", 1), group("large", 2)])),
            Step("remove group large", edit(workerGroupSpecs=[group("tiny", 1)])),
        ),
    ),
    Scenario(
        "suspend",
        (
            Step("apply a head and 1 worker", apply(group("small", 1))),
            Step("suspend", edit(suspend=True)),
            Step("resume", edit(suspend=False)),
        ),
    ),
    Scenario(
        "delete-and-apply",
        (
            Step("apply a head and 1 worker", apply(group("small", 1))),
            Step("delete, and apply again while the Pods still terminate", then(delete_cluster, apply(group("small", 1))), 90.0),
        ),
    ),
    Scenario(
        "quota",
        (
            Step("a quota of 2 Pods; apply a head and 3 workers", then(limit_pods(2), apply(group("small", 3))), 20.0),
            Step("the quota is raised to 10", limit_pods(10), 120.0),
        ),
    ),
    Scenario(
        "invalid",
        (
            Step("apply a head and 2 workers", apply(SMALL)),
            Step("minReplicas 5, maxReplicas 2", edit(workerGroupSpecs=BROKEN)),
            Step("mended, with 1 worker", edit(workerGroupSpecs=[group("small", 1)])),
        ),
    ),
    Scenario(
        "foreign-service",
        (
            Step("a Service of the head's name exists; apply a head and 1 worker", then(foreign_service, apply(group("small", 1))), 30.0),
            Step("the Service is deleted", remove_service, 120.0),
        ),
    ),
    Scenario(
        "two-heads",
        (
            Step("apply a head and 1 worker", apply(group("small", 1))),
            Step("another head Pod of the cluster appears", second_head),
        ),
    ),
    Scenario(
        "foreign-role",
        (
            Step(
                "a Role of the autoscaler's name exists; apply a head and 1 worker with the autoscaler",
                then(foreign_role, apply(group("small", 1), enableInTreeAutoscaling=True)),
                30.0,
            ),
            Step("the Role is deleted", remove_role, 120.0),
        ),
    ),
    Scenario(
        "take-over",
        (
            Step("a head and 2 workers of another operator; this one starts", left_by_another_operator),
            Step("replicas 2 -> 3", edit(workerGroupSpecs=[group("small", 3)])),
        ),
        leads_first=False,
    ),
    Scenario(
        "multi-host",
        (
            Step("apply a head and 2 replicas of 2 hosts", apply(group("slice", 2, hosts=2))),
            Step("somebody deletes one host", remove(lambda world: workers(world)[0])),
        ),
    ),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
