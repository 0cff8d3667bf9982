"""What must be true of RayServices after every request, besides what `judge` holds true of every kind (reference: reliability, b.3).

S9   no more than two of its clusters live. Of two operators at once each may have made one that the other had not heard of: then it is
     one more, and not for long (L1); also while one of them is dead and not replaced yet
S10  no cluster is made for a suspended service
S12  the finalizer goes when none of its clusters is left
V0   no cluster is made while one lives, and was seen, that is made for the very same spec
V1   a config goes to a cluster that is made for the spec that it came with, or that runs it already
V2   traffic is moved only to a cluster that serves, as long as the one that has it serves
V3   no request is lost while nothing has befallen the clusters that the service is led to. Of two operators at once one may lead it to a
     cluster while the other, which had not heard of that, deletes it: then for a moment
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.decode import decode, decode_cluster
from rayfleet.api.meta import RAYCLUSTERS, RAYSERVICES, SERVICES, Key, Resource
from rayfleet.api.raycluster import RayCluster, RayClusterSpec
from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.resources.cluster_hash import is_made_for, lacks_only_groups, muted, said
from rayfleet.sim.judge import Judge
from rayfleet.sim.leader import Turn
from rayfleet.sim.serve import ANOTHER
from rayfleet.sim.shop_front import ShopFront
from rayfleet.sim.store import Change, Obj, Request, encoded, owner_uid
from rayfleet.sim.world import NAMESPACE, OPERATOR, World

HEARD = 30.0  # seconds within which a cluster that served may still be taken for one that does
SLICE = 1.0  # after a move the endpoints are for a moment still those of the cluster that had the traffic
HANDOVER = 15.0  # until two operators know of each other's writes, and what one undid is as it was


class ServeRules(Judge):
    """`harmed`: until when what befell a cluster excuses that its requests are lost, "" stands for all clusters."""

    kind = RAYSERVICES
    marks = frozenset({labels.TIMED_OUT})
    finalizer = labels.SERVICE_FINALIZER

    def __init__(self, world: World, front: ShopFront) -> None:
        self.front = front
        self.specs: list[tuple[dict[str, Any], Any, str]] = []
        self.harmed: dict[str, float] = {}
        self.served: dict[str, float] = {}
        self.requests = 0
        self.opened = False
        self.hindered: Callable[[], bool] = lambda: False  # a quota, a spoilt spec, a node that is away: nobody recovers meanwhile
        super().__init__(world)
        put = world.rays.serve.put

        def judged(name: str, head: Any, call: Any, mood: str) -> tuple[int, bytes]:
            self.check_put(name, msgspec.json.decode(call.body))
            return put(name, head, call, mood)

        world.rays.serve.put = judged  # type: ignore[method-assign]

    def harm(self, cluster: str, seconds: float) -> None:
        self.harmed[cluster] = max(self.harmed.get(cluster, 0.0), self.world.clock.now + seconds)

    def hold_on(self) -> None:
        """Who recovers needs as much longer as he is hindered, and what was refused meanwhile is tried again in its time."""
        if self.hindered():
            late = self.world.clock.now + LONGEST_RETRY
            self.harmed.update({name: max(until, late) for name, until in self.harmed.items() if until > self.world.clock.now})

    def excused(self, cluster: str) -> bool:
        return self.world.clock.now < max(self.harmed.get("", 0.0), self.harmed.get(cluster, 0.0))

    def begin_anew(self) -> None:
        """Until it is ready again there is nobody who could answer."""
        self.opened = False
        self.harmed[""] = 0.0

    def is_going(self, service: str) -> bool:
        found = self.world.store.get(RAYSERVICES, Key(NAMESPACE, service))
        return found is None or bool(found["metadata"].get("deletionTimestamp") or found["spec"].get("suspend"))

    def is_ready(self, service: str) -> bool:
        """As its status says. Before, a worker may have an answer from a head of the same name that is on its way out."""
        status = (self.world.store.get(RAYSERVICES, Key(NAMESPACE, service)) or {}).get("status") or {}
        return any((each["type"], each["status"]) == ("Ready", "True") for each in status.get("conditions") or ())

    def customer(self, service: str) -> Iterator[float]:
        """Sends requests all the time, once the service was ready."""
        while True:
            yield self.front.pause
            self.hold_on()
            for cluster in {life.cluster.name for life in self.world.rays.lives.values()}:
                if self.front.serves(cluster):
                    self.served[cluster] = self.world.clock.now
            cluster, wrong = self.front.ask(service)
            self.requests += 1
            if self.is_going(service):
                self.opened = False
            elif not wrong:
                self.opened = self.opened or self.is_ready(service)
            elif self.opened and not self.excused(cluster):
                self.fail("V3", f"a request to {cluster or service} is lost: {wrong}")

    def check_create(self, request: Request, turn: Turn) -> None:
        if request.resource == RAYCLUSTERS and turn.owner.spec.suspend:
            self.fail("S10", f"{request} for a suspended service")
        if request.resource == RAYCLUSTERS and (same := next(self.made_alike(turn), "")):
            self.fail("V0", f"{request} while {same} is as it is wanted")

    def made_alike(self, turn: Turn) -> Iterator[str]:
        """By what their specs say, whatever hash is on them."""
        wanted = said(muted(turn.owner.spec.ray_cluster_config))
        for member in turn.observed.members:
            found = self.world.store.get(RAYCLUSTERS, member.cluster.metadata.key)
            lives = found is not None and found["metadata"]["uid"] == member.cluster.metadata.uid and member.living
            if found and lives and not found["metadata"].get("deletionTimestamp") and said(muted(member.cluster.spec)) == wanted:
                yield member.name

    def check_release(self, request: Request, old: Obj) -> None:
        left = [each["metadata"]["name"] for each in self.world.store.owned(old["metadata"]["uid"], RAYCLUSTERS)]
        if left and self.world.elects:
            self.fail("S12", f"{request} releases the service, and {', '.join(left)} is left")

    def is_own(self, resource: Resource, obj: Mapping[str, Any], turn: Turn) -> bool:
        """Also what belongs to its clusters: the label on their heads, and their own serve Services."""
        clusters = {each["metadata"]["uid"] for each in self.world.store.owned(turn.uid, RAYCLUSTERS)}
        seen = {member.cluster.metadata.uid for member in turn.observed.members}
        return super().is_own(resource, obj, turn) or owner_uid(obj) in clusters | seen

    def check_write(self, request: Request, change: Change, turn: Turn) -> None:
        super().check_write(request, change, turn)
        if request.resource == RAYCLUSTERS and request.verb == "create":
            self.check_number(request, turn)
        if request.resource == RAYCLUSTERS and request.verb == "delete" and not self.world.elects:
            self.harm_unaware(request.name, turn)
        moved = request.resource == SERVICES and change.old is not None and change.type == "MODIFIED"
        if moved and labels.SERVE in (change.new["metadata"].get("labels") or {}):
            self.check_move(request, *(each["spec"]["selector"].get(labels.CLUSTER, "") for each in (change.old or {}, change.new)))

    def harm_unaware(self, cluster: str, turn: Turn) -> None:
        if all(each.spec.selector.get(labels.CLUSTER) != cluster for each in turn.observed.services):
            self.harm(cluster, HANDOVER)

    def check_number(self, request: Request, turn: Turn) -> None:
        living = [each for each in self.world.store.owned(turn.uid, RAYCLUSTERS) if not each["metadata"].get("deletionTimestamp")]
        seen = {member.name for member in turn.observed.members}
        unseen = [each for each in living if each["metadata"]["name"] not in (*seen, request.name)]
        if len(living) - (0 if self.world.elects else len(unseen)) > 2:
            self.fail("S9", f"{request} leaves {', '.join(each['metadata']['name'] for each in living)}")

    def check_move(self, request: Request, old: str, new: str) -> None:
        if old != new and self.excused(old):
            self.harm(new, SLICE)
        if old == new or not self.front.serves(old) or self.excused(old):
            return
        if not self.front.serves(new) and self.served.get(new, 0.0) < self.world.clock.now - HEARD:
            self.fail("V2", f"{request} moves the traffic from {old} to {new}, which does not serve")

    def check_put(self, name: str, document: dict[str, Any]) -> None:
        cluster = next((each for each in self.world.store.all(RAYCLUSTERS) if each["metadata"]["name"] == name), None)
        made = decode_cluster(encoded(cluster)) if cluster is not None else None
        if not isinstance(made, RayCluster):
            return
        wanted = document.get("applications")
        if wanted == ANOTHER:  # nobody else knows what an old cluster runs: it is told again what it says, be it a lie
            return
        if next((told["applications"] for to, told in reversed(self.world.rays.serve.puts) if to == name), None) == wanted:
            return
        for config, spec, strategy in self.specs:
            fits = strategy == "None" or is_made_for(made, spec) or lacks_only_groups(made, spec)
            if fits and config.get("applications") == wanted:
                return
        self.fail("V1", f"{[each['import_path'] for each in wanted or ()]} are sent to {name}, which was made for another spec")

    def remember(self, request: Request, change: Change) -> None:
        if change.resource == RAYSERVICES and not request.actor.startswith(OPERATOR):
            spec = change.new["spec"]
            config = read_config(spec.get("serveConfigV2", ""))
            if isinstance(config, ServeConfig):
                strategy = (spec.get("upgradeStrategy") or {}).get("type", "")
                self.specs.append((dict(config.document), decode(encoded(spec["rayClusterConfig"]), RayClusterSpec), strategy))
