"""What is told once is not told again: decisions hold no event that a settled cluster would repeat."""

from __future__ import annotations

import msgspec
import pytest

from rayfleet.planning.events import sentences
from rayfleet.raycluster.plan import plan
from tests.raycluster.vocabulary import cluster, group, head, observed, with_status, worker


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        ("Wrong_Name", {}, "InvalidRayClusterMetadata"),
        ("Wrong_Name", {"minReplicas": 11}, "InvalidRayClusterMetadata"),
        ("demo", {"minReplicas": 11}, "InvalidRayClusterSpec"),
    ],
)
def test_a_refusal_is_told_once_under_kuberays_reason(name: str, spec: dict[str, int], reason: str) -> None:
    of = cluster(group(**spec))
    of = msgspec.structs.replace(of, metadata=msgspec.structs.replace(of.metadata, name=name))
    first = plan(observed(of))
    assert [(event.reason, event.type, event.action) for event in first.events] == [(reason, "Warning", "Validate")]
    assert plan(observed(with_status(of, first))).events == ()


def test_a_suspension_is_told_with_its_deletes_and_then_no_more() -> None:
    of = cluster(group(replicas=2), suspend=True)
    going = plan(observed(of, head(), worker(0), worker(1)))
    assert sorted(event.reason for event in sentences(going.actions)) == ["DeletedHeadPod", "DeletedWorkerPod"]
    leaving = plan(observed(of, head(terminating=True), worker(0, terminating=True), worker(1, terminating=True)))
    assert leaving.events == () and sentences(leaving.actions) == ()
    rest = plan(observed(with_status(of, plan(observed(of)))))
    assert rest.done and rest.events == ()
