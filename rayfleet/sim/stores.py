"""Stories of clusters whose state outlives their head: in Redis, where it must be removed in the end, and on a volume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, SERVICES, Resource
from rayfleet.kube.errors import Forbidden
from rayfleet.sim.kubelet import PENDING, READY
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.scenarios import NAME, Act, Scenario, Step, delete_cluster, edit, head, remove, then
from rayfleet.sim.store import Obj, Request
from rayfleet.sim.world import World

REDIS = {"redisAddress": "redis:6379"}
PROD = {**REDIS, "externalStorageNamespace": "prod"}
OTHER = "other"
STORES = Configuration(feature_gates={"GCSFaultToleranceEmbeddedStorage": True})


@dataclass(frozen=True)
class Story(Scenario):
    """`gone`: in the end nothing of the cluster is left."""

    config: Configuration = field(default_factory=Configuration)
    gone: bool = True


def apply(timeout: str = "", **options: object) -> Act:
    """A head and one worker."""

    def act(world: World) -> None:
        made = cluster(NAME, group("small", 1), gcsFaultToleranceOptions=options)
        if timeout:
            made["metadata"]["annotations"] = {labels.DELETION_TIMEOUT: timeout}
        world.apply(made)

    return act


def fated(node_type: str, fate: str) -> Act:
    """What becomes of Pods of this type."""

    def act(world: World) -> None:
        world.nodes.fate = lambda pod: fate if pod["metadata"]["labels"].get(labels.NODE_TYPE) == node_type else READY

    return act


def refuse(resource: Resource, why: str, *, only: Callable[[Obj], bool] = lambda body: True, cause: str = "") -> Act:
    """Admission lets no new object of the kind in."""

    def act(world: World) -> None:
        def check(request: Request) -> None:
            if request.resource == resource and only(dict(request.body)):
                details = {"causes": [{"reason": cause}]} if cause else {}
                text = f'{resource.plural} "{request.name}" is forbidden: {why}'
                raise Forbidden(403, "Forbidden", text, details=details)

        world.store.admission[:] = [check]

    return act


def is_of_clean_up(body: Obj) -> bool:
    return bool((body["metadata"].get("labels") or {}).get(labels.NODE_TYPE) == labels.REDIS_CLEANUP)


def nobody_leads(world: World) -> None:
    for leader in tuple(world.leaders):
        world.retire(leader)


def lead(world: World) -> None:
    world.lead()


def left_over(world: World) -> list[str]:
    """What is still there of anybody's cluster, but claims."""
    return [f"{kind.kind} {obj['metadata']['name']}" for kind in (RAYCLUSTERS, PODS, SERVICES, JOBS) for obj in world.store.all(kind)]


def other_cluster(world: World) -> None:
    world.run(5.0)
    world.apply(cluster(OTHER, gcsFaultToleranceOptions=PROD))


UP = Step("apply a head and 1 worker with their state in Redis", apply(**REDIS))
IN_A_MINUTE = Step("apply a head and 1 worker; their clean-up may take 60 s", apply("60", **REDIS))
DELETE = Step("delete it", delete_cluster)
DYING = "unable to create new content in namespace default because it is being terminated"
STORIES = (
    Story("redis", (UP, Step("somebody deletes the head Pod", remove(head)), DELETE)),
    Story(
        "redis-head-pending",
        (Step("no node takes the head; apply it with its state in Redis", then(fated(labels.HEAD, PENDING), apply(**REDIS))), DELETE),
    ),
    Story(
        "redis-job-refused",
        (IN_A_MINUTE, Step("a webhook refuses Jobs; delete it", then(refuse(JOBS, "a webhook says no"), delete_cluster), 90.0)),
    ),
    Story(
        "redis-job-refused-for-a-while",
        (
            IN_A_MINUTE,
            Step("a webhook refuses Jobs; delete it", then(refuse(JOBS, "a webhook says no"), delete_cluster), 20.0),
            Step("the webhook refuses no more", lambda world: world.store.admission.clear(), 60.0),
        ),
    ),
    Story(
        "redis-job-without-a-pod",
        (
            IN_A_MINUTE,
            Step(
                "the quota of Pods is used up; delete it",
                then(refuse(PODS, "exceeded quota: pods", only=is_of_clean_up), delete_cluster),
                90.0,
            ),
        ),
    ),
    Story(
        "redis-job-never-ends",
        (IN_A_MINUTE, Step("no node takes the Job's Pod; delete it", then(fated(labels.REDIS_CLEANUP, PENDING), delete_cluster), 90.0)),
    ),
    Story(
        "redis-job-fails",
        (IN_A_MINUTE, Step("Redis is down; delete it", then(fated(labels.REDIS_CLEANUP, "fails"), delete_cluster))),
    ),
    Story(
        "redis-namespace-dying",
        (
            UP,
            Step(
                "nothing new can be made in the namespace; delete it",
                then(refuse(JOBS, DYING, cause="NamespaceTerminating"), delete_cluster),
            ),
        ),
    ),
    Story(
        "redis-nobody-there",
        (
            IN_A_MINUTE,
            Step("the operator ends; delete it", then(nobody_leads, delete_cluster), 120.0),
            Step("the operator comes back", lead),
        ),
    ),
    Story(
        "redis-switched-to-nothing",
        (UP, Step("take the options out of the spec", edit(gcsFaultToleranceOptions=None)), DELETE),
    ),
    Story(
        "redis-switched-to-rocksdb",
        (UP, Step("backend rocksdb", edit(gcsFaultToleranceOptions={"backend": "rocksdb", "redisAddress": None})), DELETE),
        config=STORES,
    ),
    Story(
        "redis-of-two-clusters",
        (
            Step("apply a cluster with the storage namespace prod, and another one", then(apply(**PROD), other_cluster)),
            Step("delete the other one", lambda world: world.delete(RAYCLUSTERS, OTHER)),
            Step("apply the other one again, and delete the first", then(other_cluster, lambda world: world.run(10.0), delete_cluster)),
            Step("delete the other one", lambda world: world.delete(RAYCLUSTERS, OTHER)),
        ),
    ),
    Story(
        "rocksdb",
        (
            Step("apply a head and 1 worker with their state on a volume", apply(backend="rocksdb")),
            Step("somebody deletes the head Pod", remove(head)),
            Step("keep the volume", edit(gcsFaultToleranceOptions={"storage": {"deletionPolicy": "Retain"}})),
            DELETE,
            Step("apply it again", apply(backend="rocksdb", storage={"deletionPolicy": "Retain"})),
        ),
        config=STORES,
        gone=False,
    ),
)
