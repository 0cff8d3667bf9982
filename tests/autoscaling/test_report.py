"""What Ray is told of a decision."""

from __future__ import annotations

from rayfleet.autoscaling.report import report
from rayfleet.ray.gcs_messages import parsed
from tests.autoscaling.vocabulary import decided, group, tasks, worker


def infeasible(count: int, cpu: float) -> list[float]:
    """The CPUs of what Ray is told is infeasible, of so many tasks beside a full group of one worker."""
    decision = decided(tasks(count, cpu=cpu), group(replicas=1, max_replicas=1), worker("a"))
    told = parsed("ReportAutoscalingStateRequest", report(decision, (worker("a"),), {"small": 1})).autoscaling_state
    return [each.resources_bundle["CPU"] for each in told.infeasible_resource_requests]


def test_ray_is_told_what_no_group_could_hold() -> None:
    assert infeasible(1, cpu=9) == [9.0]


def test_ray_is_not_told_to_give_up_what_only_waits_for_others_to_end() -> None:
    assert infeasible(3, cpu=4) == []
