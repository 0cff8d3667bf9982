"""The upgrade strategy Recreate: when the spec no longer is what the head was made from, all Pods go (KubeRay, 2.6)."""

from __future__ import annotations

from rayfleet.api import labels
from rayfleet.api.meta import PODS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Patch
from rayfleet.raycluster.head import SCOPE, SUBJECT
from rayfleet.raycluster.observed import Observed
from rayfleet.resources.recreate_hash import recreate_hash


def outdated(observed: Observed, cluster: RayCluster) -> str | None:
    """Why all Pods must go; None when they need not."""
    for pod in heads(observed, cluster):
        if pod.metadata.annotation(labels.RECREATE_HASH) != recreate_hash(cluster.spec) and is_ours(observed, pod):
            return "the spec has changed, and upgradeStrategy is Recreate"
    return None


def adopted(observed: Observed, cluster: RayCluster) -> list[Patch]:
    """A head made by another operator, or another version, is marked with our hash and not restarted: hashes of two operators differ."""
    return [marked(observed, cluster, pod) for pod in heads(observed, cluster) if not is_ours(observed, pod)]


def marked(observed: Observed, cluster: RayCluster, pod: PodView) -> Patch:
    annotations = {labels.RECREATE_HASH: recreate_hash(cluster.spec), labels.KUBERAY_VERSION: observed.config.kuberay_version}
    return Patch(
        resource=PODS,
        namespace=pod.metadata.namespace,
        name=pod.name,
        uid=pod.metadata.uid,
        patch={"metadata": {"annotations": annotations}},
        scope=SCOPE,
        reason="it was made by another operator, whose hash of the spec is not ours",
        subject=SUBJECT,
        event="",
        failed_event="FailedToUpdateHeadPod",
    )


def heads(observed: Observed, cluster: RayCluster) -> list[PodView]:
    strategy = cluster.spec.upgrade_strategy
    if strategy is None or strategy.type != "Recreate":
        return []
    return [pod for pod in observed.heads() if not pod.terminating]


def is_ours(observed: Observed, pod: PodView) -> bool:
    return pod.metadata.annotation(labels.KUBERAY_VERSION) == observed.config.kuberay_version
