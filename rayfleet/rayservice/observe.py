"""Reads what a RayService's decisions depend on: the caches, and what Ray was last heard to say. Decides nothing but what Ray is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.decode import Undecodable
from rayfleet.api.meta import ENDPOINTSLICES, GATEWAYS, HTTPROUTES, PODS, RAYCLUSTERS, RAYSERVICES, SERVICES, Key, Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation.ray_service import GATE
from rayfleet.api.views import PodView, ServiceView
from rayfleet.ray import serve
from rayfleet.ray.answer import Heard, Question, Target
from rayfleet.ray.desk import Desk
from rayfleet.rayservice.observed import Member, Observed, head_of
from rayfleet.rayservice.serve import sends_well
from rayfleet.resources import auth
from rayfleet.resources.pod_template import head_service_of
from rayfleet.resources.services import dashboard_port
from rayfleet.resources.serving import serve_port


class Reader(Protocol):
    """The part of the runtime's reader that is used here."""

    def get(self, resource: Resource, key: Key) -> Any: ...

    def owned(self, resource: Resource, uid: str) -> Any: ...

    def backoffs(self, key: Key) -> Any: ...

    def unseen(self, resource: Resource) -> bool: ...


class Observer:
    """Observes with one configuration; `desk` is the kind's way to Ray."""

    def __init__(self, config: Configuration, desk: Desk) -> None:
        self.config = config
        self.desk = desk

    async def __call__(self, reader: Reader, key: Key, now: float) -> Observed | None:
        """None when the object is gone."""
        service = reader.get(RAYSERVICES, key)
        if service is None:
            return None
        uid = service.metadata.uid
        owned = reader.owned(RAYCLUSTERS, uid)
        services, fronts = tuple(reader.owned(SERVICES, uid)), tuple(found for each in owned for found in fronts_of(reader, each))
        return Observed(
            service=service,
            now=now,
            members=self.members(reader, key, service, [each for each in owned if isinstance(each, RayCluster)]),
            spoiled=tuple(each.metadata.name for each in owned if isinstance(each, Undecodable)),
            services=services,
            fronts=fronts,
            slices=tuple(found for each in (*services, *fronts) for found in reader.owned(ENDPOINTSLICES, each.metadata.uid)),
            **self.gateways(reader, uid),
            backoffs=reader.backoffs(key),
            config=self.config,
        )

    def gateways(self, reader: Reader, uid: str) -> dict[str, Any]:
        """They are not even looked at where no service may ask for them."""
        if not self.config.gate(GATE):
            return {}
        unseen = frozenset(resource for resource in (GATEWAYS, HTTPROUTES) if reader.unseen(resource))
        return {"gateways": tuple(reader.owned(GATEWAYS, uid)), "routes": tuple(reader.owned(HTTPROUTES, uid)), "unseen": unseen}

    def members(self, reader: Reader, key: Key, service: RayService | Undecodable, clusters: list[RayCluster]) -> tuple[Member, ...]:
        pods = {cluster.metadata.name: tuple(reader.owned(PODS, cluster.metadata.uid)) for cluster in clusters}
        targets = {}
        asked = []
        for cluster in clusters:
            name = cluster.metadata.name
            target = target_of(cluster, pods[name], self.config)
            if target is not None and is_asked(service, cluster):
                targets[name] = target
                asked.append((target, self.questions(key, service, cluster, pods[name])))
        heard = self.desk.follow_all(key, asked)
        return tuple(
            self.member(key, cluster, pods[cluster.metadata.name], targets.get(cluster.metadata.name), heard) for cluster in clusters
        )

    def questions(self, key: Key, service: RayService | Undecodable, cluster: RayCluster, pods: tuple[PodView, ...]) -> list[Question]:
        """The proxy on the head is asked itself unless Serve says that it is well, and its label says no other; or it is to get no requests
        in any case."""
        if isinstance(service, RayService) and service.spec.exclude_head_pod_from_serve_svc:
            return [serve.details()]
        head, said = head_of(pods), self.desk.last(key, cluster.metadata.key).get(serve.details())
        details = said.answer if said and isinstance(said.answer, serve.Details) else None
        return [serve.details(), *([] if head and sends_well(head, details) else [health_of(cluster, pods)])]

    def member(
        self, key: Key, cluster: RayCluster, pods: tuple[PodView, ...], target: Target | None, heard: Mapping[Key, Mapping[Question, Heard]]
    ) -> Member:
        said = heard.get(cluster.metadata.key, {})
        return Member(
            cluster=cluster,
            pods=pods,
            target=target,
            details=said.get(serve.details()),
            health=said.get(health_of(cluster, pods)),
            results=self.desk.results(key, cluster.metadata.key) if target else {},
        )


def fronts_of(reader: Reader, cluster: RayCluster | Undecodable) -> list[ServiceView]:
    """The cluster's own serve Service, which its RayService has made."""
    found: list[ServiceView] = reader.owned(SERVICES, cluster.metadata.uid)
    return [each for each in found if each.metadata.label(labels.ORIGINATED_FROM_KIND) == RAYSERVICES.kind]


def health_of(cluster: RayCluster, pods: tuple[PodView, ...]) -> Question:
    """What was heard of the proxy on the head before its label was changed, by whomever, says nothing against that."""
    head = head_of(pods)
    return serve.health(serve_port(cluster), head.metadata.label(labels.SERVE) if head else "")


def is_asked(service: RayService | Undecodable, cluster: RayCluster) -> bool:
    """Not while everything is to go, or goes."""
    leaving = service.metadata.deletion_timestamp or cluster.metadata.deletion_timestamp
    return isinstance(service, RayService) and not service.spec.suspend and not leaving


def target_of(cluster: RayCluster, pods: tuple[PodView, ...], config: Configuration) -> Target | None:
    """How Ray is reached on the cluster's head; None while none runs."""
    head = head_of(pods)
    if head is None or not head.running or not head.status.pod_ip:
        return None
    return Target(
        cluster=cluster.metadata.key,
        service=head_service_of(cluster),
        address=head.status.pod_ip,
        port=dashboard_port(cluster),
        secret=auth.shown_secret(cluster, config),
        pod=head.name,
    )
