"""What KubeRay's boards read of RayClusters: under its names, from the objects as they are."""

from __future__ import annotations

import msgspec

from rayfleet.api.decode import decode_cluster
from rayfleet.raycluster.metrics import measure
from rayfleet.runtime.metrics import Metrics
from tests.raycluster.vocabulary import UID, cluster, group

CREATED = "2027-01-15T08:00:00Z"


def provisioned(status: str, at: str = "2027-01-15T08:01:30Z") -> dict[str, object]:
    return {"conditions": [{"type": "RayClusterProvisioned", "status": status, "reason": "A", "lastTransitionTime": at}]}


def made(status: object = None, **metadata: object) -> object:
    of = cluster(group(), status=status)
    return msgspec.structs.replace(of, metadata=msgspec.structs.replace(of.metadata, creation_timestamp=CREATED, **metadata))


def text(*objects: object) -> list[str]:
    metrics = Metrics()
    metrics.measure(measure, objects)
    return [line for line in metrics.text().decode().splitlines() if line.startswith("kuberay_")]


def test_a_provisioned_cluster_is_told_with_its_duration() -> None:
    labels = f'name="demo",namespace="default",uid="{UID}"'
    assert text(made(provisioned("True"), labels={"ray.io/originated-from-crd": "RayJob"})) == [
        f'kuberay_cluster_info{{{labels},owner_kind="RayJob"}} 1.0',
        f'kuberay_cluster_condition_provisioned{{{labels},condition="true"}} 1.0',
        f"kuberay_cluster_provisioned_duration_seconds{{{labels}}} 90.0",
    ]


def test_one_that_is_not_yet_provisioned_has_no_duration() -> None:
    assert [line.split("{")[0] for line in text(made(provisioned("False")))] == [
        "kuberay_cluster_info",
        "kuberay_cluster_condition_provisioned",
    ]
    assert 'owner_kind="None"' in text(made())[0] and len(text(made())) == 1


def test_a_time_that_is_none_and_a_spec_that_cannot_be_read_spoil_nothing() -> None:
    broken = decode_cluster(b'{"metadata":{"name":"x\\"y","namespace":"n","uid":"u"},"spec":{"workerGroupSpecs":3}}')
    lines = text(made(provisioned("True", "soon")), broken)
    assert not [line for line in lines if "duration" in line]
    assert r'kuberay_cluster_info{name="x\"y",namespace="n",uid="u",owner_kind="None"} 1.0' in lines


def test_the_series_of_a_cluster_go_with_it() -> None:
    """regressions.md, 142."""
    alive = {name: made(provisioned("True"), name=name) for name in ("a", "b")}
    metrics = Metrics()
    metrics.measure(measure, alive.values())
    assert metrics.text().count(b'name="a"') == 3
    del alive["a"]
    assert metrics.text().count(b'name="a"') == 0 and metrics.text().count(b'name="b"') == 3
