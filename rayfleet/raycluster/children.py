"""The children of a RayCluster besides its Pods: made when they are missing, put right when somebody changed them, removed when the spec no
longer asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import (
    CERTIFICATES,
    INGRESSES,
    ISSUERS,
    NETWORKPOLICIES,
    PERSISTENTVOLUMECLAIMS,
    ROLEBINDINGS,
    ROLES,
    ROUTES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)
from rayfleet.api.names import (
    account_name,
    head_policy_name,
    headless_service_name,
    ingress_name,
    other_account_name,
    route_name,
    serve_service_name,
    worker_policy_name,
)
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.scaler import has_sidecar
from rayfleet.api.views import ChildView
from rayfleet.planning.actions import Action, Create, Delete, Patch, deed, scope_of
from rayfleet.planning.convergence import compared, drift, places, refuses_in_place
from rayfleet.raycluster import certificates
from rayfleet.raycluster.observed import Observed
from rayfleet.resources import auth, ingress, network_policy, rbac, services, tls
from rayfleet.resources.autoscaler_sidecar import NAME as AUTOSCALER
from rayfleet.resources.pod_template import head_service_of

ACCOUNTS = (SERVICEACCOUNTS, ROLES, ROLEBINDINGS)
"""What the autoscaler needs, all of one name."""
NAME_CONFLICT = "NameConflict"
"""What a refusal is called where the name is somebody else's."""

OTHERS = (SERVICEACCOUNTS, ROLES, ROLEBINDINGS, INGRESSES, SECRETS, NETWORKPOLICIES, ISSUERS, CERTIFICATES)
"""The kinds of children besides Pods and Services; with Routes where the API serves them. See `others`."""

GATES = {NETWORKPOLICIES: "RayClusterNetworkPolicy", ISSUERS: "RayClusterMTLS", CERTIFICATES: "RayClusterMTLS"}
"""Kinds that no valid spec asks for while a feature gate is off; they are not even looked at then."""

STORES = "GCSFaultToleranceEmbeddedStorage"
"""The gate without which no claim is made or looked at; see `claim`."""

UNREAD = frozenset({SECRETS})
"""Kinds of which only the metadata is ever asked for. What is in them is neither compared nor put right; they are made, and go with their
cluster: containers that run may still need them when the spec does not."""


def others(config: Configuration) -> tuple[Resource, ...]:
    """The kinds of children that are watched with this configuration, besides Pods and Services."""
    found = [resource for resource in OTHERS if resource not in GATES or config.gate(GATES[resource])]
    stores = (PERSISTENTVOLUMECLAIMS,) if config.gate(STORES) else ()
    return (*found, *stores, *((ROUTES,) if config.has_routes else ()))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A child as it should be, and why the cluster needs it. `drawn`: see `Create`."""

    resource: Resource
    manifest: Mapping[str, Any]
    reason: str
    drawn: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])


def plan_children(observed: Observed, cluster: RayCluster) -> Iterator[Action]:
    wanted = list(wanted_children(observed, cluster))
    for child in wanted:
        if not too_early(observed, child):
            yield from converge(observed, child)
    yield from obsolete(observed, cluster, {(child.resource, child.name) for child in wanted})


def too_early(observed: Observed, child: Wanted) -> bool:
    """A role that the API does not have yet cannot be bound: whether its rights may be given away is looked up in it."""
    return child.resource == ROLEBINDINGS and find(observed.owned(ROLES), child.manifest["roleRef"]["name"]) is None


def wanted_children(observed: Observed, cluster: RayCluster) -> Iterator[Wanted]:
    """All children that the spec asks for, in the order in which KubeRay makes them."""
    spec = cluster.spec
    for resource, manifest in certificates.wanted_certificates(observed, cluster):
        yield Wanted(resource, manifest, "tlsOptions asks for it")
    if keeps_account(observed, cluster):
        why, account = "the autoscaler beside the head needs it", account_of(observed, cluster)
        if not rbac.given_account(cluster):
            yield Wanted(SERVICEACCOUNTS, rbac.service_account(cluster, account), why)
        yield Wanted(ROLES, rbac.role(cluster, account), why)
        yield Wanted(ROLEBINDINGS, rbac.role_binding(cluster, account), why)
    if spec.head_group_spec.enable_ingress:
        why = "enableIngress asks for it"
        if observed.config.has_routes and not observed.config.use_ingress_on_openshift:
            yield Wanted(ROUTES, ingress.route(cluster), why)
        else:
            yield Wanted(INGRESSES, ingress.ingress(cluster), why)
    if auth.needs_secret(cluster, observed.config):
        yield Wanted(SECRETS, auth.secret(cluster), "the token of its ports is in it", (auth.KEY,))
    for manifest in network_policy.policies(cluster):
        yield Wanted(NETWORKPOLICIES, manifest, "networkPolicy asks for it")
    head = services.head_service(cluster, observed.config, headless=is_headless(observed, cluster))
    yield Wanted(SERVICES, head, "the cluster has no head Service")
    if any(group.num_of_hosts > 1 for group in spec.worker_group_specs):
        yield Wanted(SERVICES, services.headless_service(cluster), "replicas of several hosts need names in DNS")
    if cluster.metadata.annotation(labels.ENABLE_SERVE_SERVICE) == "true" and services.serve_ports(cluster):
        yield Wanted(SERVICES, services.serve_service(cluster), f"the annotation {labels.ENABLE_SERVE_SERVICE} asks for it")


def is_headless(observed: Observed, cluster: RayCluster) -> bool:
    """Is the head Service that is there? It cannot be given an address, and needs no ports."""
    return any(found.name == head_service_of(cluster) and found.spec.cluster_ip == "None" for found in observed.services)


def keeps_account(observed: Observed, cluster: RayCluster) -> bool:
    """Does a head's autoscaler need its account: one that is to be made, or one that still runs where the operator is to take over?"""
    runs = bool(cluster.spec.enable_in_tree_autoscaling) and any(head.has_container(AUTOSCALER) for head in observed.heads())
    return runs or has_sidecar(cluster.metadata, cluster.spec, observed.config)


def account_of(observed: Observed, cluster: RayCluster) -> str:
    """The name of the autoscaler's ServiceAccount, Role and RoleBinding: the usual one, as KubeRay cuts it, unless another cluster with the
    same end to its name was there before."""
    usual, other = account_name(cluster.metadata.name), other_account_name(cluster.metadata.name)
    first = ROLES if rbac.given_account(cluster) else SERVICEACCOUNTS
    failure = observed.backoffs.get(scope_of(first, usual))
    taken = usual != cluster.metadata.name and failure is not None and failure.event == NAME_CONFLICT
    return other if taken or find(observed.owned(first), other) else usual


def converge(observed: Observed, child: Wanted) -> Iterator[Action]:
    """Create the child, or put right what is no longer as it should be."""
    found = find(observed.owned(child.resource), child.name)
    if found is None:
        if not observed.held_back(scope_of(child.resource, child.name)):
            made = target(observed, child.resource, child.name, "Create")
            made["event"] = "" if is_new(observed) else made["event"]
            yield Create(manifest=child.manifest, reason=child.reason, drawn=child.drawn, **made)
        return
    if found.terminating or child.resource in UNREAD or is_of_service(found):
        return
    patch = drift(compared(child.manifest), found.body())
    if not patch or observed.refused(scope_of(child.resource, child.name), f"FailedToUpdate{child.resource.kind}"):
        return
    if cannot_change(child.resource, patch):
        yield remove(observed, child.resource, found, f"{places(patch)} cannot be changed in place")
    else:
        reason = f"{places(patch)} is not as it should be"
        yield Patch(uid=found.metadata.uid, patch=patch, reason=reason, **target(observed, child.resource, child.name, "Update"))


def is_new(observed: Observed) -> bool:
    """Is the cluster only being made? The event of its head tells that; one for each other child would only cost."""
    return not observed.pods and not observed.cluster.status.conditions


def cannot_change(resource: Resource, patch: Mapping[str, Any]) -> bool:
    """Does the API refuse to change this of a living object?"""
    if resource == ROLEBINDINGS:
        return "roleRef" in patch
    return resource == SERVICES and refuses_in_place(patch)


def obsolete(observed: Observed, cluster: RayCluster, wanted: set[tuple[Resource, str]]) -> Iterator[Action]:
    """Children of ours that the spec asked for once."""
    for resource in (SERVICES, INGRESSES, ROUTES, NETWORKPOLICIES, CERTIFICATES, ISSUERS, ROLEBINDINGS, ROLES, SERVICEACCOUNTS):
        for found in observed.owned(resource):
            spared = found.terminating or is_of_service(found) or (resource, found.name) in wanted or not is_ours(cluster, resource, found)
            if not spared and not observed.refused(scope_of(resource, found.name), f"FailedToDelete{resource.kind}"):
                yield remove(observed, resource, found, "the spec no longer asks for it")


def is_of_service(found: ChildView) -> bool:
    """Is it one that the cluster's RayService has made and holds to its manifest, such as the serve Service that its route leads to?"""
    return found.metadata.label(labels.ORIGINATED_FROM_KIND) == "RayService"


def is_ours(cluster: RayCluster, resource: Resource, found: ChildView) -> bool:
    """Did this operator (or KubeRay) make the child? A user may hang objects of his own below a cluster."""
    name = cluster.metadata.name
    if resource == SERVICES:
        head = found.metadata.label(labels.NODE_TYPE) == labels.HEAD and found.metadata.label(labels.CLUSTER) == name
        return head or found.name in (headless_service_name(name), serve_service_name(name))
    if resource == NETWORKPOLICIES:
        return found.name == head_policy_name(name) or found.name.startswith(worker_policy_name(name, ""))
    if resource in (CERTIFICATES, ISSUERS):
        return found.name in tls.names(cluster)
    return found.name in (account_name(name), other_account_name(name), ingress_name(name), route_name(name))


def target(observed: Observed, resource: Resource, name: str, verb: str) -> dict[str, Any]:
    """What all actions on children have alike."""
    return deed(verb, resource, observed.cluster.metadata.namespace, name)


def remove(observed: Observed, resource: Resource, found: ChildView, reason: str) -> Delete:
    return Delete(uid=found.metadata.uid, reason=reason, **target(observed, resource, found.name, "Delete"))


def find(children: tuple[ChildView, ...], name: str) -> ChildView | None:
    for child in children:
        if child.name == name:
            return child
    return None
