"""What befalls Pods, Services, nodes, watches and operators in a storm. Each says whether it befell anybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rayfleet.api import labels
from rayfleet.api.meta import PODS, SERVICES, Key
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.world import NAMESPACE

if TYPE_CHECKING:
    from rayfleet.sim.chaos import Chaos


def delete_pod(chaos: Chaos) -> bool:
    if pod := chaos.victim():
        chaos.world.user("delete", PODS, key_of(pod), grace=chaos.dice.choice((None, 0)))
    return pod is not None


def evict_pod(chaos: Chaos) -> bool:
    if pod := chaos.victim():
        chaos.world.nodes.fail(pod, "Evicted")
    return pod is not None


def exit_container(chaos: Chaos) -> bool:
    if pod := chaos.victim():
        chaos.world.nodes.exit(pod)
    return pod is not None


def lose_node(chaos: Chaos) -> bool:
    nodes = chaos.world.nodes
    if nodes.down:
        nodes.down.clear()
    else:
        nodes.lose(chaos.dice.choice(nodes.names))
    return bool(nodes.down)


def relabel_pod(chaos: Chaos) -> bool:
    """The label that Services and old clients find it by; who owns the Pod is not said by it."""
    pod = chaos.victim()
    return pod is not None and chaos.patch_pod(pod, {"labels": {labels.CLUSTER: chaos.dice.choice(("other", None))}})


def regroup_pod(chaos: Chaos) -> bool:
    workers = [pod for pod in chaos.world.pods(chaos.name) if pod["metadata"]["labels"].get(labels.NODE_TYPE) == labels.WORKER]
    return bool(workers) and chaos.patch_pod(chaos.dice.choice(workers), {"labels": {labels.GROUP: "nobodys"}})


def unslot_pod(chaos: Chaos) -> bool:
    """As a Pod that another operator made before us."""
    pod = chaos.victim()
    return pod is not None and chaos.patch_pod(pod, {"labels": {labels.REPLICA_INDEX: None, labels.HOST_INDEX: None}})


def add_decoy(chaos: Chaos) -> bool:
    """A stranger's Pod with all of a head's labels and no owner."""
    pod = chaos.victim()
    if pod:
        name = f"decoy-{chaos.dice.getrandbits(24):06x}"
        body = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
        chaos.world.user("create", PODS, Key(NAMESPACE, name), body=body)
    return pod is not None


def delete_service(chaos: Chaos) -> bool:
    chaos.world.delete(SERVICES, f"{chaos.name}-head-svc")
    return True


def edit_selector(chaos: Chaos) -> bool:
    chaos.world.user("patch", SERVICES, Key(NAMESPACE, f"{chaos.name}-head-svc"), body={"spec": {"selector": {labels.CLUSTER: "other"}}})
    return True


def restart_leader(chaos: Chaos) -> bool:
    leaders = chaos.world.leaders
    if leaders:
        chaos.world.crashed(chaos.dice.choice(leaders))
    return bool(leaders)


def cut_watch(chaos: Chaos) -> bool:
    leaders = chaos.world.leaders
    if leaders:
        watches = chaos.dice.choice(leaders).watches
        watches[chaos.dice.choice(list(watches))].cut(chaos.dice.uniform(0.1, 5.0))
    return bool(leaders)


def delay_watch(chaos: Chaos) -> bool:
    """One kind's news stand still for a while, the others' go on."""
    leaders = chaos.world.leaders
    if leaders:
        watches = chaos.dice.choice(leaders).watches
        watches[chaos.dice.choice(list(watches))].stall(chaos.dice.uniform(1.0, 8.0))
    return bool(leaders)


def repeat_events(chaos: Chaos) -> bool:
    """The next few news of one kind are told twice."""
    leaders = chaos.world.leaders
    if leaders:
        watches = chaos.dice.choice(leaders).watches
        watches[chaos.dice.choice(list(watches))].repeats += 3
    return bool(leaders)


def step_clock_forwards(chaos: Chaos) -> bool:
    """The wall clock of one operator's machine: by a second, a minute, an hour or a year."""
    return step_clock(chaos, 1.0)


def step_clock_back(chaos: Chaos) -> bool:
    return step_clock(chaos, -1.0)


def step_clock(chaos: Chaos, sign: float) -> bool:
    leaders = chaos.world.leaders
    if leaders:
        chaos.dice.choice(leaders).clock.error += sign * chaos.dice.choice(STEPS)
    return bool(leaders)


STEPS = (1.0, 60.0, 3600.0, 365 * 86400.0)
ODDS: dict[Callable[[Chaos], bool], int] = {
    delete_pod: 2,
    evict_pod: 2,
    cut_watch: 2,
    delay_watch: 2,
    exit_container: 1,
    lose_node: 1,
    relabel_pod: 1,
    regroup_pod: 1,
    unslot_pod: 1,
    add_decoy: 1,
    delete_service: 1,
    edit_selector: 1,
    restart_leader: 1,
    repeat_events: 1,
    step_clock_forwards: 1,
    step_clock_back: 1,
}
