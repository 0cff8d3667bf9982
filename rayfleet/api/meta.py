"""The metadata that every Kubernetes object has, and the resources that this program reads or writes.

Structs are frozen and not tracked by the garbage collector (`gc=False`): caches hold many thousands of them, and none can be part of a
cycle. Lists are tuples for the same reason.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Key(NamedTuple):
    """Which object: its namespace ("" for cluster-scoped ones) and its name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Resource(msgspec.Struct, frozen=True, gc=False):
    """One kind of object as the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What `apiVersion` says: `v1` for the core group, `group/version` for all others."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, of one object, or of one of its subresources.

        Without a namespace a namespaced resource's path is that of all namespaces.
        """
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/"""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The part of an object's metadata that decisions read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    def label(self, name: str) -> str:
        """The label's value, "" when it is not there."""
        return (self.labels or {}).get(name, "")

    def annotation(self, name: str) -> str:
        """The annotation's value, "" when it is not there."""
        return (self.annotations or {}).get(name, "")


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """metav1.Condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The owner reference with `controller: true`; an object has at most one."""
    for reference in meta.owner_references or ():
        if reference.controller:
            return reference
    return None


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SERVICEACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
ENDPOINTSLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
PERSISTENTVOLUMECLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLEBINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
NETWORKPOLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
ROUTES = Resource("route.openshift.io", "v1", "routes", "Route")
GATEWAYS = Resource("gateway.networking.k8s.io", "v1", "gateways", "Gateway")
HTTPROUTES = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
ISSUERS = Resource("cert-manager.io", "v1", "issuers", "Issuer")
CERTIFICATES = Resource("cert-manager.io", "v1", "certificates", "Certificate")
JOBS = Resource("batch", "v1", "jobs", "Job")
CUSTOMRESOURCEDEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
RAYCLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")
OLD_RAYCLUSTERS = Resource("cluster.ray.io", "v1", "rayclusters", "RayCluster")
RAYJOBS = Resource("ray.io", "v1", "rayjobs", "RayJob")
RAYSERVICES = Resource("ray.io", "v1", "rayservices", "RayService")
RAYCRONJOBS = Resource("ray.io", "v1", "raycronjobs", "RayCronJob")
