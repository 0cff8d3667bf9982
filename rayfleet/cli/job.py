"""`rayfleet job`: RayJobs from the command line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli import job_submit
from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option, state_of

if TYPE_CHECKING:
    from rayfleet.cli.job_course import Course


@click.group()
def command() -> None:
    """Submit jobs, list them, read their logs, stop them.

    \b
    Example:
      rayfleet job submit --working-dir . -- python train.py
    """


command.add_command(job_submit.command, "submit")


@command.command("list")
@namespace_option
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Of all namespaces.")
@click.option("-o", "--output", type=click.Choice(["wide", "json", "yaml", "name"]), help="Instead of a table.")
@api_options
@click.pass_context
def list_jobs(this: click.Context, **given: Any) -> None:
    """List RayJobs.

    \b
    Example:
      rayfleet job list -A
    """
    from rayfleet.cli import get

    this.invoke(get.command, words=("rayjobs",), **given)


@command.command("logs")
@click.argument("name")
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come, also of later tries, and exit as the job does.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@namespace_option
@api_options
def logs(name: str, follow: bool, tail: int | None, namespace: str | None, **api: Any) -> None:
    """Print the log of a RayJob's program, of its latest try.

    Ray has it as long as the cluster is there; after that there is what the submitter of K8sJobMode printed.

    \b
    Examples:
      rayfleet job logs train
      rayfleet job logs train -f
    """
    from rayfleet.cli.job_course import Course
    from rayfleet.cli.job_progress import progress

    if follow and tail is not None:
        raise click.UsageError("--tail and -f exclude each other")
    connection = connection_of(**api)

    async def run() -> int:
        async with client_of(connection) as client:
            with progress() as (tell, write):
                course = Course(client, state_of(api["state"]), namespace or connection.namespace, name, tell, write)
                if follow:
                    return course.code(await course.follow())
                write(await log_of(course, tail))
                return 0

    raise click.exceptions.Exit(asyncio.run(run()))


async def log_of(course: Course, number: int | None) -> str:
    """Raises Failure when nobody has it."""
    from rayfleet.cli.job_course import status_of
    from rayfleet.cli.job_log import last_lines, whole
    from rayfleet.kube.errors import ApiError
    from rayfleet.ray import jobs

    job = await course.client.get(*where(course))
    job_id = str(status_of(job).get("jobId") or "")
    try:
        async with course.dashboard(job) as dashboard:
            return last_lines(await whole(dashboard, jobs.job(job_id).path), number)
    except (ApiError, OSError) as error:
        if (printed := await submitter_log(course, job)) is not None:
            return last_lines(printed, number)
        raise Failure(f"the log of {course.name} cannot be had from RayCluster {status_of(job).get('rayClusterName')}: {error}") from error


def where(course: Course) -> tuple[Any, str, str]:
    from rayfleet.api.meta import RAYJOBS

    return RAYJOBS, course.name, course.namespace


async def submitter_log(course: Course, job: dict[str, Any]) -> str | None:
    """What the submitter's last Pod printed; None where there is none."""
    from rayfleet.api.meta import PODS
    from rayfleet.resources.submitter import CONTAINER

    pods = await course.client.list(PODS, course.namespace, labels=f"batch.kubernetes.io/job-name={course.name}")
    if job["spec"].get("submissionMode") not in (None, "K8sJobMode") or not pods:
        return None
    last = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
    path = PODS.path(course.namespace, last["metadata"]["name"], "log")
    content = await course.client.request("GET", path, query={"container": CONTAINER})
    return content.decode(errors="replace")


@command.command("stop")
@click.argument("name")
@click.option("--no-wait", is_flag=True, help="Return when Ray has heard it.")
@namespace_option
@api_options
def stop(name: str, no_wait: bool, namespace: str | None, **api: Any) -> None:
    """Stop a RayJob's program. The RayJob is Complete then, with the reason JobStopped, and is not tried again.

    \b
    Example:
      rayfleet job stop train
    """
    from rayfleet.cli.job_course import Course
    from rayfleet.cli.job_progress import progress

    connection = connection_of(**api)

    async def run() -> None:
        async with client_of(connection) as client:
            with progress() as (tell, write):
                course = Course(client, state_of(api["state"]), namespace or connection.namespace, name, tell, write)
                await stop_job(course)
                if not no_wait:
                    await course.until()

    asyncio.run(run())


async def stop_job(course: Course) -> None:
    """Raises Failure when there is nothing to stop."""
    from rayfleet.cli.job_course import deployment, status_of
    from rayfleet.ray import jobs

    job = await course.client.get(*where(course))
    if deployment(job) != "Running":
        way = "" if deployment(job) in ("Complete", "Failed") else f"; to give it up: rayfleet delete rayjob {course.name}"
        raise Failure(f"rayjob.ray.io/{course.name} is {deployment(job) or 'new'}: nothing of it runs{way}")
    act = jobs.stop(str(status_of(job)["jobId"]))
    async with course.dashboard(job) as dashboard:
        status, said = await dashboard.ask(act.method, act.path)
    if status >= 300:
        raise Failure(f"Ray does not stop {course.name}: it answered {status}: {said[-300:].decode(errors='replace')}")
