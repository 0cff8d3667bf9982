"""RayCluster: from what is observed to what to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import OTHER_MANAGER, RayCluster
from rayfleet.planning.actions import Action, Delete
from rayfleet.planning.conditions import says
from rayfleet.planning.finalizer import SCOPE as FINALIZER_SCOPE
from rayfleet.planning.plan import Event, Plan
from rayfleet.raycluster import certificates, head, workers
from rayfleet.raycluster.children import plan_children
from rayfleet.raycluster.claim import plan_claim
from rayfleet.raycluster.fences import SCOPE, settle
from rayfleet.raycluster.finalize import finalize, hold
from rayfleet.raycluster.judgement import valid
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.protection import unprotected
from rayfleet.raycluster.recreate import adopted, outdated
from rayfleet.raycluster.rivals import ASK_AGAIN
from rayfleet.raycluster.status import refusal_write, status_write
from rayfleet.raycluster.validity import faults_of

New = head.NewHead | workers.NewWorkers


def plan(observed: Observed) -> Plan:
    """What to do next for one RayCluster, and what to say of it."""
    cluster = observed.cluster
    if is_managed_elsewhere(observed):
        return Plan()
    if cluster.metadata.deletion_timestamp:
        return finalize(observed)
    faults = faults_of(observed)
    if faults or isinstance(cluster, Undecodable):
        return refuse(observed, faults)
    holds = hold(observed, cluster)
    if holds and observed.held_back(FINALIZER_SCOPE):
        return Plan((), status_write(observed, cluster), observed.next_try())
    actions: list[Action] = [
        *holds,
        *plan_children(observed, cluster),
        *plan_claim(observed, cluster),
        *certificates.adopted(observed, cluster),
        *adopted(observed, cluster),
        *pod_actions(observed, cluster, tested=bool(holds)),
    ]
    return Plan(tuple(actions), status_write(observed, cluster), waiting(observed, cluster), certificates.told(observed, cluster))


def pod_actions(observed: Observed, cluster: RayCluster, *, tested: bool = False) -> list[Action]:
    """The fence, if names need one, then what goes and what is made. `tested`: a write before tests our copy of the cluster already."""
    deletes, news = plan_pods(observed, cluster)
    if unprotected(observed, cluster):
        news = []
    allowed = [delete for delete in deletes if not observed.refused(delete.scope, delete.failed_event)]
    fences, creates = settle(observed, cluster, allowed, news)
    if fences and observed.held_back(SCOPE):
        return []
    made = [create for create in creates if not head.replaces(cluster, create, fences)]
    return [*(fence for fence in fences if fence.annotations or not tested), *allowed, *made]


def is_managed_elsewhere(observed: Observed) -> bool:
    return isinstance(observed.cluster, RayCluster) and observed.cluster.spec.managed_by == OTHER_MANAGER


def refuse(observed: Observed, faults: Sequence[Fault]) -> Plan:
    """Leave everything as it is and say what is wrong, once for each generation."""
    verdict = valid(faults)
    known = says(observed.cluster.status.conditions, verdict, observed.cluster.metadata.generation)
    events = () if known else (Event("Warning", reason_of(faults), verdict.message, "Validate"),)
    return Plan(status=refusal_write(observed, faults), events=events)


def reason_of(faults: Sequence[Fault]) -> str:
    """KubeRay looks at the name first, and goes no further (reference: KubeRay, 1.6)."""
    at_fault = any(fault.path.startswith("metadata") for fault in faults)
    return "InvalidRayClusterMetadata" if at_fault else "InvalidRayClusterSpec"


def plan_pods(observed: Observed, cluster: RayCluster) -> tuple[list[Delete], list[New]]:
    """Head first: where room is short, workers without a head are of no use."""
    if cluster.spec.suspend:
        return everything(observed, "the cluster is suspended"), []
    if why := outdated(observed, cluster):
        return everything(observed, why), []
    deletes, new_heads = head.plan_head(observed, cluster)
    news: list[New] = [*new_heads]
    for group in cluster.spec.worker_group_specs:
        group_deletes, group_news = workers.plan_group(observed, cluster, group)
        deletes += group_deletes
        news += group_news
    return deletes + workers.plan_removed_groups(observed, cluster), news


def everything(observed: Observed, reason: str) -> list[Delete]:
    active = [pod for pod in observed.pods if not pod.terminating]
    return [head.delete(pod, reason) if pod.is_head else workers.delete(pod, reason) for pod in active]


def waiting(observed: Observed, cluster: RayCluster) -> float | None:
    """Seconds until the first scope that is held back may try again, or until a kind that is missing is looked for again."""
    again = ASK_AGAIN if observed.rival else None
    waits = (observed.next_try(), certificates.asks_again(observed, cluster), again)
    return min((wait for wait in waits if wait is not None), default=None)
