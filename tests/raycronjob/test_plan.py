"""A RayCronJob makes one RayJob for each time that is due, and none twice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rayfleet.api.decode import decode
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycronjob import RayCronJob
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.actions import Create, Delete
from rayfleet.planning.clock import parse_rfc3339, rfc3339
from rayfleet.planning.plan import Plan
from rayfleet.raycronjob.observed import Observed
from rayfleet.raycronjob.plan import plan
from rayfleet.raycronjob.schedule import following, latest
from rayfleet.sim.job_life import cluster_spec

MADE = parse_rfc3339("2027-01-01T00:00:30Z")
MINUTE = 60.0


def cron(last: float | None = None, annotations: dict[str, str] | None = None, name: str = "nightly", **spec: Any) -> RayCronJob:
    meta = {"name": name, "namespace": "demo", "uid": "u", "resourceVersion": "7", "creationTimestamp": rfc3339(MADE)}
    template = {"entrypoint": "true", "submissionMode": "HTTPMode", "rayClusterSpec": cluster_spec()}
    given = {"schedule": "*/10 * * * *", "jobTemplate": template, **spec}
    status = {"lastScheduleTime": rfc3339(last)} if last is not None else {}
    document = {"metadata": {**meta, "annotations": annotations or {}}, "spec": given, "status": status}
    found = decode(msgspec.json.encode(document), RayCronJob)
    assert isinstance(found, RayCronJob), found
    return found


def job(name: str, state: str = "Running", ended: float = MADE) -> RayJob:
    status = {"jobDeploymentStatus": state, "endTime": rfc3339(ended)}
    document = {"metadata": {"name": name, "namespace": "demo", "uid": f"uid-{name}"}, "spec": {}, "status": status}
    return msgspec.convert(document, RayJob)


def at(seconds: float, of: RayCronJob, *jobs: RayJob) -> Plan:
    return plan(Observed(of, MADE + seconds, jobs))


def made(found: Plan) -> list[str]:
    return [action.name for action in found.actions if isinstance(action, Create)]


def gone(found: Plan) -> list[str]:
    return [action.name for action in found.actions if isinstance(action, Delete)]


def name_at(text: str) -> str:
    return f"nightly-{int(parse_rfc3339(text)) // 60}"


def test_nothing_is_due_before_its_time_and_then_one_job_is() -> None:
    early = at(60, cron())
    assert early.done and early.requeue_after == 510
    assert made(at(571, cron())) == [name_at("2027-01-01T00:10:00Z")]


def test_a_job_is_as_the_template_says_and_marked_as_kuberays() -> None:
    action = at(571, cron()).actions[-1]
    assert isinstance(action, Create)
    meta = action.manifest["metadata"]
    assert meta["labels"] == {"ray.io/cronjob-name": "nightly"}
    assert meta["annotations"] == {"ray.io/cronjob-scheduled-timestamp": "2027-01-01T00:10:00Z"}
    assert action.manifest["spec"]["entrypoint"] == "true"
    assert action.manifest["spec"]["rayClusterSpec"] == cluster_spec()


def test_who_sizes_the_clusters_is_passed_on() -> None:
    action = at(571, cron(annotations={"rayfleet.dev/autoscaling": "hosted", "other": "x"})).actions[-1]
    assert isinstance(action, Create)
    assert action.manifest["metadata"]["annotations"].keys() == {"ray.io/cronjob-scheduled-timestamp", "rayfleet.dev/autoscaling"}


def test_a_job_that_is_there_is_written_down_and_not_made_again() -> None:
    found = at(571, cron(), job(name_at("2027-01-01T00:10:00Z")))
    assert not found.actions and found.status is not None
    assert found.status.patch == {"lastScheduleTime": "2027-01-01T00:10:00Z"}
    assert at(572, cron(last=MADE + 570)).done


def test_times_that_were_missed_run_once() -> None:
    assert made(at(86_400, cron())) == [name_at("2027-01-02T00:00:00Z")]


def test_what_was_due_too_long_ago_is_left_out() -> None:
    late = {"rayfleet.dev/starting-deadline-seconds": "60"}
    assert made(at(571 + 30, cron(annotations=late))) and not made(at(571 + 90, cron(annotations=late)))


def test_a_suspended_one_makes_nothing_and_needs_no_look() -> None:
    found = at(571, cron(suspend=True))
    assert found.done and found.requeue_after is None


@pytest.mark.parametrize(
    ("policy", "begins", "removes"),
    [("", 1, 0), ("Allow", 1, 0), ("Forbid", 0, 0), ("Replace", 0, 1)],
)
def test_a_job_that_still_runs(policy: str, begins: int, removes: int) -> None:
    of = cron(annotations={"rayfleet.dev/concurrency-policy": policy} if policy else {})
    found = at(571, of, job("nightly-1"))
    assert (len(made(found)), len(gone(found))) == (begins, removes)
    assert made(at(571, of, job("nightly-1", "Complete")))


def test_history_beyond_its_limits_goes_oldest_first() -> None:
    limits = {"rayfleet.dev/successful-jobs-history-limit": "1", "rayfleet.dev/failed-jobs-history-limit": "0"}
    jobs = [job("b", "Complete", MADE + 2), job("a", "Complete", MADE + 1), job("c", "Failed"), job("d")]
    assert gone(at(1, cron(annotations=limits), *jobs)) == ["a", "c"]
    assert gone(at(1, cron(), *jobs)) == []


BAD = [
    ({"schedule": "61 * * * *"}, "spec.schedule"),
    ({"schedule": "* * * *"}, "spec.schedule"),
    ({"schedule": "* * * * * *"}, "spec.schedule"),
    ({"schedule": "TZ=UTC * * * * *"}, "spec.schedule"),
    ({"schedule": "@every never"}, "spec.schedule"),
    ({"timeZone": "Europe/Nowhere"}, "spec.timeZone"),
    ({"timeZone": "../etc/passwd"}, "spec.timeZone"),
    ({"name": "x" * 37}, "metadata.name"),
    ({"annotations": {"rayfleet.dev/concurrency-policy": "Never"}}, "metadata.annotations[rayfleet.dev/concurrency-policy]"),
    ({"annotations": {"rayfleet.dev/starting-deadline-seconds": "-1"}}, "metadata.annotations[rayfleet.dev/starting-deadline-seconds]"),
    ({"jobTemplate": {"entrypoint": "true"}}, "spec.jobTemplate.rayClusterSpec"),
]


@pytest.mark.parametrize(("given", "place"), BAD, ids=[f"{place}-{index}" for index, (_, place) in enumerate(BAD)])
def test_what_is_wrong_is_told_and_nothing_is_made(given: dict[str, Any], place: str) -> None:
    found = at(571, cron(**given))
    assert found.done and found.requeue_after is None
    (event,) = found.events
    assert event.reason == "InvalidRayCronJobSpec" and event.note.startswith(place), event


@pytest.mark.parametrize("schedule", ["@hourly", "@daily", "@midnight", "@weekly", "@yearly", "@every 1h30m", "0 0 ? * MON-FRI"])
def test_schedules_that_kuberay_reads(schedule: str) -> None:
    assert not at(1, cron(schedule=schedule)).events


def hours(schedule: str, start: str, count: int, zone: str = "Europe/Berlin") -> list[str]:
    of, now, found = cron(schedule=schedule, timeZone=zone).spec, parse_rfc3339(start), []
    for _ in range(count):
        due = following(of, MADE, now)
        assert due is not None and latest(of, now, due) == due
        found.append(datetime.fromtimestamp(due, UTC).strftime("%d %H:%M"))
        now = due
    return found


def test_summer_time_begins_and_ends_and_nothing_runs_twice_or_never() -> None:
    assert hours("30 2 * * *", "2027-03-27T12:00:00Z", 2) == ["28 01:00", "29 00:30"], "02:30 is not, so at 03:00"
    assert hours("30 2 * * *", "2027-10-30T12:00:00Z", 2) == ["31 00:30", "01 01:30"], "02:30 is twice, so once"
    assert hours("0 * * * *", "2027-10-30T23:30:00Z", 4) == ["31 00:00", "31 01:00", "31 02:00", "31 03:00"]


def test_every_counts_from_the_last_one() -> None:
    assert made(at(59, cron(schedule="@every 1m"))) == []
    assert made(at(61, cron(schedule="@every 1m"))) == [f"nightly-{int(MADE + 60) // 60}"]


def test_a_last_time_that_a_wrong_clock_wrote_does_not_stop_the_clockwork() -> None:
    """What is dated a year ahead is put right: the next time is due then, and not after a year."""
    found = at(560, cron(last=MADE + 365 * 86400.0))
    assert not found.actions and found.status is not None
    assert found.status.patch == {"lastScheduleTime": rfc3339(MADE + 560)}
    assert at(560, cron(last=MADE + 560)).requeue_after == 10
    assert made(at(571, cron(last=MADE + 560))) == [name_at("2027-01-01T00:10:00Z")]


def test_by_a_clock_that_is_behind_nothing_is_done_twice() -> None:
    """The API's own time, on a job, says which clock is wrong."""
    just_made = msgspec.structs.replace(job("nightly-1"), metadata=ObjectMeta(name="nightly-1", creation_timestamp=rfc3339(MADE + 7200)))
    found = at(3600, cron(last=MADE + 7200), just_made)
    assert found.done
