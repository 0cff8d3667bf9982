"""Two clusters that name one store, the same keys in Redis or the same directory of a claim: both would write into it, and the deletion of
one would take what the other lives on. The older one has it, or that which has a head already; the other waits, and removes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rayfleet.api.decode import Undecodable
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources import gcs_ft

ASK_AGAIN = 30.0  # seconds: nobody tells a cluster of another's end


class Rival(NamedTuple):
    """Who has the store. `near`: in the same Kubernetes namespace, so that its name may be told."""

    name: str
    near: bool

    def __str__(self) -> str:
        return f"RayCluster {self.name}" if self.near else "a RayCluster of another namespace"


def may_have(cluster: RayCluster) -> bool:
    """Can another cluster name its store? Below its own UID in Redis nobody else is, but by asking for it."""
    options = cluster.spec.gcs_fault_tolerance_options
    kept = gcs_ft.backend(cluster)
    explicit = gcs_ft.storage_namespace(cluster) != cluster.metadata.uid
    return kept == gcs_ft.ROCKSDB or (kept == gcs_ft.REDIS and (explicit or bool(options and options.external_storage_namespace)))


def rival_of(cluster: RayCluster, others: Iterable[RayCluster | Undecodable], has_head: Callable[[str], bool]) -> Rival | None:
    """`has_head(uid)`: has that cluster a head Pod, also one on its way out?"""
    for other in others:
        if isinstance(other, Undecodable) or other.metadata.uid == cluster.metadata.uid or not shares(cluster, other):
            continue
        if age(other) < age(cluster) or has_head(other.metadata.uid):
            return Rival(other.metadata.name, other.metadata.namespace == cluster.metadata.namespace)
    return None


def age(cluster: RayCluster) -> tuple[str, str]:
    return cluster.metadata.creation_timestamp or "", cluster.metadata.uid


def shares(one: RayCluster, other: RayCluster) -> bool:
    kept = gcs_ft.backend(one)
    if kept != gcs_ft.backend(other):
        return False
    near = one.metadata.namespace == other.metadata.namespace
    if kept == gcs_ft.ROCKSDB:
        return near and place_of(one) == place_of(other)
    namespace = gcs_ft.storage_namespace(one)
    if namespace != gcs_ft.storage_namespace(other):
        return False
    address = gcs_ft.address(one)
    reachable = near or "." in address  # a short name is another host in another namespace
    return namespace == other.metadata.uid or (reachable and address == gcs_ft.address(other))


def place_of(cluster: RayCluster) -> tuple[str, str]:
    return gcs_ft.claim_of(cluster), gcs_ft.storage(cluster).sub_path.strip("/")
