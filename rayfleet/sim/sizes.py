"""What must be true of how an operator sizes clusters, after every request.

Z1   no size that it writes is above the group's maximum or below its minimum, in the version that it was tested against
Z2   it writes sizes and names of Pods that go, and changes nothing else of the spec
Z3   a Pod that it names is of that cluster, that life of it and that group, and its node has no work, or was let go by Ray
Z4   no worker with work is deleted that was not named so, unless somebody else ended it
Z5   a replica of several hosts is named as a whole
Z6   what is decided on one cluster is written to that one

A Pod that had not begun when it was last seen may begin before it is named, or before it is deleted: no write can forbid that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, Key
from rayfleet.kube.errors import ApiError
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.sim.judge import Violation
from rayfleet.sim.leader import TURN
from rayfleet.sim.sized_ray import SizedRays
from rayfleet.sim.store import TERMINAL, Change, Obj, Request, owner_uid
from rayfleet.sim.world import OPERATOR, World

JOINS = 15.0  # seconds in which an operator with an old view may take a node for one that has not begun
STALE = 60.0  # seconds that an operator may go on to act on a spec of before


class Sizes:
    """Listens to a world. `named`: Pods, by UID, that an operator named to go. `removed`: when a group last left a cluster's spec."""

    def __init__(self, world: World, rays: SizedRays) -> None:
        self.world = world
        self.rays = rays
        self.resizes = 0
        self.named: set[str] = set()
        self.removed: dict[tuple[str, str], float] = {}
        world.store.auditors.append(self.check)

    def fail(self, rule: str, text: str) -> None:
        story = "\n".join(self.world.story)
        error = Violation(f"{rule}: {text} (seed {self.world.seed}, {self.world.clock.elapsed:.3f} s)\n{story}")
        self.world.clock.fail(error)
        raise error

    def check(self, request: Request, change: Change | None, error: ApiError | None) -> None:
        if change is not None and change.resource == RAYCLUSTERS:
            for gone in {each["groupName"] for each in groups(change.old or {})} - {each["groupName"] for each in groups(change.new)}:
                self.removed[change.new["metadata"]["uid"], gone] = self.world.clock.now
        if change is None or not request.actor.startswith(OPERATOR):
            return
        if request.verb == "resize":
            self.resizes += 1
            self.check_resize(request, change.old or {}, change.new)
        elif request.verb == "delete" and request.resource == PODS:
            self.check_delete(request, change.old or {})

    def check_resize(self, request: Request, old: Obj, new: Obj) -> None:
        turn = TURN.get()
        if (turn.key, turn.uid) != (request.key, new["metadata"]["uid"]):
            self.fail("Z6", f"{request} was decided on {turn.key.name} {turn.uid}")
        if bare(old) != bare(new):
            self.fail("Z2", f"{request} changes more than sizes")
        for was, now in zip(groups(old), groups(new), strict=True):
            least, most = now.get("minReplicas", 0), now.get("maxReplicas", 2**31 - 1)
            if now.get("replicas") != was.get("replicas") and not least <= now["replicas"] <= most:
                self.fail("Z1", f"{request} makes {now['groupName']} {now['replicas']}, of {least} to {most}")
            for name in set(names(now)) - set(names(was)):
                self.check_name(request, new, str(now["groupName"]), name)
            self.check_whole(request, new, now)

    def check_name(self, request: Request, cluster: Obj, group: str, name: str) -> None:
        uid = cluster["metadata"]["uid"]
        pod = next((each for each in self.world.store.owned(uid, PODS) if each["metadata"]["name"] == name), None)
        if pod is None:
            if self.world.store.get(PODS, Key(request.namespace, name)) is not None:
                self.fail("Z3", f"{request} names {name}, which is another cluster's")
            return
        if pod["metadata"]["labels"].get(labels.GROUP) != group:
            self.fail("Z3", f"{request} names {name}, which is not of {group}")
        node = self.rays.node_of(pod["metadata"]["uid"])
        if node is not None and node.tasks and self.world.clock.now - node.joined > JOINS:
            self.fail("Z3", f"{request} names {name}, which has {len(node.tasks)} tasks")
        self.named.add(pod["metadata"]["uid"])

    def check_whole(self, request: Request, cluster: Obj, group: Obj) -> None:
        """A host that was made a moment ago in place of another may not have been seen."""
        found: dict[str, dict[str, bool]] = {}
        for pod in self.world.store.owned(cluster["metadata"]["uid"], PODS):
            meta = pod["metadata"]
            if meta["labels"].get(labels.GROUP) == group["groupName"] and not meta.get("deletionTimestamp") and not is_over(pod):
                old = self.world.clock.now - parse_rfc3339(meta["creationTimestamp"]) > JOINS
                found.setdefault(replica_of(pod), {})[meta["name"]] = old
        for replica, pods in found.items():
            named = set(names(group)) & pods.keys()
            if left := [name for name, old in pods.items() if named and old and name not in named]:
                self.fail("Z5", f"{request} names {', '.join(sorted(named))} of {replica}, and not {', '.join(left)}")

    def check_delete(self, request: Request, pod: Obj) -> None:
        node = self.rays.node_of(pod["metadata"]["uid"])
        if node is None or not node.tasks or pod["metadata"].get("deletionTimestamp") or pod["status"]["phase"] in TERMINAL:
            return
        owner = self.world.store.get(RAYCLUSTERS, Key(request.namespace, pod["metadata"]["labels"][labels.CLUSTER]))
        if owner is None or owner["metadata"]["uid"] != owner_uid(pod) or owner["metadata"].get("deletionTimestamp"):
            return
        group = pod["metadata"]["labels"].get(labels.GROUP, "")
        if self.is_broken(owner, pod):
            return
        was_removed = self.world.clock.now - self.removed.get((owner["metadata"]["uid"], group), -math.inf) < STALE
        if not was_removed and pod["metadata"]["uid"] not in self.named and request.name not in self.by_hand:
            self.fail("Z4", f"{request} ends {len(node.tasks)} tasks")

    def is_broken(self, cluster: Obj, pod: Obj) -> bool:
        """Is another host of its replica gone? They come and go together."""
        group = next((each for each in groups(cluster) if each["groupName"] == pod["metadata"]["labels"].get(labels.GROUP)), {})
        mates = [each for each in self.world.store.owned(cluster["metadata"]["uid"], PODS) if replica_of(each) == replica_of(pod)]
        whole = [each for each in mates if not each["metadata"].get("deletionTimestamp") and not is_over(each)]
        return len(whole) < int(group.get("numOfHosts", 1)) > 1

    @property
    def by_hand(self) -> set[str]:
        """Names that a user put into `workersToDelete`."""
        return {name for cluster in self.world.store.all(RAYCLUSTERS) for group in groups(cluster) for name in names(group)} - {
            str(pod["metadata"]["name"]) for pod in self.world.store.all(PODS) if pod["metadata"]["uid"] in self.named
        }


def groups(cluster: Obj) -> list[Obj]:
    return list(cluster.get("spec", {}).get("workerGroupSpecs") or ())


def is_over(pod: Obj) -> bool:
    return pod["status"]["phase"] in TERMINAL


def replica_of(pod: Obj) -> str:
    """The label that the hosts of a replica share, or else the Pod's name."""
    meta = pod["metadata"]
    return str(meta["labels"].get(labels.REPLICA_NAME) or meta["name"])


def names(group: Obj) -> list[str]:
    return list((group.get("scaleStrategy") or {}).get("workersToDelete") or ())


def bare(cluster: Obj) -> Any:
    """The spec without what may be written."""
    spec = dict(cluster["spec"])
    spec["workerGroupSpecs"] = [*without_sizes(cluster)]
    return spec


def without_sizes(cluster: Obj) -> Iterator[Obj]:
    for group in groups(cluster):
        yield {name: value for name, value in group.items() if name not in ("replicas", "scaleStrategy")}
