"""What must be true of RayClusters after every request, whatever went wrong (reference: reliability, b.3; the rest is in `judge`).

S1   one living head Pod per cluster, and none is made while the last one still ends
S2   no more workers than the spec allows. For both: a create that left before another operator raised the lives of its slot, and that
     lands after, does not count: no name can fence it off (designs/0002), and it does not stay (L1)
S10  no Pod is made for a suspended cluster
S12  a cluster that is held by its finalizer is released when its clean-up has ended, or at its deadline
S21  no two Pods have one claim for the GCS' store at once, not even one that ends and the next
N1   no Pod gets the name of one that its maker had seen, nor of one that any operator deleted, as far as its maker knew when it decided
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rayfleet.api import labels
from rayfleet.api.decode import Undecodable
from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS
from rayfleet.api.names import fixed_head_name
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.raycluster.lives import parse_lives
from rayfleet.sim.jobs import is_over
from rayfleet.sim.judge import Judge
from rayfleet.sim.leader import TURN, Turn
from rayfleet.sim.store import TERMINAL, Change, Obj, Request, owner_uid
from rayfleet.sim.world import OPERATOR, World

Place = tuple[str, int]  # group and replica


@dataclass
class Name:
    """What became of a Pod's name. `fenced` is the owner's version when an operator first told the Pod to go, 0 if none did."""

    gone: bool = False
    fenced: int = 0


class Invariants(Judge):
    """Those of RayClusters, with all that `judge` holds true of every kind."""

    kind = RAYCLUSTERS
    marks = frozenset({labels.LIVES})
    finalizer = labels.REDIS_FINALIZER

    def __init__(self, world: World) -> None:
        self.names: dict[str, dict[str, Name]] = {}
        self.most: dict[str, dict[str, int]] = {}
        self.spoiled: set[str] = set()
        self.raised: dict[str, list[tuple[Turn | None, int, set[Place]]]] = {}
        self.late: set[str] = set()
        self.overlaps = 0
        super().__init__(world)

    def check_create(self, request: Request, turn: Turn) -> None:
        cluster = turn.owner
        if request.resource == PODS and not isinstance(cluster, Undecodable) and cluster.spec.suspend:
            self.fail("S10", f"{request} for a suspended cluster")
        if request.resource == PODS:
            self.check_name(request, turn)
            self.check_head(request, turn)

    def check_head(self, request: Request, turn: Turn) -> None:
        if request.body["metadata"]["labels"].get(labels.NODE_TYPE) != labels.HEAD:
            return
        if left := [pod.name for pod in turn.observed.heads() if pod.name != request.name]:
            self.fail("S1", f"{request} while {', '.join(left)} is there")

    def check_name(self, request: Request, turn: Turn) -> None:
        known = self.names.get(turn.uid, {}).get(request.name)
        if known is None or not known.gone or request.name == fixed_head_name(turn.key.name):
            return
        if known.fenced and turn.uid not in self.spoiled and int(turn.owner.metadata.resource_version) >= known.fenced:
            self.fail("N1", f"{request}: an operator deleted a Pod of that name")
        if turn.leader.seen.get((turn.uid, request.name), turn.at) < turn.at:
            self.fail("N1", f"{request}: {request.actor} has seen another Pod of that name")

    def check_release(self, request: Request, old: Obj) -> None:
        now = TURN.get().leader.clock.time()  # whoever sets the clock forth shortens the wait
        if now < deadline(old) and (busy := [*self.unfinished(old)]):
            self.fail("S12", f"{request} releases the cluster while {', '.join(busy)} is there")

    def unfinished(self, cluster: Obj) -> Iterator[str]:
        """What of a clean-up has not ended, as the operator that looks now has seen it."""
        jobs = list(self.world.store.owned(cluster["metadata"]["uid"], JOBS))
        if any(map(is_over, jobs)):
            return
        yield from (pod.name for pod in TURN.get().observed.heads())
        yield from (str(job["metadata"]["name"]) for job in jobs)

    def remember(self, request: Request, change: Change) -> None:
        if change.resource == RAYCLUSTERS and change.type != "DELETED":
            self.allow(change.new)
            self.forgive(request, change)
            self.note_raise(request, change)
        uid = owner_uid(change.new)
        if change.resource != PODS or not uid:
            return
        name = change.new["metadata"]["name"]
        if change.type == "ADDED":
            self.names.setdefault(uid, {})[name] = Name()
            self.check_volume(change.new)
        known = self.names[uid][name]
        if request.verb == "delete" and request.actor.startswith(OPERATOR) and TURN.get().resource == RAYCLUSTERS and not known.fenced:
            owner = self.world.store.get(RAYCLUSTERS, TURN.get().key)
            known.fenced = int(owner["metadata"]["resourceVersion"]) if owner else 0
        if change.type == "DELETED":
            known.gone = True
        self.count(request, uid)

    def check_volume(self, pod: Obj) -> None:
        if claim := claim_of(pod):
            users = [each["metadata"]["name"] for each in self.world.store.all(PODS) if claim_of(each) == claim]
            if len(users) > 1:
                self.fail("S21", f"{', '.join(users)} have the claim {claim}")

    def forgive(self, request: Request, change: Change) -> None:
        """Whoever spoils the number of lives takes from the operators what they knew of names."""
        if not request.actor.startswith(OPERATOR) and request.verb == "patch" and "annotations" in (request.body.get("metadata") or {}):
            self.spoiled.add(change.new["metadata"]["uid"])

    def note_raise(self, request: Request, change: Change) -> None:
        """Who changed the lives of which slots, and when. After a user did, the names of Pods that are there fence no more."""
        uid = change.new["metadata"]["uid"]
        old, new = (lives_of(obj) if obj else {} for obj in (change.old, change.new))
        slots = {slot for slot in old.keys() | new.keys() if old.get(slot, 0) != new.get(slot, 0)}
        if not slots:
            return
        by_operator = request.actor.startswith(OPERATOR)
        self.raised.setdefault(uid, []).append((TURN.get() if by_operator else None, change.version, slots))
        if not by_operator:
            self.late.update(pod["metadata"]["name"] for pod in self.world.store.owned(uid, PODS))

    def allow(self, cluster: Obj) -> None:
        """The most workers of a group that any spec of this cluster allowed: an operator may still act on an older one."""
        most = self.most.setdefault(cluster["metadata"]["uid"], {})
        for group in cluster["spec"].get("workerGroupSpecs") or ():
            if isinstance(group.get("replicas", 0), int):
                limit = group.get("maxReplicas", 0) * group.get("numOfHosts", 1)
                most[group["groupName"]] = max(most.get(group["groupName"], 0), limit)

    def count(self, request: Request, uid: str) -> None:
        if request.verb == "create" and (not request.actor.startswith(OPERATOR) or self.was_in_flight(request, uid)):
            self.late.add(request.name)
        heads: list[str] = []
        workers: dict[str, int] = {}
        for pod in self.world.store.owned(uid, PODS):
            marks = pod["metadata"].get("labels") or {}
            if pod["metadata"].get("deletionTimestamp") or pod["status"]["phase"] in TERMINAL:
                continue
            if marks.get(labels.NODE_TYPE) == labels.HEAD:
                heads.append(pod["metadata"]["name"])
            elif marks.get(labels.GROUP) and pod["metadata"]["name"] not in self.late:
                workers[marks[labels.GROUP]] = workers.get(marks[labels.GROUP], 0) + 1
        self.count_heads(request, uid, heads)
        if request.verb == "create" and request.actor.startswith(OPERATOR):
            for group, number in workers.items():
                if number > self.most.get(uid, {}).get(group, number):
                    self.fail("S2", f"{request} leaves {number} workers in group {group}")

    def count_heads(self, request: Request, uid: str, heads: list[str]) -> None:
        if len(heads) < 2:
            return
        if len([name for name in heads if name not in self.late]) > 1:
            self.fail("S1", f"{request} leaves {len(heads)} head Pods: {', '.join(heads)}")
        self.overlaps += is_head_create(request)

    def was_in_flight(self, request: Request, uid: str) -> bool:
        """Has somebody else changed the lives of the Pod's slot since this look tested its view of them?"""
        turn, marks = TURN.get(), request.body["metadata"]["labels"]
        slot = (labels.HEAD_GROUP, 0) if is_head_create(request) else (marks.get(labels.GROUP, ""), int(marks.get(labels.REPLICA_INDEX, 0)))
        return any(who is not turn and version > turn.sure and slot in slots for who, version, slots in self.raised.get(uid, ()))


def claim_of(pod: Obj) -> str:
    """The claim that the Pod mounts, "" when it mounts none, has ended, or is a stranger."""
    claims = [
        volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"].get("volumes") or () if "persistentVolumeClaim" in volume
    ]
    return claims[0] if claims and owner_uid(pod) and pod["status"]["phase"] not in TERMINAL else ""


def is_head_create(request: Request) -> bool:
    marks = (request.body.get("metadata") or {}).get("labels") or {}
    return request.verb == "create" and request.actor.startswith(OPERATOR) and marks.get(labels.NODE_TYPE) == labels.HEAD


def lives_of(cluster: Obj) -> Mapping[Place, int]:
    return parse_lives((cluster["metadata"].get("annotations") or {}).get(labels.LIVES, "")).counts


def deadline(cluster: Obj) -> float:
    meta = cluster["metadata"]
    seconds = int((meta.get("annotations") or {}).get(labels.DELETION_TIMEOUT) or 300)
    return parse_rfc3339(meta["deletionTimestamp"]) + seconds if meta.get("deletionTimestamp") else float("inf")
