"""The one head Pod: made when there is none, removed when it can do no more."""

from __future__ import annotations

from dataclasses import dataclass

from rayfleet.api import labels
from rayfleet.api.meta import PODS
from rayfleet.api.names import Slot
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Create, Delete, Subject
from rayfleet.raycluster.fences import HEAD_SLOT
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.pods import broken
from rayfleet.resources.pod import head_pod

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
            manifest=head_pod(cluster, name, observed.config),
            scope=SCOPE,
            reason=self.reason,
            subject=SUBJECT,
            event="CreatedHeadPod",
            failed_event="FailedToCreateHeadPod",
        )


def plan_head(observed: Observed) -> tuple[list[Delete], list[NewHead]]:
    """At most one of the two lists holds something.

    A head that is still terminating is waited for: two heads behind one Service would split the cluster.
    """
    heads = observed.heads()
    deletes = [delete(pod, f"{why}", setback=True) for pod in heads if not pod.terminating and (why := broken(pod))]
    if heads or observed.held_back(SCOPE):
        return deletes, []
    return [], [NewHead("the cluster has no head Pod")]


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
