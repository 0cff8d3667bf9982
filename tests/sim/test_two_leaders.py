"""Two operators at once, one of them with an old copy: no name comes back, and no head is made beside another."""

from __future__ import annotations

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.sim.end_state import unmet
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.manifests import FAULTY_GROUPS, cluster, group
from rayfleet.sim.scenarios import delete_cluster, head, workers
from rayfleet.sim.store import Change, Obj
from rayfleet.sim.world import World


class Names:
    """Every name of a Pod that was made, in order."""

    def __init__(self, world: World) -> None:
        self.made: list[str] = []
        world.store.watchers.append(self.hear)

    def hear(self, change: Change) -> None:
        if change.resource == PODS and change.type == "ADDED":
            self.made.append(change.new["metadata"]["name"])


def heads(world: World) -> list[Obj]:
    return [pod for pod in world.pods("demo") if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD]


def lose(world: World, pod: Obj) -> None:
    world.user("delete", PODS, key_of(pod), grace=0)


def test_a_pod_that_went_before_its_owner_was_known_is_remembered(world: World) -> None:
    """The cluster is deleted and applied again; the second operator hears of the Pods at once, and of the cluster's first state late."""
    names = Names(world)
    first, second = world.lead(), world.lead()
    world.apply(cluster("demo", group("small", 1)))
    world.run(60.0)
    second.watches[RAYCLUSTERS].stall(20.0)
    delete_cluster(world)
    world.apply(cluster("demo", group("small", 1)))
    second.watches[RAYCLUSTERS].stall(60.0)
    world.run(10.0)
    lose(world, workers(world)[0])
    lose(world, head(world))
    world.retire(first)
    world.run(300.0)
    assert unmet(world, "demo") == []
    assert len(names.made) == len(set(names.made))


def test_no_head_is_made_from_an_old_copy_of_a_cluster_that_never_lost_a_pod(world: World) -> None:
    """Only the first operator saw the head go; of what it writes thereupon, and makes, the second one hears late."""
    world.lead()
    world.apply(cluster("demo", group("small", 1)))
    world.run(60.0)
    world.edit("demo", {"workerGroupSpecs": FAULTY_GROUPS[0]})
    world.run(10.0)
    lose(world, head(world))
    second = world.lead()
    world.run(10.0)
    second.watches[RAYCLUSTERS].stall(2.0)
    world.edit("demo", {"workerGroupSpecs": [group("small", 1)]})
    for resource in (RAYCLUSTERS, PODS):
        second.watches[resource].stall(30.0)
    world.run(10.0)
    assert len(heads(world)) == 1
    world.run(120.0)
    assert unmet(world, "demo") == []
    assert len(heads(world)) == 1
