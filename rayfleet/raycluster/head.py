"""The one head Pod: made when there is none, removed when it can do no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rayfleet.api import labels
from rayfleet.api.meta import PODS, SERVICEACCOUNTS
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.scaler import has_sidecar
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Create, Delete, Fence, Subject
from rayfleet.planning.conditions import is_true
from rayfleet.raycluster.children import account_of
from rayfleet.raycluster.claim import lacks_claim
from rayfleet.raycluster.fences import HEAD_SLOT, comes_once
from rayfleet.raycluster.lives import parse_lives
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.pods import broken
from rayfleet.resources.pod import head_pod
from rayfleet.resources.rbac import given_account

SCOPE = "head"
SUBJECT = Subject("head Pod", "head Pods")


@dataclass(frozen=True, slots=True)
class NewHead:
    """A head Pod that is to be made."""

    reason: str
    group_name: str = labels.HEAD_GROUP
    hosts: int = 1
    slots: tuple[Slot, ...] = (HEAD_SLOT,)

    def create(self, observed: Observed, cluster: RayCluster, slot: Slot, lives: int, name: str) -> Create:
        return Create(
            resource=PODS,
            namespace=cluster.metadata.namespace,
            name=name,
            manifest=head_pod(cluster, name, observed.config, account_of(observed, cluster)),
            scope=SCOPE,
            reason=self.reason,
            subject=SUBJECT,
            event="CreatedHeadPod",
            failed_event="FailedToCreateHeadPod",
        )


def plan_head(observed: Observed, cluster: RayCluster) -> tuple[list[Delete], list[NewHead]]:
    """At most one of the two lists holds something.

    A head that is still terminating is waited for: two heads behind one Service would split the cluster. So is the account that it needs,
    without which the API refuses it, and the claim on which its store lies; that nobody else has the store, and
    for a job's word.
    """
    heads = observed.heads()
    deletes = [delete(pod, f"{why}", setback=True) for pod in heads if not pod.terminating and (why := broken(pod))]
    deletes += [delete(pod, "the cluster has another head Pod") for pod in superfluous(heads)]
    if heads or observed.held_back(SCOPE) or stays_away(cluster):
        return deletes, []
    if lacks_account(observed, cluster) or lacks_claim(observed, cluster) or observed.rival or observed.unpermitted:
        return deletes, []
    return [], [NewHead("the cluster has no head Pod")]


def superfluous(heads: tuple[PodView, ...]) -> list[PodView]:
    """All living heads but one. Names fence against a second, but a create that another leader had under way may land behind a fence."""
    living = [pod for pod in heads if not pod.terminating and not broken(pod)]
    return sorted(living, key=lambda pod: (not pod.ready, pod.metadata.creation_timestamp or "", pod.name))[1:]


def lacks_account(observed: Observed, cluster: RayCluster) -> bool:
    """Is the autoscaler's own ServiceAccount still to be seen?"""
    needed = has_sidecar(cluster.metadata, cluster.spec, observed.config) and not given_account(cluster)
    return needed and not any(account.name == account_of(observed, cluster) for account in observed.owned(SERVICEACCOUNTS))


def stays_away(cluster: RayCluster) -> bool:
    """A head that was lost once is not replaced where the cluster says so (a job in the head must not run twice)."""
    asked = cluster.metadata.annotation(labels.DISABLE_HEAD_RESTART) == "true"
    lost = comes_once(cluster) and parse_lives(cluster.metadata.annotation(labels.LIVES)).of(labels.HEAD_GROUP, 0) > 0
    return asked and (is_true(cluster.status.conditions, "RayClusterProvisioned") or lost)


def replaces(cluster: RayCluster, create: Create, fences: Sequence[Fence]) -> bool:
    """Would the Pod be another head of a cluster whose head comes but once? `fences` have the lives that are written before."""
    lives = [parse_lives(fence.annotations.get(labels.LIVES, "")).of(labels.HEAD_GROUP, 0) for fence in fences]
    return comes_once(cluster) and create.scope == SCOPE and any(lives)


def delete(pod: PodView, reason: str, *, setback: bool = False) -> Delete:
    return Delete(
        resource=PODS,
        namespace=pod.metadata.namespace,
        name=pod.name,
        uid=pod.metadata.uid,
        scope=SCOPE,
        reason=reason,
        subject=SUBJECT,
        event="DeletedHeadPod",
        failed_event="FailedToDeleteHeadPod",
        setback=setback,
    )
