"""One RayJob from the making to its end, as a person follows it: what it waits for, its log, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from rayfleet.cli.job_log import Log, tail, whole

if TYPE_CHECKING:
    from rayfleet.cli.dashboard import Dashboard
    from rayfleet.kube.client import Client
    from rayfleet.local.state import State
    from rayfleet.ray.jobs import JobInfo

STEP = 0.5  # seconds between two looks
PATIENCE = 60.0  # seconds for an API server that does not answer
LAST_WORDS = 5.0  # seconds for the end of a log, when the RayJob is over already
LOG_FOLLOWS = ", last available logs"  # in what Ray says of a program that failed: the log itself is shown
OVER = ("Complete", "Failed")
STOPPED = 130

Obj = dict[str, Any]


class Course:
    """`tell(text)` hears what the job waits for whenever that changes; `write(text)` gets its log. `info` is what Ray said last of the
    latest try."""

    def __init__(
        self, client: Client, state: State, namespace: str, name: str, tell: Callable[[str], None], write: Callable[[str], None]
    ) -> None:
        self.client, self.state, self.namespace, self.name = client, state, namespace, name
        self.tell, self.write = tell, write
        self.told = ""
        self.info: JobInfo | None = None

    async def look(self) -> Obj:
        """The RayJob as it is. Raises NotFound, or ApiError when nobody has answered for a while."""
        from rayfleet.api.meta import RAYJOBS
        from rayfleet.kube.errors import ServerError, Unreachable

        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                job: Obj = await self.client.get(RAYJOBS, self.name, self.namespace)
                break
            except (Unreachable, ServerError):
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(STEP)
        if (text := standing(job)) != self.told:
            self.told = text
            self.tell(text)
        return job

    async def until(self, *states: str) -> Obj:
        """Wait for one of these states, or for the end."""
        while True:
            job = await self.look()
            if deployment(job) in (*states, *OVER):
                return job
            await asyncio.sleep(STEP)

    async def follow(self) -> Obj:
        """Its log, of each try, until the RayJob is over. Returns it as it is then, or as it was last seen when its policy removed it."""
        from rayfleet.kube.errors import NotFound

        shown, job = "", await self.look()
        while True:
            status = status_of(job)
            known = str(status.get("jobId") or "") if status.get("jobStatus") else ""
            if known and known != shown:
                await self.show(job, known)
                shown = known
            elif deployment(job) in OVER:
                return job
            else:
                await asyncio.sleep(STEP)
            try:
                job = await self.look()
            except NotFound:
                if self.info is None or not self.info.terminal:
                    raise
                return job

    async def show(self, job: Obj, job_id: str) -> None:
        """The log of one try, until Ray's job has ended or the RayJob goes on without it."""
        from rayfleet.kube.errors import NotFound

        self.info = None
        showing = asyncio.create_task(self.tail_on(job, job_id))
        try:
            while not showing.done():
                await asyncio.wait({showing}, timeout=STEP)
                try:
                    now = await self.look()
                except NotFound:
                    now = {}
                if deployment(now) != "Running" or status_of(now).get("jobId") != job_id:
                    await asyncio.wait({showing}, timeout=LAST_WORDS)
                    return
            await showing
        finally:
            showing.cancel()

    async def tail_on(self, job: Obj, job_id: str) -> None:
        """Follow until Ray's job has ended; a connection that breaks is made anew."""
        from aiohttp import ClientError

        from rayfleet.kube.errors import ApiError
        from rayfleet.ray import jobs

        path, log = jobs.job(job_id).path, Log(self.write)
        while True:
            try:
                async with self.dashboard(job) as dashboard:
                    await tail(dashboard, path, log)
                    self.info = await info_of(dashboard, path)
                    if self.info is not None and self.info.terminal:
                        log.begin()
                        log.add(await whole(dashboard, path))
                        return
            except (ApiError, ClientError, OSError):
                pass  # the head may be away for a moment, or for good: the RayJob will say which
            await asyncio.sleep(STEP)

    @asynccontextmanager
    async def dashboard(self, job: Obj) -> AsyncIterator[Dashboard]:
        """Of the cluster of the job's present try. Raises ApiError."""
        from rayfleet.api.meta import RAYCLUSTERS
        from rayfleet.cli.dashboard import dashboard_of

        cluster = await self.client.get(RAYCLUSTERS, str(status_of(job).get("rayClusterName") or ""), self.namespace)
        async with dashboard_of(self.client, self.state, cluster) as dashboard:
            yield dashboard

    def code(self, job: Obj) -> int:
        """The exit code for how it ended: the program's own where Ray tells it, 130 when it was stopped."""
        word = str(status_of(job).get("jobStatus") or "")
        if self.info is not None and self.info.terminal and deployment(job) not in OVER:
            word = self.info.status
        if word == "SUCCEEDED":
            return 0
        if word == "STOPPED" and deployment(job) != "Failed":
            return STOPPED
        given = self.info.driver_exit_code if self.info is not None and self.info.status == "FAILED" else None
        return 1 if not given else 128 - given if given < 0 else given


async def info_of(dashboard: Dashboard, path: str) -> JobInfo | None:
    """What Ray says of a job; None when it says nothing that is understood. Raises OSError."""
    import msgspec

    from rayfleet.ray.jobs import JobInfo

    status, content = await dashboard.ask("GET", path)
    try:
        return msgspec.json.decode(content, type=JobInfo) if status == 200 else None
    except msgspec.MsgspecError:
        return None


def status_of(job: Obj) -> Obj:
    return job.get("status") or {}


def deployment(job: Obj) -> str:
    return str(status_of(job).get("jobDeploymentStatus") or "")


def standing(job: Obj) -> str:
    """What it waits for, or how it ended, as a sentence."""
    status, state = status_of(job), deployment(job)
    why = " ".join(str(status.get("message") or "").partition(LOG_FOLLOWS)[0].split())
    title = f"rayjob.ray.io/{job['metadata']['name']}"
    if state in OVER:
        word = status.get("jobStatus") or "FAILED"
        reason = f" ({status['reason']})" if status.get("reason") else ""
        return f"{title} {word}{reason}" + (f": {why}" if why and state == "Failed" else "")
    if state == "Running":
        return f"{title} runs as {status.get('jobId')} on RayCluster {status.get('rayClusterName')}"
    where = f" on RayCluster {status['rayClusterName']}" if status.get("rayClusterName") else ""
    return f"{title} is {state or 'new'}{where}" + (f": {why}" if why else "")
