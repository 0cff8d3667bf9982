"""The certificates of a cluster with mutual TLS: what is wanted of cert-manager, how far it has come, and whose their Secrets are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import CERTIFICATES, ISSUERS, SECRETS, Condition, Resource
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import CertificateView, ChildView
from rayfleet.planning.actions import Patch, Subject
from rayfleet.planning.conditions import find
from rayfleet.planning.plan import Event
from rayfleet.raycluster.observed import Observed
from rayfleet.resources import tls
from rayfleet.resources.ownership import owner_reference

CONDITION = "CertificatesReady"
ASK_AGAIN = 30.0
"""Seconds: nothing tells when an API server begins to serve a kind."""


def wanted_certificates(observed: Observed, cluster: RayCluster) -> Iterator[tuple[Resource, Mapping[str, Any]]]:
    """Issuers and Certificates in the order in which one needs the other; none while nobody is there to answer them."""
    if not tls.is_on(cluster) or is_unserved(observed):
        return
    own, ca = tls.issuers(cluster)
    yield ISSUERS, own
    yield CERTIFICATES, tls.ca_certificate(cluster)
    yield ISSUERS, ca
    for node_type, pods in ((labels.HEAD, observed.heads()), (labels.WORKER, observed.workers())):
        found = certificate(observed, tls.certificate_name(cluster, node_type))
        needed = {pod.status.pod_ip for pod in pods if pod.status.pod_ip and not pod.terminating}
        addresses = tls.covering(sorted(needed), found.addresses if found else ())
        yield CERTIFICATES, tls.node_certificate(cluster, node_type, addresses, observed.config)


def is_unserved(observed: Observed) -> bool:
    return bool(observed.unseen & {ISSUERS, CERTIFICATES})


def certificate(observed: Observed, name: str) -> CertificateView | None:
    for found in observed.owned(CERTIFICATES):
        if found.name == name and isinstance(found, CertificateView):
            return found
    return None


def ready(observed: Observed, cluster: RayCluster) -> Condition | None:
    """How far cert-manager has come; None for a cluster without TLS."""
    if not tls.is_on(cluster):
        return None
    if is_unserved(observed):
        told = f"{CERTIFICATES.api_version} is not served here, or may not be listed: cert-manager must be installed"
        return Condition(CONDITION, "False", "CertManagerMissing", told)
    for name in tls.certificate_names(cluster):
        found = certificate(observed, name)
        if found is None or not found.issued:
            return Condition(CONDITION, "False", "WaitingForIssuer", f"Certificate {name} is not issued yet{issuers_words(found)}")
    return Condition(CONDITION, "True", "Issued")


def issuers_words(found: CertificateView | None) -> str:
    """What cert-manager says of a Certificate: why it failed to issue it, else why it is not ready."""
    conditions = (found.status.conditions if found else None) or ()
    issuing, usable = find(conditions, "Issuing"), find(conditions, "Ready")
    failed = issuing is not None and issuing.status == "False" and issuing.message
    told = issuing if failed else usable
    return f": {told.message}" if told and told.message else ""


def is_waiting(observed: Observed, cluster: RayCluster) -> bool:
    """Would a new Pod find no certificate?"""
    judged = ready(observed, cluster)
    return judged is not None and judged.status != "True"


def asks_again(observed: Observed, cluster: RayCluster) -> float | None:
    return ASK_AGAIN if tls.is_on(cluster) and is_unserved(observed) else None


def told(observed: Observed, cluster: RayCluster) -> tuple[Event, ...]:
    """An Event when the condition flips; that it waits at first stands in the status alone."""
    before, judged = find(cluster.status.conditions, CONDITION), ready(observed, cluster)
    if before is None or judged is None or before.status == judged.status:
        return ()
    if judged.status == "True":
        return (Event("Normal", "MTLSPKIReady", "The certificates of the CA, the head and the workers are issued"),)
    return (Event("Warning", "MTLSCertsNotReady", judged.message),)


def adopted(observed: Observed, cluster: RayCluster) -> Iterator[Patch]:
    """Makes the cluster the owner of what its certificates were issued into: cert-manager leaves Secrets behind, and the next cluster of
    that name would find them. Only of those that say which of our Certificates they belong to."""
    issued = tls.secret_names(cluster) if tls.is_on(cluster) else {}
    for secret in observed.ownerless:
        scope = f"secret/{secret.name}"
        mine = secret.metadata.annotation(tls.ISSUED_AS) == issued.get(secret.name)
        if mine and not secret.terminating and not observed.refused(scope, "FailedToUpdateSecret"):
            yield adoption(cluster, secret, scope)


def adoption(cluster: RayCluster, secret: ChildView, scope: str) -> Patch:
    references = [*secret.body().get("metadata", {}).get("ownerReferences", ()), owner_reference(cluster)]
    return Patch(
        resource=SECRETS,
        namespace=cluster.metadata.namespace,
        name=secret.name,
        uid=secret.metadata.uid,
        patch={"metadata": {"ownerReferences": references}},
        scope=scope,
        reason="it goes when its cluster goes",
        subject=Subject("Secret", "Secrets"),
        event="",
        failed_event="FailedToUpdateSecret",
    )
