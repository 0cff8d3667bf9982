"""What users, nodes and strangers do between two steps of an operator. Each act is named and counted; one that finds no victim is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES, Key
from rayfleet.kube.errors import ApiError, Forbidden
from rayfleet.sim import manifests
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.store import Obj, Request
from rayfleet.sim.world import NAMESPACE, World

Act = Callable[["Chaos"], bool]
LEAST_PAUSE, LONGEST_PAUSE = 0.2, 6.0


class Chaos:
    """Acts on one cluster, whose `wanted` spec it remembers, so that a broken one can be mended."""

    def __init__(self, world: World, dice: Random, cluster: Obj) -> None:
        self.world = world
        self.dice = dice
        self.name = cluster["metadata"]["name"]
        self.wanted: Obj = cluster
        self.counts: Counter[str] = Counter()
        self.active = True
        self.quota = False
        self.broken = False
        world.store.admission.append(self.check_quota)

    def process(self) -> Iterator[float]:
        while self.active:
            yield self.dice.uniform(LEAST_PAUSE, LONGEST_PAUSE)
            if self.active:
                self.act(self.dice.choice(ACTS))

    def act(self, name: str) -> None:
        try:
            if BY_NAME[name](self):
                self.counts[name] += 1
        except ApiError:
            return

    def stop(self) -> None:
        """Whatever keeps the cluster from its wanted state is taken away; the rest is the operator's to mend."""
        self.active = False
        self.quota = False
        self.world.nodes.down.clear()
        self.world.nodes.schedule_pending()
        if (self.world.cluster(self.name) or {"metadata": {}})["metadata"].get("finalizers"):
            self.world.run(LONGEST_PAUSE)
        self.mend()

    def mend(self) -> bool:
        was, self.broken = self.broken, False
        if was or self.world.cluster(self.name) is None:
            self.world.apply(self.wanted)
        return was

    def spec(self, change: Obj) -> bool:
        """An edit that the user means. It waits while the stored spec is broken."""
        if self.broken or self.world.cluster(self.name) is None:
            return False
        self.wanted = {**self.wanted, "spec": {**self.wanted["spec"], **change}}
        self.world.edit(self.name, change)
        return True

    def groups(self) -> list[Obj]:
        return [dict(group) for group in self.wanted["spec"]["workerGroupSpecs"]]

    def victim(self) -> Obj | None:
        pods = self.world.pods(self.name)
        return self.dice.choice(pods) if pods else None

    def check_quota(self, request: Request) -> None:
        if self.quota and request.resource == PODS and request.actor.startswith("operator"):
            self.counts["quota refusal"] += 1
            raise Forbidden(403, "Forbidden", f'pods "{request.name}" is forbidden: exceeded quota: pods')

    def patch_pod(self, pod: Obj, metadata: Obj) -> bool:
        self.world.user("patch", PODS, key_of(pod), body={"metadata": metadata})
        return True


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


def scale(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    group = chaos.dice.choice(groups)
    group["replicas"] = chaos.dice.randint(0, group["maxReplicas"])
    return chaos.spec({"workerGroupSpecs": groups})


def name_workers(chaos: Chaos) -> bool:
    """As Ray's autoscaler does it: fewer replicas and the names of those to go; or names of strangers' Pods, or of none."""
    groups = chaos.groups()
    pods = [pod["metadata"]["name"] for pod in chaos.world.store.all(PODS)]
    if not groups:
        return False
    group = chaos.dice.choice(groups)
    names = chaos.dice.sample(pods, min(len(pods), chaos.dice.randint(0, 2))) + chaos.dice.sample(["foreign", "nobody"], 1)
    group["scaleStrategy"] = {"workersToDelete": names}
    group["replicas"] = max(group["replicas"] - 1, 0)
    return chaos.spec({"workerGroupSpecs": groups})


def add_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    name = f"extra{chaos.dice.randint(0, 9)}"
    if len(groups) > 3 or any(group["groupName"] == name for group in groups):
        return False
    return chaos.spec({"workerGroupSpecs": [*groups, manifests.group(name, chaos.dice.randint(0, 2))]})


def remove_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    groups.remove(chaos.dice.choice(groups))
    return chaos.spec({"workerGroupSpecs": groups})


def rename_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    name = f"renamed{chaos.dice.randint(0, 99)}"
    if any(group["groupName"] == name for group in groups):
        return False
    chaos.dice.choice(groups)["groupName"] = name
    return chaos.spec({"workerGroupSpecs": groups})


def change_template(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    chaos.dice.choice(groups)["template"] = manifests.template(image=f"rayproject/ray:2.{chaos.dice.randint(50, 60)}.0")
    return chaos.spec({"workerGroupSpecs": groups})


def suspend(chaos: Chaos) -> bool:
    return chaos.spec({"suspend": True})


def resume(chaos: Chaos) -> bool:
    return bool(chaos.wanted["spec"].get("suspend")) and chaos.spec({"suspend": False})


def suspend_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    group = chaos.dice.choice(groups)
    group["suspend"] = not group.get("suspend")
    return chaos.spec({"workerGroupSpecs": groups})


def delete_and_apply(chaos: Chaos) -> bool:
    chaos.world.delete(RAYCLUSTERS, chaos.name)
    chaos.broken = False
    chaos.world.apply(chaos.wanted)
    return True


def hold_cluster(chaos: Chaos) -> bool:
    """Delete it while somebody's finalizer holds it, let it go after a while, and apply it again."""
    world, key = chaos.world, Key(NAMESPACE, chaos.name)
    world.user("patch", RAYCLUSTERS, key, body={"metadata": {"finalizers": ["example.com/held"]}})
    world.delete(RAYCLUSTERS, chaos.name)

    def release() -> None:
        found = world.cluster(chaos.name)
        if found and found["metadata"].get("finalizers"):
            world.user("patch", RAYCLUSTERS, key, body={"metadata": {"finalizers": None}})
            chaos.broken = False
            world.apply(chaos.wanted)

    world.clock.call_later(chaos.dice.uniform(1.0, 5.0), release)
    return True


def break_spec(chaos: Chaos) -> bool:
    if chaos.broken or chaos.world.cluster(chaos.name) is None:
        return False
    bad = chaos.dice.choice(manifests.FAULTY_GROUPS)
    chaos.broken = True
    chaos.world.edit(chaos.name, {"workerGroupSpecs": bad})
    return True


def toggle_quota(chaos: Chaos) -> bool:
    chaos.quota = not chaos.quota
    return chaos.quota


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


OFTEN = (delete_pod, evict_pod, scale, cut_watch, delay_watch)
SELDOM = (exit_container, lose_node, relabel_pod, regroup_pod, unslot_pod, add_decoy, delete_service, edit_selector)
EDITS = (name_workers, add_group, remove_group, rename_group, change_template, suspend, resume, resume, resume, suspend_group)
TURNS = (delete_and_apply, hold_cluster, break_spec, Chaos.mend, Chaos.mend, toggle_quota, toggle_quota, restart_leader)
BY_NAME: dict[str, Act] = {act.__name__.replace("_", "-"): act for act in (*OFTEN, *SELDOM, *EDITS, *TURNS)}
ACTS = [act.__name__.replace("_", "-") for act in (*OFTEN, *OFTEN, *SELDOM, *EDITS, *TURNS)]
