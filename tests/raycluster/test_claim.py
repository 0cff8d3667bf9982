"""The claim of the embedded store: one for each cluster, never another's, never removed; and one head at a time that writes into it."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.views import ChildView
from rayfleet.planning.actions import Create, Delete, Patch
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.plan import plan
from rayfleet.resources.gcs_claim import claim
from tests.raycluster.vocabulary import UID, child_of, cluster, created, head, observed

GATE = Configuration(feature_gates={"GCSFaultToleranceEmbeddedStorage": True})
OTHER = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "demo", "uid": "another-life", "controller": True}


def stored(**storage: Any) -> Any:
    return cluster(gcsFaultToleranceOptions={"backend": "rocksdb", "storage": storage})


def kept(owners: list[dict[str, Any]] | None = None, size: str = "1Gi", name: str = "demo", **metadata: Any) -> ChildView:
    meta = {"name": "demo-gcs-pvc", "namespace": "default", "labels": {labels.CLUSTER: name}, **metadata}
    if owners:
        meta["ownerReferences"] = owners
    return child_of({"metadata": meta, "spec": {"resources": {"requests": {"storage": size}}}})


def patches(made: Plan) -> list[Patch]:
    return [action for action in made.actions if isinstance(action, Patch)]


def test_the_head_is_made_when_the_claim_is_there_and_not_before() -> None:
    of = stored()
    assert created(plan(observed(of, config=GATE))) == ["demo-gcs-pvc"]
    made = plan(observed(of, claim=child_of(claim(of)), config=GATE))
    assert created(made) == ["demo-head"]


def test_every_head_has_the_same_name_so_that_there_are_never_two() -> None:
    of = stored()
    with_claim = {"claim": child_of(claim(of)), "config": GATE}
    assert created(plan(observed(of, gone=("demo-head",), **with_claim))) == ["demo-head"]
    assert created(plan(observed(of, head("demo-head", terminating=True), **with_claim))) == []
    assert created(plan(observed(of, head("demo-head-x2k7m"), **with_claim))) == [], "a head of another operator is a head"


@pytest.mark.parametrize(
    "found",
    [kept([OTHER]), kept(name="other"), kept(deletionTimestamp="2027-01-15T08:00:00Z")],
    ids=["of a former life", "of another cluster", "on its way out"],
)
def test_a_claim_that_is_not_ours_gets_no_head(found: ChildView) -> None:
    made = plan(observed(stored(), claim=found, config=GATE))
    assert not any(name.startswith("demo-head") for name in created(made))
    assert not patches(made)


def test_a_kept_claim_is_found_again() -> None:
    made = plan(observed(stored(deletionPolicy="Retain"), claim=kept(), config=GATE))
    assert created(made) == ["demo-head"]
    assert not patches(made)


def test_whether_the_claim_goes_with_the_cluster_can_change() -> None:
    (adopt,) = patches(plan(observed(stored(), claim=kept([{**OTHER, "controller": False}]), config=GATE)))
    assert [owner["uid"] for owner in adopt.patch["metadata"]["ownerReferences"]] == ["another-life", UID]
    mine = {**OTHER, "uid": UID}
    (free,) = patches(plan(observed(stored(deletionPolicy="Retain"), claim=kept([mine]), config=GATE)))
    assert free.patch["metadata"]["ownerReferences"] is None
    for patch in (adopt, free):
        assert "resourceVersion" in patch.patch["metadata"], "another's owner reference must not be lost"


def test_a_claim_grows_and_nothing_else() -> None:
    mine = [{**OTHER, "uid": UID}]
    (grow,) = patches(plan(observed(stored(size="3Gi", storageClassName="other"), claim=kept(mine), config=GATE)))
    assert grow.patch["spec"] == {"resources": {"requests": {"storage": "3Gi"}}}
    for size in ("1Gi", "1024Mi", "500Mi"):
        assert not patches(plan(observed(stored(size=size), claim=kept(mine), config=GATE))), size


def test_a_claim_is_never_deleted() -> None:
    for of in (cluster(), stored(claimName="mine")):
        made = plan(observed(of, head(), claim=kept([{**OTHER, "uid": UID}]), config=GATE))
        assert not any(isinstance(action, Delete | Patch) for action in made.actions)


def test_a_claim_of_the_users_is_mounted_and_none_is_made() -> None:
    made = plan(observed(stored(claimName="mine", subPath="gcs"), config=GATE))
    (action,) = [action for action in made.actions if isinstance(action, Create)]
    volumes = {volume["name"]: volume for volume in action.manifest["spec"]["volumes"]}
    assert volumes["gcs-storage"]["persistentVolumeClaim"] == {"claimName": "mine"}
    mounts = {mount["name"]: mount for mount in action.manifest["spec"]["containers"][0]["volumeMounts"]}
    assert (mounts["gcs-storage"]["mountPath"], mounts["gcs-storage"]["subPath"]) == ("/data/gcs", "gcs")
