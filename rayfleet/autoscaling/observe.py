"""Reads what the size of a cluster depends on: the caches, and what its head was last heard to say. Asks the planner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, Key, Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView
from rayfleet.autoscaling.cluster import groups_of, instances_of, policy_of
from rayfleet.autoscaling.judge import TooMuch
from rayfleet.autoscaling.observed import Observed
from rayfleet.autoscaling.obstacles import TOO_MUCH, before_asking, concerns_us, in_the_answer, unknown_options, without_head_since
from rayfleet.autoscaling.report import report
from rayfleet.autoscaling.values import Decision, Group, Instance, Memory, Policy
from rayfleet.autoscaling.word import Word
from rayfleet.ray.answer import Heard
from rayfleet.ray.gcs import Head
from rayfleet.resources import auth, tls
from rayfleet.resources.env import head_host
from rayfleet.resources.pod_template import head_service_of
from rayfleet.resources.ports import GCS, port_of

RESTS = 60.0  # seconds in which a cluster with too much to weigh does not delay others
Decide = Callable[[Word, tuple[Group, ...], tuple[Instance, ...], Policy, Memory, float], Awaitable[Decision]]


class Reader(Protocol):
    """The part of the runtime's reader that is used here."""

    def get(self, resource: Resource, key: Key) -> Any: ...

    def owned(self, resource: Resource, uid: str) -> Any: ...

    def backoffs(self, key: Key) -> Any: ...


class Loop(Protocol):
    """The part of `loop.Loop` that is used here."""

    def follow(self, key: Key, uid: str, head: Head) -> Heard | None: ...

    def memory(self, key: Key) -> Memory: ...

    def forget(self, key: Key) -> None: ...


class Observer:
    """Observes with one configuration; asks by the loop, and has it decided by `decide`, which may take its time elsewhere."""

    def __init__(self, config: Configuration, loop: Loop, decide: Decide) -> None:
        self.config = config
        self.loop = loop
        self.decide = decide
        self.tried: dict[Key, float] = {}

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None for a cluster that is not the operator's to size."""
        cluster = reader.get(RAYCLUSTERS, key)
        pods = tuple(reader.owned(PODS, cluster.metadata.uid)) if isinstance(cluster, RayCluster) else ()
        heads = [pod for pod in pods if pod.is_head]
        if not isinstance(cluster, RayCluster) or not concerns_us(cluster, heads, self.config):
            self.loop.forget(key)
            self.tried.pop(key, None)
            return None
        if obstacle := before_asking(cluster, heads):
            self.loop.forget(key)
            return Observed(cluster, now, None, obstacle, without_head_since(cluster, now), backoffs=reader.backoffs(key))
        living = next(head for head in heads if not head.terminating)
        head = head_of(cluster, living, self.config)
        heard = self.loop.follow(key, cluster.metadata.uid, head)
        if heard is None:
            return Observed(cluster, now, head, backoffs=reader.backoffs(key))
        if obstacle := in_the_answer(heard.answer, living.name):
            return Observed(cluster, now, head, obstacle, heard.since, backoffs=reader.backoffs(key))
        return await self.decided(reader, cluster, pods, now, head, heard)

    async def decided(
        self, reader: Reader, cluster: RayCluster, pods: tuple[PodView, ...], now: float, head: Head, heard: Heard
    ) -> Observed:
        key, word = cluster.metadata.key, heard.answer
        ours = [pod for pod in pods if pod.is_head or pod.is_worker]
        instances = instances_of(ours, word.nodes({pod.name for pod in ours}), word.at)
        groups = groups_of(cluster, instances)
        if now - self.tried.get(key, 0.0) < RESTS:
            return self.too_much(reader, cluster, now, head)
        try:
            decision = await self.decide(word, groups, instances, policy_of(cluster), self.loop.memory(key), now)
        except TooMuch:
            self.tried[key] = now
            return self.too_much(reader, cluster, now, head)
        self.tried.pop(key, None)
        return Observed(
            cluster,
            now,
            head,
            instances=instances,
            decision=decision,
            report=report(decision, instances, {group.name: group.hosts for group in groups}),
            unknown=tuple(unknown_options(cluster)),
            backoffs=reader.backoffs(key),
        )

    def too_much(self, reader: Reader, cluster: RayCluster, now: float, head: Head) -> Observed:
        key = cluster.metadata.key
        return Observed(cluster, now, head, TOO_MUCH, now, retry_at=self.tried[key] + RESTS, backoffs=reader.backoffs(key))


def head_of(cluster: RayCluster, pod: PodView, config: Configuration) -> Head:
    on = tls.is_on(cluster)
    return Head(
        cluster.metadata.key,
        pod.status.pod_ip,
        port_of(GCS, cluster.spec.head_group_spec.ray_start_params),
        token=auth.shown_secret(cluster, config),
        certificate=tls.secret_name(cluster, "head") if on else "",
        host=head_host(cluster, config, head_service_of(cluster)) if on else "",
        pod=pod.metadata.uid,
    )
