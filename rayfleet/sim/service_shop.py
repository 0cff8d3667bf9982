"""A RayService that goes on by itself: Pods come up, Serve answers, and every write is looked at. See `service_storm`."""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.decode import decode_cluster
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Action
from rayfleet.planning.plan import Call
from rayfleet.ray import serve
from rayfleet.ray.answer import Accepted, Act, Heard, Target, Unreachable, complaint, read, taken
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.rayservice.clusters import keeps_cluster
from rayfleet.rayservice.observed import Observed
from rayfleet.rayservice.plan import plan
from rayfleet.rayservice.serve import details_of, is_given
from rayfleet.resources.cluster_hash import is_made_for, lacks_only_groups
from rayfleet.sim.cache import finish
from rayfleet.sim.serve import FakeServe
from rayfleet.sim.service_life import Story
from rayfleet.sim.store import encoded


class Broken(AssertionError):
    """An invariant does not hold."""


class Crash(Exception):
    """The operator dies."""


async def at_once(seconds: float) -> None: ...


class Shop(Story):
    """A story that goes on by itself: Pods come up, Serve answers, and every write is looked at."""

    def __init__(self, dice: Random) -> None:
        super().__init__(rayClusterDeletionDelaySeconds=dice.choice((0, 5, 60)))
        self.dice = dice
        self.serve = FakeServe(lambda: self.now, deploys=dice.choice((1.0, 3.0, 10.0)), sleep=at_once)
        self.seen: Counter[str] = Counter()
        self.waiting: list[Call] = []
        self.crash_at: int | None = None
        self.heads = 0
        self.past: deque[tuple[Any, ...]] = deque(maxlen=6)
        self.led: str = ""
        self.shares: dict[str, int] = {}
        self.ran: dict[str, float] = {}
        self.lost: set[str] = set()

    # the operator
    def look(self) -> Any:
        observed = self.observed()
        made = plan(observed)
        for call in made.calls:
            self.hold(is_told_rightly(observed, call), f"the config goes to {call.target.cluster.name}")
        self.apply(made)
        return made

    def look_back(self) -> bool:
        """A second operator, whose caches are some writes behind, and who heard nothing of Ray."""
        if len(self.past) < 2:
            return False
        now = (*self.view(), self.says, self.results)
        self.service, self.clusters, self.services, self.pods, self.gateways, self.routes = copy.deepcopy(self.dice.choice(list(self.past)))
        self.says, self.results = {}, {}
        made = plan(self.observed()) if self.service is not None else None
        self.service, self.clusters, self.services, self.pods, self.gateways, self.routes, self.says, self.results = now
        if made is not None and self.service is not None:
            self.crash_at = None
            self.apply(made)
        return made is not None and not made.done

    def carry(self, action: Action) -> bool:
        done = super().carry(action)
        self.seen[f"{type(action).__name__} {action.resource.kind}" + ("" if done else " refused")] += 1
        return done

    def send(self, call: Call) -> None:
        if call not in self.waiting:
            self.waiting.append(call)

    def crash_point(self) -> None:
        if self.crash_at is not None:
            self.crash_at -= 1
            if self.crash_at < 0:
                self.crash_at = None
                raise Crash

    def crash(self) -> None:
        self.says, self.health, self.results, self.waiting, self.backoffs = {}, {}, {}, [], {}

    # what is looked at
    def hold(self, holds: bool, what: str) -> None:
        if not holds:
            raise Broken(what)

    def view(self) -> tuple[Any, ...]:
        return self.service, self.clusters, self.services, self.pods, self.gateways, self.routes

    def after_write(self) -> None:
        self.past.append(copy.deepcopy(self.view()))
        self.hold(len(self.names) <= 2, f"{len(self.names)} clusters live: {self.names}")
        led = self.led_to
        if led and self.led and led != self.led and self.led in self.clusters and self.led not in self.lost:
            self.hold(self.now - self.ran.get(led, -1e9) <= 30.0, f"the traffic moved from {self.led} to {led}, which does not serve")
        self.led = led or self.led
        self.share()

    def share(self) -> None:
        """Whoever is given more of the traffic serves, unless nobody does."""
        before, self.shares = self.shares, self.weights
        self.hold(not self.shares or sum(self.shares.values()) == 100, f"the weights are {self.shares}")
        for name, weight in self.shares.items():
            others = [other for other in self.shares if other != name and other in self.clusters and other not in self.lost]
            if weight > before.get(name, 0) and before and others:
                self.hold(self.now - self.ran.get(name, -1e9) <= 30.0, f"{weight} % of the traffic go to {name}, which does not serve")

    # the others
    def hear(self) -> None:
        """What waits is sent, and everybody is asked."""
        calls, self.waiting = self.waiting, []
        for call in calls:
            if (target := self.target(call.target.cluster.name)) is not None:
                self.ask(call, target)
        for name in self.names:
            target = self.target(name)
            if target is None:
                self.says.pop(name, None)
                self.health.pop(name, None)
                continue
            for question, place in ((serve.details(), self.says), (serve.health(8000), self.health)):
                self.now += 0.001
                answer = self.answer_of(target, question)
                before = place.get(name)
                same = before is not None and before.answer == answer
                place[name] = Heard(answer, self.now, before.since if same and before else self.now)

    def ask(self, call: Call, target: Target) -> None:
        self.now += 0.001
        answer = self.answer_of(target, call.message)
        known = self.results.setdefault(target.cluster.name, {})
        known.pop(call.message, None)
        known[call.message] = Heard(answer, self.now, self.now)
        if isinstance(answer, Accepted):
            self.puts.append((target.cluster.name, {}))
        elif not complaint(answer):
            raise AssertionError(answer)

    def answer_of(self, target: Target, call: Any) -> Any:
        try:
            status, content = finish(self.serve(target, call))
        except OSError as error:
            return Unreachable(str(error))
        return taken(call, status, content) if isinstance(call, Act) else read(call, status, content)

    def target(self, name: str) -> Target | None:
        """The head Pod that is there now."""
        head = next((pod for pod in self.pods.values() if pod["metadata"]["labels"][labels.CLUSTER] == name and is_head(pod)), None)
        if head is None or name not in self.clusters:
            return None
        cluster = decode_cluster(encoded(self.clusters[name]))
        return Target(cluster.metadata.key, f"{name}-head-svc", "10.0.0.1", pod=str(head["metadata"]["uid"]))

    def grow(self) -> None:
        """Pods come up; workers are ready while the proxies answer."""
        for name in self.names:
            if self.target(name) is None and self.dice.random() < 0.7:
                self.heads += 1
                self.start_pods(name)
                self.says.pop(name, None)
                for pod in (each for each in self.pods.values() if each["metadata"]["labels"][labels.CLUSTER] == name):
                    pod["metadata"]["uid"] = f"{pod['metadata']['uid']}-{self.heads}"
            target = self.target(name)
            if target is not None:
                runs = self.serve.running(name, target.pod) and self.serve.moods.get(name, "") in ("", "forgetful")
                if runs:
                    self.ran[name] = self.now
                for pod in self.pods.values():
                    if pod["metadata"]["labels"][labels.CLUSTER] == name and not is_head(pod):
                        pod["status"]["conditions"][0]["status"] = str(runs)

    def live(self, seconds: int) -> None:
        """So many seconds of everything."""
        for _ in range(seconds):
            self.now += 1.0
            self.grow()
            if self.dice.random() < 0.5:
                self.accept()
            self.hear()
            try:
                for _ in range(12):
                    if self.service is None or self.look().done:
                        break
            except Crash:
                self.crash()


def is_head(pod: Mapping[str, Any]) -> bool:
    return bool(pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD)


def is_told_rightly(observed: Observed, call: Call) -> bool:
    """Is this cluster made for the spec that the config came with, or told what it says that it runs?"""
    member, service = observed.member(call.target.cluster.name), observed.service
    assert member is not None and isinstance(service, RayService)
    spec, details = service.spec.ray_cluster_config, details_of(member)
    applications = [found.deployed_app_config for found in details.applications.values()] if details else []
    if applications and {"applications": applications}.items() <= msgspec.json.decode(call.message.body).items():
        return True
    config = read_config(service.spec.serve_config_v2)
    if not applications and isinstance(config, ServeConfig) and is_given(member, config):
        return True
    return is_made_for(member.cluster, spec) or lacks_only_groups(member.cluster, spec) or keeps_cluster(service, zero_downtime=True)
