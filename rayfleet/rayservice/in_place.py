"""What changes of a cluster in place: worker groups that were appended, counts, and what queues write (KubeRay, 4.2).

With Ray's autoscaler `replicas` and the names of those that go are the autoscaler's, and stay as it wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.api.raycluster import HeadGroupSpec, WorkerGroupSpec
from rayfleet.api.rayservice import RayService
from rayfleet.planning.actions import Patch
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.serve import SUBJECT
from rayfleet.resources.cluster_hash import MUTED_POD_FIELDS, is_made_for, lacks_only_groups
from rayfleet.resources.ray_service import marks

BOUNDS = ("minReplicas", "maxReplicas")


def in_place(observed: Observed, service: RayService, member: Member) -> Iterator[Patch]:
    appended = lacks_only_groups(member.cluster, service.spec.ray_cluster_config)
    if not appended and not is_made_for(member.cluster, service.spec.ray_cluster_config):
        return  # a service that keeps its cluster whatever the spec says
    spec = changed(service, member)
    scope = f"cluster/{member.name}"
    if not spec or observed.held_back(scope):
        return
    meta = member.cluster.metadata
    patch: dict[str, Any] = {"metadata": {"resourceVersion": meta.resource_version}, "spec": spec}
    if appended:
        patch["metadata"]["annotations"] = marks(service, observed.config)
    yield Patch(
        resource=RAYCLUSTERS,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        patch=patch,
        scope=scope,
        reason="worker groups were appended" if appended else "counts or tolerations have changed",
        subject=SUBJECT,
        event="UpdatedRayCluster",
        failed_event="FailedToUpdateRayCluster",
    )


def changed(service: RayService, member: Member) -> dict[str, Any]:
    """The merge patch of the cluster's spec; {} when nothing is to change. Lists are replaced as a whole."""
    have, want = member.cluster.spec, service.spec.ray_cluster_config
    patch: dict[str, Any] = {}
    before = [plain(group) for group in have.worker_group_specs]
    after = [
        *(
            merged(*pair, bool(want.enable_in_tree_autoscaling))
            for pair in zip(have.worker_group_specs, want.worker_group_specs, strict=False)
        )
    ]
    after += [plain(group) for group in want.worker_group_specs[len(before) :]]
    if after != before:
        patch["workerGroupSpecs"] = after
    old, new = pod_spec(plain(have.head_group_spec)), pod_spec(plain(want.head_group_spec))
    muted = {name: new.get(name) for name in MUTED_POD_FIELDS if (old.get(name) or None) != (new.get(name) or None)}
    if muted:
        patch["headGroupSpec"] = {"template": {"spec": muted}}
    return patch


def merged(have: WorkerGroupSpec, want: WorkerGroupSpec, autoscaled: bool) -> dict[str, Any]:
    """The group as it is, with what changes in place as it is wanted."""
    group, asked = plain(have), plain(want)
    names = BOUNDS if autoscaled else (*BOUNDS, "replicas")
    for name in names:
        group = replaced(group, name, asked.get(name))
    old, new = pod_spec(group), pod_spec(asked)
    for name in MUTED_POD_FIELDS:
        if (old.get(name) or None) != (new.get(name) or None):
            group["template"] = {**group["template"], "spec": replaced(pod_spec(group), name, new.get(name))}
    return group


def replaced(value: Mapping[str, Any], name: str, part: Any) -> dict[str, Any]:
    kept = {key: each for key, each in value.items() if key != name}
    return kept if part is None else {**kept, name: part}


def plain(group: WorkerGroupSpec | HeadGroupSpec) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(group))
    return found


def pod_spec(group: Mapping[str, Any]) -> dict[str, Any]:
    return dict((group.get("template") or {}).get("spec") or {})
