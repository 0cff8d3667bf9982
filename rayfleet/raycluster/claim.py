"""The claim for the head's embedded store: made when it is missing, never removed. Kubernetes removes it with the cluster that owns it; one
that is to be kept has no owner, and a later cluster of the same name finds its state there (KubeRay, 2.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import PERSISTENTVOLUMECLAIMS, OwnerReference
from rayfleet.api.names import claim_name
from rayfleet.api.quantity import parse
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ChildView
from rayfleet.planning.actions import Action, Create, Patch, Subject
from rayfleet.raycluster.observed import Observed
from rayfleet.resources import gcs_claim, gcs_ft

SUBJECT = Subject("claim for the GCS' storage", "claims for the GCS' storage")
SCOPE = "claim"


def is_wanted(cluster: RayCluster) -> bool:
    """Is a claim made for the cluster? Not where the user names one."""
    return gcs_ft.backend(cluster) == gcs_ft.ROCKSDB and not gcs_ft.storage(cluster).claim_name


def lacks_claim(observed: Observed, cluster: RayCluster) -> bool:
    """Is the claim still to be seen? A head is not given one of another's, or one that is on its way out."""
    found = observed.claim
    return is_wanted(cluster) and (found is None or found.terminating or not is_ours(cluster, found))


def is_ours(cluster: RayCluster, found: ChildView) -> bool:
    """Is it this cluster's, or was it kept for one of its name?"""
    owners = found.metadata.owner_references or ()
    if any(owner.controller for owner in owners):
        return any(owner.controller and owner.uid == cluster.metadata.uid for owner in owners)
    return found.metadata.label(labels.CLUSTER) == cluster.metadata.name


def plan_claim(observed: Observed, cluster: RayCluster) -> Iterator[Action]:
    if not is_wanted(cluster):
        return
    manifest, found = gcs_claim.claim(cluster), observed.claim
    if found is None or not is_ours(cluster, found):
        if not observed.held_back(SCOPE):
            yield Create(
                manifest=manifest,
                reason="the head's embedded store needs a volume",
                event="CreatedPVC",
                failed_event="FailedToCreatePVC",
                **target(cluster),
            )
    elif not found.terminating and not observed.refused(SCOPE, "FailedToUpdatePVC"):
        metadata, spec = ownership(cluster, manifest, found), growth(manifest, found)
        if metadata or spec:
            version = {"resourceVersion": found.metadata.resource_version}
            patch = {"metadata": {**version, **metadata}, **spec}
            reason = f"{told(patch)} is not as it should be"
            yield Patch(
                uid=found.metadata.uid,
                patch=patch,
                reason=reason,
                event="UpdatedPVC",
                failed_event="FailedToUpdatePVC",
                **target(cluster),
            )


def told(patch: Mapping[str, Any]) -> str:
    places = [("ownerReferences", "metadata"), ("resources", "spec")]
    return ", ".join(f"{part}.{name}" for name, part in places if name in patch.get(part, {}))


def ownership(cluster: RayCluster, manifest: Mapping[str, Any], found: ChildView) -> dict[str, Any]:
    """What of the metadata is to change, where the spec has another mind now on whether the claim outlives the cluster."""
    owners = [owner for owner in found.metadata.owner_references or () if owner.uid != cluster.metadata.uid]
    owned = len(owners) < len(found.metadata.owner_references or ())
    if owned == (not gcs_claim.is_retained(cluster)):
        return {}
    return {"ownerReferences": [*map(as_sent, owners), *manifest["metadata"].get("ownerReferences", ())] or None}


def growth(manifest: Mapping[str, Any], found: ChildView) -> dict[str, Any]:
    """What of the spec is to change. A claim can grow; everything else the API refuses, and making it anew would lose what is in it."""
    asked = manifest["spec"]["resources"]["requests"]["storage"]
    has = found.body().get("spec", {}).get("resources", {}).get("requests", {}).get("storage", asked)
    return {"spec": {"resources": {"requests": {"storage": asked}}}} if parse(asked).amount > parse(has).amount else {}


def as_sent(owner: OwnerReference) -> dict[str, Any]:
    given = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": owner.controller,
        "blockOwnerDeletion": owner.block_owner_deletion,
    }
    return {name: value for name, value in given.items() if value is not None}


def target(cluster: RayCluster) -> dict[str, Any]:
    return {
        "resource": PERSISTENTVOLUMECLAIMS,
        "namespace": cluster.metadata.namespace,
        "name": claim_name(cluster.metadata.name),
        "scope": SCOPE,
        "subject": SUBJECT,
    }
