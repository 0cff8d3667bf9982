"""What the operator may do: exactly what it does. A test logs in with these rights and no others, and lists those that were never used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rayfleet.runtime.lease import NAME


class Right(NamedTuple):
    """Verbs on one resource; `names` limits them to objects of these names."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def rule(self) -> dict[str, Any]:
        limits = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.group], "resources": [self.resource], **limits, "verbs": list(self.verbs)}


LEASE = NAME

CHILD = ("get", "list", "watch", "create", "patch", "delete")  # get: who holds a name that is taken?

CLUSTERS = (
    Right("ray.io", "rayclusters", ("get", "list", "watch", "patch")),  # patch: the annotation rayfleet.dev/lives, a finalizer
    Right("ray.io", "rayclusters/status", ("patch",)),
    # Asked for by the admission plugin OwnerReferencesPermissionEnforcement, since children set blockOwnerDeletion.
    Right("ray.io", "rayclusters/finalizers", ("update",)),
    Right("", "pods", CHILD),
    Right("", "services", CHILD),
    Right("events.k8s.io", "events", ("create", "patch")),  # patch: the same told again
)
"""Without any of these there is no cluster."""

SERVICES = (
    Right("ray.io", "rayservices", ("get", "list", "watch", "patch")),  # patch: a finalizer, an annotation; get: is it the newest?
    Right("ray.io", "rayservices/status", ("patch",)),
    Right("ray.io", "rayservices/finalizers", ("update",)),  # as that of rayclusters
    Right("ray.io", "rayclusters", ("create", "delete")),
    Right("discovery.k8s.io", "endpointslices", ("list", "watch")),
)
"""For RayServices."""

RAY_JOBS = (
    Right("ray.io", "rayjobs", ("list", "watch", "patch", "delete")),  # patch: a finalizer, annotations; delete: DeleteSelf
    Right("ray.io", "rayjobs/status", ("patch",)),
    Right("ray.io", "rayjobs/finalizers", ("update",)),  # as that of rayclusters
    Right("ray.io", "rayclusters", ("create", "delete")),
    Right("batch", "jobs", ("get", "list", "watch", "create", "delete")),  # of K8sJobMode's submitters
)
"""For RayJobs."""

AUTOSCALING = (
    Right("", "serviceaccounts", CHILD),
    Right("rbac.authorization.k8s.io", "roles", CHILD),
    Right("rbac.authorization.k8s.io", "rolebindings", CHILD),
)
"""For enableInTreeAutoscaling: the account of the autoscaler beside the head."""

HANDED_ON = (Right("", "pods/resize", ("patch",)),)
"""What the autoscaler's role grants and the operator itself never does: nobody can grant what he may not do."""

TOKENS = (Right("", "secrets", ("get", "list", "watch", "create")),)
# get: the token of a RayService's cluster, which Ray's dashboard wants to see; of all others only the metadata is ever asked for
"""For authOptions.mode: token with a token that the operator makes. A Secret that the spec names, and tokens of Kubernetes, need no right
here."""

CLEANUP = (Right("batch", "jobs", ("get", "list", "watch", "create")),)
"""For gcsFaultToleranceOptions with Redis: the Job that removes a deleted cluster's keys. It goes with the cluster."""

CERTIFICATES = (
    Right("cert-manager.io", "issuers", CHILD),
    Right("cert-manager.io", "certificates", CHILD),
    # patch: the owner reference of what a certificate was issued into. delete is never used: the admission plugin
    # OwnerReferencesPermissionEnforcement asks for it of who sets an owner.
    Right("", "secrets", ("list", "watch", "patch", "delete")),
)
"""For tlsOptions, while the gate RayClusterMTLS is on."""

NETWORK = (Right("networking.k8s.io", "networkpolicies", CHILD),)
"""For networkPolicy, while the gate RayClusterNetworkPolicy is on."""

STORES = (Right("", "persistentvolumeclaims", CHILD),)  # delete is never used: asked for as that of Secrets, when a claim's owner changes
"""For gcsFaultToleranceOptions with RocksDB, while the gate GCSFaultToleranceEmbeddedStorage is on."""

CRON_JOBS = (
    Right("ray.io", "raycronjobs", ("get", "list", "watch")),
    Right("ray.io", "raycronjobs/status", ("patch",)),
    Right("ray.io", "raycronjobs/finalizers", ("update",)),  # as that of rayclusters
    Right("ray.io", "rayjobs", ("get", "create")),  # get: who holds a name that is taken?
)
"""For RayCronJobs, while the gate RayCronJob is on."""

OLD_CLUSTERS = (
    Right("cluster.ray.io", "rayclusters", ("list", "watch", "patch")),  # patch: a finalizer and annotations of another operator
    Right("cluster.ray.io", "rayclusters/status", ("patch",)),
    Right("cluster.ray.io", "rayclusters/finalizers", ("update",)),  # as that of rayclusters
    Right("ray.io", "rayclusters", ("create",)),
)
"""For RayClusters of cluster.ray.io, where they are served."""

GATED = (*CRON_JOBS, *NETWORK, *CERTIFICATES, *STORES)
"""For what is off unless a feature gate is turned on."""

INGRESS = (Right("networking.k8s.io", "ingresses", CHILD),)
"""For enableIngress."""

ROUTES = (Right("route.openshift.io", "routes", CHILD),)
"""For enableIngress on OpenShift; elsewhere nothing of that name is served, and the right is worth nothing."""

GATEWAYS = (
    Right("gateway.networking.k8s.io", "gateways", CHILD),
    Right("gateway.networking.k8s.io", "httproutes", CHILD),
)
"""For RayServices that upgrade step by step; where the Gateway API is not served, the rights are worth nothing."""

BASE = (*CLUSTERS, *SERVICES, *RAY_JOBS, *AUTOSCALING, *HANDED_ON, *CLEANUP, *INGRESS, *GATEWAYS)
"""Without anything of Secrets."""

WORK = (*BASE, *TOKENS)
"""In every namespace that is looked after. Who wants no autoscaler, no Redis, no Ingress or no tokens may leave those out: the rest goes
on."""

ELECTION = (
    Right("coordination.k8s.io", "leases", ("create",)),  # a name cannot be asked of what is not there yet
    Right("coordination.k8s.io", "leases", ("get", "update"), (LEASE,)),
)
"""In the operator's own namespace."""

RIVALS = (Right("coordination.k8s.io", "leases", ("list",), (LEASE,)),)
"""In all namespaces: does another operator look after the same? Without it only those in the operator's own namespace are seen."""

DEFINITIONS = (Right("apiextensions.k8s.io", "customresourcedefinitions", ("list", "watch"), ("rayclusters.cluster.ray.io",)),)
"""To notice that RayClusters of cluster.ray.io are served from now on. Without it the operator must be restarted then."""


def rules(rights: Sequence[Right]) -> list[dict[str, Any]]:
    return [right.rule for right in rights]
