"""Where requests go: the head's label by its proxy, and the two Services that lead to the cluster that serves (KubeRay, 4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import PODS, SERVICES
from rayfleet.api.rayservice import RayService
from rayfleet.api.views import ServiceView
from rayfleet.planning.actions import Action, Create, Delete, Patch, Subject
from rayfleet.planning.convergence import compared, drift, places, refuses_in_place
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice.clusters import Roles, serving_pods
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.serve import head_proxy_answers, runs_all, runs_any
from rayfleet.resources.ray_service import serve_mark, service_head_service, service_serve_service

HEAD, SERVICE = Subject("head Pod", "head Pods"), Subject("Service", "Services")


def front(observed: Observed, roles: Roles, config: ServeConfig) -> Member | None:
    """The cluster that the Services are to lead to; None: they stay as they are.

    An upgrade is complete when all applications run on the new cluster and one of its proxies answers. The first cluster is led to as soon
    as one application runs: there is nothing better.
    """
    pending = roles.pending
    if pending is None or observed.paused or serving_pods(pending) == 0:
        return roles.active
    ready = runs_any(pending) if roles.active is None else runs_all(pending, config)
    return pending if ready else roles.active


def plan_traffic(observed: Observed, service: RayService, roles: Roles, config: ServeConfig) -> Iterator[Action]:
    for member in filter(None, (roles.active, roles.pending)):
        yield from labelled(observed, service, member)
    to = front(observed, roles, config)
    if to is None:
        return
    wanted = [service_head_service(service, to.cluster, observed.config), service_serve_service(service, to.cluster)]
    for manifest in wanted:
        yield from converge(observed, to, manifest)
    yield from obsolete(observed, service, {str(manifest["metadata"]["name"]) for manifest in wanted})


def labelled(observed: Observed, service: RayService, member: Member) -> Iterator[Patch]:
    """The label by which the serve Service finds the head."""
    head, answers = member.head, head_proxy_answers(member)
    if service.spec.exclude_head_pod_from_serve_svc:
        answers = False
    scope = f"head/{member.name}"
    if head is None or answers is None or observed.held_back(scope):
        return
    value = str(answers).lower()
    if head.metadata.label(labels.SERVE) != value:
        yield Patch(
            resource=PODS,
            namespace=head.metadata.namespace,
            name=head.name,
            uid=head.metadata.uid,
            patch={"metadata": {"labels": {labels.SERVE: value}}},
            scope=scope,
            reason="its proxy answers" if answers else "no requests are to go to its proxy",
            subject=HEAD,
            event="UpdatedHeadPodServeLabel",
            failed_event="FailedToUpdateHeadPodServeLabel",
        )


def converge(observed: Observed, to: Member, manifest: Mapping[str, Any]) -> Iterator[Action]:
    name = str(manifest["metadata"]["name"])
    scope, place = f"service/{name}", {"resource": SERVICES, "namespace": str(manifest["metadata"]["namespace"]), "name": name}
    found = next((each for each in observed.services if each.name == name), None)
    if observed.held_back(scope) or (found is not None and found.terminating):
        return
    told: dict[str, Any] = {**place, "scope": scope, "subject": SERVICE}
    if found is None:
        reason = f"RayCluster {to.name} serves"
        yield Create(manifest=manifest, reason=reason, event="CreatedService", failed_event="FailedToCreateService", **told)
        return
    patch = drift(compared(manifest), found.body())
    if refuses_in_place(patch):
        yield removed(found, told, f"{places(patch)} cannot be changed in place")
    elif patch:
        moved = (found.spec.selector or {}).get(labels.CLUSTER) != to.name
        reason = f"RayCluster {to.name} serves" if moved else f"{places(patch)} is not as it should be"
        uid = found.metadata.uid
        yield Patch(uid=uid, patch=patch, reason=reason, event="UpdatedService", failed_event="FailedToUpdateService", **told)


def removed(found: ServiceView, told: Mapping[str, Any], reason: str) -> Delete:
    return Delete(uid=found.metadata.uid, reason=reason, event="DeletedService", failed_event="FailedToDeleteService", **told)


def obsolete(observed: Observed, service: RayService, wanted: set[str]) -> Iterator[Delete]:
    """A serve Service whose name the spec has changed, once the new one leads somewhere."""
    own = [each for each in observed.services if each.metadata.label(labels.SERVE) == serve_mark(service) and not each.terminating]
    if not any(each.name in wanted for each in own):
        return
    for found in own:
        scope = f"service/{found.name}"
        if found.name not in wanted and not observed.held_back(scope):
            told = {"resource": SERVICES, "namespace": found.metadata.namespace, "name": found.name, "scope": scope, "subject": SERVICE}
            yield removed(found, told, "serveService has another name now")
