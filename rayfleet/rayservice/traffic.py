"""Where requests go: the head's label by its proxy, and the two Services that lead to the cluster that serves (KubeRay, 4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import PODS, SERVICES
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Action, Delete, Patch, Subject, scope_of
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice.children import held_to, removed
from rayfleet.rayservice.clusters import Roles, serving_pods
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import is_incremental
from rayfleet.rayservice.serve import head_proxy_answers, runs_all, runs_any
from rayfleet.resources.ray_service import serve_mark, serve_name, service_head_service, service_serve_service

HEAD = Subject("head Pod", "head Pods")


def front(observed: Observed, service: RayService, roles: Roles, config: ServeConfig) -> Member | None:
    """The cluster that the Services are to lead to; None: they stay as they are.

    An upgrade is complete when all applications run on the new cluster and one of its proxies answers; one that goes step by step is when
    the route says so. The first cluster is led to as soon as one application runs: there is nothing better.
    """
    pending = roles.pending
    if pending is None or observed.paused or serving_pods(pending) == 0 or (roles.active is not None and is_incremental(service)):
        return roles.active
    ready = runs_any(pending) if roles.active is None else runs_all(pending, config)
    return pending if ready else roles.active


def plan_traffic(observed: Observed, service: RayService, roles: Roles, to: Member | None, shares: Mapping[str, int]) -> Iterator[Action]:
    """`to`: the cluster that the Services are to lead to; `shares` of the traffic are wanted where it moves step by step."""
    for member in roles.used:
        yield from labelled(observed, service, member)
    if to is None:
        return
    wanted = [service_head_service(service, to.cluster, observed.config)]
    if serving := served_by(observed, service, roles, to, shares):
        wanted.append(service_serve_service(service, serving.cluster))
    for manifest in wanted:
        yield from converge(observed, manifest)
    yield from obsolete(observed, service, {str(manifest["metadata"]["name"]) for manifest in wanted})


def served_by(observed: Observed, service: RayService, roles: Roles, to: Member, shares: Mapping[str, int]) -> Member | None:
    """Where the service's own serve Service leads to. Beside a route none is made; one that was there before goes on, and leads to where
    most of the traffic goes."""
    if not is_incremental(service):
        return to
    if not any(found.name == serve_name(service) for found in observed.services):
        return None
    return roles.second if roles.second and shares.get(roles.second.name, 0) > 50 else to


def labelled(observed: Observed, service: RayService, member: Member) -> Iterator[Patch]:
    """The label by which the serve Service finds the head. The proxy of a head that came back answers before Serve has told it of any
    replica (seen with 2.60: half a minute): requests would wait there, so that it takes none before an application runs."""
    head, answers = member.head, head_proxy_answers(member)
    if service.spec.exclude_head_pod_from_serve_svc:
        answers = False
    scope = f"head/{member.name}"
    if head is None or answers is None or observed.held_back(scope) or (answers and not runs_any(member)):
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


def converge(observed: Observed, manifest: Mapping[str, Any]) -> Iterator[Action]:
    name, to = str(manifest["metadata"]["name"]), manifest["spec"]["selector"][labels.CLUSTER]
    reason = f"RayCluster {to} serves"
    found = next((each for each in observed.services if each.name == name), None)
    moved = found is not None and (found.spec.selector or {}).get(labels.CLUSTER) != to
    yield from held_to(observed, SERVICES, manifest, observed.services, reason, reason if moved else "")


def obsolete(observed: Observed, service: RayService, wanted: set[str]) -> Iterator[Delete]:
    """A serve Service whose name the spec has changed, once the new one leads somewhere."""
    own = [each for each in observed.services if each.metadata.label(labels.SERVE) == serve_mark(service) and not each.terminating]
    if not any(each.name in wanted for each in own):
        return
    for found in own:
        if found.name not in wanted and not observed.held_back(scope_of(SERVICES, found.name)):
            yield removed(SERVICES, found, "serveService has another name now")
