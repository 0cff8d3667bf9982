"""The operator as it is, on the embedded API, beside a Ray that only pretends: what reaches the API server and Ray, counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.meta import EVENTS, JOBS, PODS, RAYCLUSTERS, RAYJOBS, SERVICES
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.sim.job_life import head_template
from rayfleet.sim.ray_jobs import FakeRay
from tests.parity.stage import Stage, operator, stage, until

Json = dict[str, Any]


class Heads:
    """An `Ask`: a fake Ray behind every head."""

    def __init__(self) -> None:
        self.rays: dict[str, FakeRay] = {}

    async def __call__(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        ray = self.rays.setdefault(target.cluster.name, FakeRay())
        ray.calls.append(call.path if isinstance(call, Question) else f"{call.method} {call.path}")
        if not ray.alive:
            raise OSError("nobody is there")
        return ray.get(call.path) if isinstance(call, Question) else ray.post(call)

    @property
    def runs(self) -> list[str]:
        return [run for ray in self.rays.values() for run in ray.runs]


class Play:
    """A job on a stage."""

    def __init__(self, place: Stage, heads: Heads) -> None:
        self.place = place
        self.heads = heads

    async def apply(self, **spec: Any) -> None:
        cluster = {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": {}, "template": head_template()}}
        given = {"entrypoint": "python train.py", "submissionMode": "HTTPMode", "rayClusterSpec": cluster, **spec}
        meta = {"name": "train", "namespace": self.place.namespace}
        await self.place.client.create(RAYJOBS, {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": given})

    async def edit(self, **spec: Any) -> None:
        await self.place.client.patch(RAYJOBS, "train", self.place.namespace, {"spec": spec})

    async def status(self) -> Json:
        found: Json = await self.place.client.get(RAYJOBS, "train", self.place.namespace)
        return dict(found.get("status") or {})

    async def reach(self, state: str, word: str = "", seconds: float = 30.0) -> Json:
        async def reached() -> bool:
            said = await self.status()
            return said.get("jobDeploymentStatus") == state and said.get("jobStatus", "") == word

        await until(reached, seconds, what=f"{state} {word}")
        return await self.status()

    async def run(self) -> FakeRay:
        await self.reach("Running", "PENDING")
        ray = self.heads.rays[(await self.status())["rayClusterName"]]
        ray.turn("RUNNING")
        await self.reach("Running", "RUNNING")
        return ray

    def writes(self, mark: int = 0) -> Counter[str]:
        entries = self.place.written()[mark:]
        return Counter(f"{each.verb} {each.resource}{'/' if each.subresource else ''}{each.subresource}" for each in entries)

    async def events(self) -> list[str]:
        found = await self.place.client.list(EVENTS, self.place.namespace)
        return [each["reason"] for each in found if each["regarding"]["kind"] == "RayJob"]

    async def left(self) -> list[str]:
        kinds = (RAYJOBS, RAYCLUSTERS, SERVICES, JOBS, PODS)
        return [each["metadata"]["name"] for kind in kinds for each in await self.place.client.list(kind, self.place.namespace)]


@asynccontextmanager
async def playing() -> AsyncIterator[Play]:
    heads = Heads()
    async with stage(ray=heads) as place:
        yield Play(place, heads)


async def test_three_status_writes_to_running_one_to_the_end_and_none_while_it_runs() -> None:
    async with playing() as play:
        await play.apply()
        ray = await play.run()
        writes = play.writes()
        assert writes["patch rayjobs/status"] <= 3, writes
        assert (writes["create rayclusters"], writes["patch rayjobs"]) == (1, 2), "a finalizer, and where it is submitted"
        calls = len(ray.calls)
        await play.place.quiet(8.0)
        mark = len(play.place.written())
        assert len(ray.calls) - calls <= 6, "ever less often"
        ray.turn("SUCCEEDED")
        said = await play.reach("Complete", "SUCCEEDED")
        assert (said["succeeded"], said["observedGeneration"]) == (1, 1)
        assert play.writes(mark) == Counter({"patch rayjobs/status": 1})
        assert len(await play.events()) <= 2
        calls = len(ray.calls)
        await asyncio.sleep(3.0)
        assert len(ray.calls) == calls, "a job that has ended is not polled"


async def test_another_operator_process_submits_nothing_again_and_loses_no_result() -> None:
    async with playing() as play:
        await play.apply()
        ray = await play.run()
        play.place.manager.stop()
        ray.turn("SUCCEEDED")
        async with operator(play.place.connection, Configuration(), ray=play.heads):
            await play.reach("Complete", "SUCCEEDED")
        assert len(play.heads.runs) == 1


async def test_suspended_and_resumed_it_runs_on_another_cluster() -> None:
    async with playing() as play:
        await play.apply(shutdownAfterJobFinishes=True)
        await play.run()
        await play.edit(suspend=True)
        await play.reach("Suspended")
        assert await play.left() == ["train", "train-head-svc"]
        await play.edit(suspend=False)
        await play.run()
        assert len(set(play.heads.runs)) == 2


async def test_a_submitter_that_ends_without_a_job_in_ray_has_failed() -> None:
    """The pretended kubelet ends every Job's Pod at once, and nobody submits."""
    async with playing() as play:
        await play.apply(submissionMode="K8sJobMode")

        async def made() -> bool:
            return "train" in [each["metadata"]["name"] for each in await play.place.client.list(JOBS, play.place.namespace)]

        await until(made, 30.0)
        assert (await play.reach("Failed"))["reason"] == "SubmissionFailed"


async def test_deleted_nothing_is_left_and_rays_job_is_stopped() -> None:
    async with playing() as play:
        await play.apply()
        ray = await play.run()
        await play.place.client.delete(RAYJOBS, "train", play.place.namespace)

        async def gone() -> bool:
            return not await play.left()

        await until(gone, 30.0)
        assert [job["status"] for job in ray.jobs.values()] == ["STOPPED"]
