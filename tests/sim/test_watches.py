"""What happened while a watch was broken, and was undone again or not, is made up for by the list that follows."""

from __future__ import annotations

from rayfleet.api.meta import PODS
from rayfleet.sim.end_state import unmet
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.manifests import cluster, group
from rayfleet.sim.scenarios import workers
from rayfleet.sim.world import World


def test_a_pod_that_went_while_the_watch_was_broken_is_replaced(world: World) -> None:
    leader = world.lead()
    world.apply(cluster("demo", group("small", 2)))
    world.run(60.0)
    leader.watches[PODS].cut(5.0)
    world.user("delete", PODS, key_of(workers(world)[0]), grace=0)
    world.run(60.0)
    assert unmet(world, "demo") == []


def test_a_suspension_that_was_taken_back_unseen_changes_nothing(world: World) -> None:
    leader = world.lead()
    world.apply(cluster("demo", group("small", 2)))
    world.run(60.0)
    before = [pod["metadata"]["uid"] for pod in world.pods("demo")]
    for watch in leader.watches.values():
        watch.cut(5.0)
    world.edit("demo", {"suspend": True})
    world.run(2.0)
    world.edit("demo", {"suspend": False})
    world.run(60.0)
    assert unmet(world, "demo") == []
    assert [pod["metadata"]["uid"] for pod in world.pods("demo")] == before
