"""What befalls clusters that the operator sizes: work that comes and goes, heads and nodes that are lost, people who edit. Each act says
whether it did anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS
from rayfleet.sim import accidents
from rayfleet.sim.kubelet import is_ready, key_of
from rayfleet.sim.sized_line import ILLS
from rayfleet.sim.sized_ray import group_of
from rayfleet.sim.sizes import groups

if TYPE_CHECKING:
    from rayfleet.sim.hosted_storm import Storm

ROOM_IS_SHORT = 20.0  # seconds
STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")


def work_comes(storm: Storm) -> bool:
    storm.rays.submit(storm.name, storm.dice.randint(1, 8), storm.dice.choice((1.0, 1.0, 3.0)), storm.dice.uniform(5.0, 60.0))
    return True


def a_placement_group_comes(storm: Storm) -> bool:
    strategy, bundles = storm.dice.choice(STRATEGIES), storm.dice.randint(2, 3)
    storm.rays.submit_gang(storm.name, bundles, strategy, seconds=storm.dice.uniform(5.0, 60.0))
    return True


def work_is_withdrawn(storm: Storm) -> bool:
    storm.rays.withdraw(storm.name)
    return True


def size_by_hand(storm: Storm) -> bool:
    return storm.edit_groups(lambda found: [{**found[0], "replicas": storm.dice.randint(0, 5)}, *found[1:]])


def limits_by_hand(storm: Storm) -> bool:
    least = storm.dice.choice((0, 0, 1))
    return storm.edit_groups(lambda found: [{**found[0], "minReplicas": least, "maxReplicas": storm.dice.randint(2, 7)}, *found[1:]])


def groups_change_places(storm: Storm) -> bool:
    return storm.edit_groups(lambda found: found[::-1])


def a_group_is_removed(storm: Storm) -> bool:
    return storm.edit_groups(lambda found: [each for each in found if each["groupName"] != "large"])


def a_group_is_removed_while_it_drains(storm: Storm) -> bool:
    """Between a drain that Ray accepted and the end of its Pod."""
    for name in storm.names:
        cluster = storm.world.cluster(name)
        pods = {pod["metadata"]["uid"] for pod in storm.workers(name)}
        nodes = storm.rays.nodes(cluster["metadata"]["uid"]) if cluster else []
        leaving = {node.group for node in nodes if node.let_go and node.pod in pods}
        left = [group for group in groups(cluster or {}) if group["groupName"] not in leaving]
        if leaving and left:
            storm.world.edit(name, {"workerGroupSpecs": left})
            return True
    return False


def names_of_nobody(storm: Storm) -> bool:
    gone = {"workersToDelete": ["nobody-of-that-name"]}
    return storm.edit_groups(lambda found: [{**found[0], "scaleStrategy": gone}, *found[1:]])


def as_wanted(storm: Storm) -> bool:
    for name in storm.names:
        sizes = {group["groupName"]: group.get("replicas", 0) for group in groups(storm.world.cluster(name) or {})}
        made = storm.wanted(name)
        for group in groups(made):
            group["replicas"] = min(sizes.get(group["groupName"], 0), group["maxReplicas"])
        storm.world.apply(made)
    return True


def a_cluster_is_made_anew(storm: Storm) -> bool:
    name = storm.name
    storm.world.delete(RAYCLUSTERS, name)
    storm.world.apply(storm.wanted(name))
    return True


def a_worker_fails(storm: Storm) -> bool:
    victims = [pod for pod in storm.workers(storm.name) if is_ready(pod)]
    if victims:
        storm.world.nodes.fail(storm.dice.choice(victims), "Evicted")
    return bool(victims)


def a_worker_is_deleted(storm: Storm) -> bool:
    victims = storm.workers(storm.name)
    if victims:
        storm.world.user("delete", PODS, key_of(storm.dice.choice(victims)))
    return bool(victims)


def the_head_is_lost(storm: Storm) -> bool:
    heads = [pod for pod in storm.world.pods(storm.name) if group_of(pod) == labels.HEAD_GROUP]
    if heads:
        storm.world.nodes.fail(heads[0])
    return bool(heads)


def the_head_goes_on(storm: Storm) -> bool:
    """With fault tolerance: the next head is of the same session, and the nodes stay."""
    cluster = storm.world.cluster(storm.name)
    heads = [pod for pod in storm.world.pods(cluster["metadata"]["name"]) if group_of(pod) == labels.HEAD_GROUP] if cluster else []
    if cluster and heads:
        storm.rays.tolerant.add(cluster["metadata"]["uid"])
        storm.world.nodes.fail(heads[0])
    return bool(heads)


def the_gcs_begins_anew(storm: Storm) -> bool:
    """Without fault tolerance, in the same Pod."""
    cluster = storm.world.cluster(storm.name)
    known = cluster is not None and cluster["metadata"]["uid"] in storm.rays.lives
    if cluster and known:
        storm.rays.forget(cluster["metadata"]["uid"])
    return known


def a_head_is_ill(storm: Storm) -> bool:
    cluster = storm.world.cluster(storm.name)
    if cluster:
        until = storm.world.clock.now + storm.dice.uniform(20.0, 60.0)
        storm.rays.ills[cluster["metadata"]["uid"]] = (storm.dice.choice(ILLS), until)
    return cluster is not None


def a_quota_is_full(storm: Storm) -> bool:
    storm.quota = True
    storm.world.clock.call_later(ROOM_IS_SHORT, lambda: setattr(storm, "quota", False))
    return True


def a_clock_is_set(storm: Storm) -> bool:
    leaders = storm.world.leaders
    if leaders:
        storm.dice.choice(leaders).clock.error += storm.dice.choice((-1.0, 1.0)) * storm.dice.choice(accidents.STEPS)
    return bool(leaders)


def of_operators(act: Callable[[Any], bool]) -> Callable[[Storm], bool]:
    """What befalls operators in every storm (they look only at the world and the dice)."""
    return cast("Callable[[Storm], bool]", act)


def room_is_short(storm: Storm) -> bool:
    storm.world.nodes.fate = lambda pod: storm.dice.choice(("pending", "ready"))
    storm.world.clock.call_later(ROOM_IS_SHORT, lambda: room_again(storm))
    return True


def room_again(storm: Storm) -> None:
    storm.world.nodes.fate = lambda pod: "ready"
    storm.world.nodes.schedule_pending()


LIST = (
    work_comes,
    a_placement_group_comes,
    work_is_withdrawn,
    size_by_hand,
    limits_by_hand,
    groups_change_places,
    a_group_is_removed,
    a_group_is_removed_while_it_drains,
    names_of_nobody,
    as_wanted,
    a_cluster_is_made_anew,
    a_worker_fails,
    a_worker_is_deleted,
    the_head_is_lost,
    the_head_goes_on,
    the_gcs_begins_anew,
    a_head_is_ill,
    room_is_short,
    a_quota_is_full,
    a_clock_is_set,
    *map(of_operators, (accidents.restart_leader, accidents.cut_watch, accidents.delay_watch)),
)
ACTS: Mapping[str, Callable[[Storm], bool]] = {act.__name__.replace("_", " "): act for act in LIST}
OFTEN = ("work comes", "work comes", "a placement group comes", "as wanted", "a group is removed while it drains")
DRAWN = (*ACTS, *OFTEN)
