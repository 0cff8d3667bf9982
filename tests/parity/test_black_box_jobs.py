"""The reports about RayJobs; see test_black_box. What recordings show is in `owners`."""

from __future__ import annotations

import asyncio

from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS
from rayfleet.ray.answer import Act, Question, Target
from tests.parity.chronicle import chronicle
from tests.parity.cluster import applied, cluster
from tests.parity.owners.alone import alone, job
from tests.parity.stage import stage, until

MINUTES = 150.0


async def test_2_an_edit_is_acknowledged_in_each_phase() -> None:
    async with alone(10.0, "") as train:
        await train.apply(job(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=600))
        await train.reach("Running", "RUNNING")
        await train.edit(ttlSecondsAfterFinished=601)
        await train.handled()
        await train.edit(suspend=True)
        await train.reach("Suspended")
        await train.edit(ttlSecondsAfterFinished=602)
        await train.handled()


async def test_15_a_name_that_cannot_work_is_refused_once_and_nothing_is_made() -> None:
    async with alone(30.0) as train:
        await train.apply(job("t" * 48))
        await train.reach("ValidationFailed")
        await train.clock.sleep(30)
        assert await train.clusters() == []
        assert sum(entry.subresource == "status" for entry in train.place.written()) == 1


async def test_26_a_submitter_that_is_killed_changes_nothing_of_what_ray_says() -> None:
    """Report B5, 68 (k#2154, k#2317)."""
    async with alone(20.0, "") as train:
        await train.apply(job(submissionMode="K8sJobMode", submitterConfig={"backoffLimit": 0}))
        await train.reach("Running", "RUNNING")
        (submitter,) = await train.place.client.list(PODS, train.place.namespace, labels="batch.kubernetes.io/job-name")
        ended = {"status": {"phase": "Failed"}}
        await train.place.client.patch(PODS, submitter["metadata"]["name"], train.place.namespace, ended, subresource="status")

        async def over() -> bool:
            (found,) = await train.place.client.list(JOBS, train.place.namespace)
            return any(each["type"] == "Failed" for each in (found.get("status") or {}).get("conditions") or ())

        await until(over)
        await train.clock.sleep(40)
        assert (await train.status())["jobStatus"] == "RUNNING"
        (ray,) = train.ray.rays.values()
        ray.turn("SUCCEEDED")
        await train.reach("Complete", "SUCCEEDED")


async def test_26_a_record_that_is_lost_with_its_head_fails_the_job_and_frees_the_cluster() -> None:
    """Report B5, 71 (k#3903, k#3860, k#4080)."""
    async with alone(20.0, "") as train:
        async with chronicle(train.place.client, RAYJOBS, train.place.namespace) as seen:
            await train.apply(job(shutdownAfterJobFinishes=True))
            await train.reach("Running", "RUNNING")
            (head,) = await train.heads()
            start = train.clock.monotonic()
            await train.place.client.delete(PODS, head["metadata"]["name"], train.place.namespace)
            assert (await train.reach("Failed", "FAILED"))["reason"] == "JobRecordLost"
            assert train.clock.monotonic() - start <= 300

            async def freed() -> bool:
                return await train.clusters() == []

            await until(freed)
        told = [each.get("status") or {} for _, each in seen]
        assert not any(each.get("jobDeploymentStatus") in ("Failed", "Complete") and each.get("jobStatus") == "RUNNING" for each in told)
        assert len(train.ray.acts) == 1


async def test_27_a_submission_whose_answer_is_lost_is_one_job() -> None:
    """Report B5, 67 (k#1000)."""
    async with alone() as train:
        answer = train.ray.answer

        async def late(target: Target, call: Question | Act) -> tuple[int, bytes]:
            """The job is taken, and the caller has given up before it hears so."""
            given = await answer(target, call)
            if isinstance(call, Act):
                raise TimeoutError
            return given

        train.ray.answer = late  # type: ignore[method-assign]
        await train.apply(job())
        await train.reach("Complete", "SUCCEEDED")
        assert [run for ray in train.ray.rays.values() for run in ray.runs] == [(await train.status())["jobId"]]


async def test_28_a_deadline_is_honoured_and_its_failure_not_tried_again() -> None:
    """Report B5, 76 (k#4178, k#1990)."""
    async with alone(20.0) as train:
        train.ray.mood = "refuses submissions"
        await train.apply(job(preRunningDeadlineSeconds=60, backoffLimit=2))
        status = await train.reach("Failed")
        assert (status["reason"], status["failed"]) == ("PreRunningDeadlineExceeded", 1)
        assert "Retrying" not in status["message"]


async def test_28_a_selected_cluster_is_never_deleted_and_cannot_be_retried_on() -> None:
    """Report B5, 82 (k#4516)."""
    async with alone(20.0, "FAILED") as train:
        shared = await applied(train.place, cluster(name="shared"))
        await shared.ready()
        selector = {"ray.io/cluster": "shared"}
        await train.apply(job(clusterSelector=selector, backoffLimit=1))
        await train.reach("ValidationFailed")
        await train.edit(backoffLimit=0)
        await train.reach("Failed", "FAILED")
        await train.clock.sleep(60)
        assert await train.clusters() == ["shared"]
        assert [entry for entry in train.place.written() if (entry.verb, entry.resource) == ("delete", "rayclusters")] == []


async def test_30_a_hundred_jobs_whose_dashboards_hang_do_not_delay_a_cluster() -> None:
    called: set[str] = set()

    async def hang(target: Target, call: Question | Act) -> tuple[int, bytes]:
        called.add(target.cluster.name)
        await asyncio.Event().wait()
        raise AssertionError

    async with stage(ray=hang) as place:
        for number in range(100):
            manifest = job(f"j{number}")
            await place.apply({**manifest, "metadata": {**manifest["metadata"], "namespace": place.namespace}})

        async def hanging() -> bool:
            return len(called) >= 64

        await until(hanging, 60.0)
        demo = await applied(place, cluster())
        await demo.head()


async def test_30_a_suspended_job_asks_nobody_anything_for_ten_minutes() -> None:
    """Report B5, 85 (k#4416)."""
    async with alone(MINUTES) as train:
        await train.apply(job(suspend=True, shutdownAfterJobFinishes=True))
        await train.reach("Suspended")
        before = len(train.place.written())
        await train.clock.sleep(600)
        assert (train.ray.gets, train.ray.acts, len(train.place.written())) == (0, [], before)
        assert await train.place.client.list(RAYCLUSTERS, train.place.namespace) == []
