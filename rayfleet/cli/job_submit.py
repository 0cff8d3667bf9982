"""`rayfleet job submit`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.failure import Failure
from rayfleet.cli.options import api_options, client_of, connection_of, namespace_option, state_of

if TYPE_CHECKING:
    from rayfleet.cli.dashboard import Dashboard
    from rayfleet.cli.job_course import Course
    from rayfleet.cli.job_manifest import Draft
    from rayfleet.kube.client import Client
    from rayfleet.kube.connection import Connection
    from rayfleet.ray.package import Package

Obj = dict[str, Any]
OF_A_NEW_CLUSTER = {"image": "--image", "ray_version": "--ray-version", "workers": "--workers", "cpus": "--cpus", "memory": "--memory"}
ATTEMPTS = 10  # at handing a job over to a Ray that does not answer
SHAPE = {**OF_A_NEW_CLUSTER, "gpus": "--gpus", "keep": "--keep-cluster"}


@click.command()
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", default="", metavar="NAME", help="Of the RayJob; made up by default.")
@click.option("-f", "--file", default="", metavar="FILE", help="A RayJob to begin from, as YAML or JSON; - is standard input.")
@click.option("--cluster", default="", metavar="NAME", help="Run on this RayCluster, which is there already.")
@click.option("--image", default="", help="Of a new cluster's Pods.")
@click.option("--ray-version", default="", metavar="VERSION", help="Of a new cluster.")
@click.option("--workers", type=click.IntRange(min=0), help="Of a new cluster.  [default: 0, a head alone]")
@click.option("--cpus", default="", metavar="QUANTITY", help="Of each Pod of a new cluster.  [default: 1]")
@click.option("--memory", default="", metavar="QUANTITY", help="Of each Pod of a new cluster.  [default: 4Gi]")
@click.option("--gpus", default=0, type=click.IntRange(min=0), help="Of each worker, or of a head alone.")
@click.option("--keep-cluster", "keep", is_flag=True, help="Leave a new cluster when the job has ended.")
@click.option(
    "--working-dir", default="", metavar="DIR|URI", help="What the program finds around it; .gitignore and .rayignore are heeded."
)
@click.option("--runtime-env", default="", metavar="FILE", help="Ray's runtime environment, as YAML or JSON.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="An environment variable. May be given again.")
@click.option("--metadata", multiple=True, metavar="NAME=VALUE", help="What Ray shows beside the job. May be given again.")
@click.option("--mode", default="", type=click.Choice(["", "HTTPMode", "K8sJobMode", "SidecarMode"]), metavar="MODE", help="Who submits.")
@click.option("--entrypoint-cpus", default=0.0, type=click.FloatRange(min=0), help="CPUs that the program itself takes.")
@click.option("--entrypoint-gpus", default=0.0, type=click.FloatRange(min=0), help="GPUs that the program itself takes.")
@click.option("--deadline", type=click.IntRange(min=1), metavar="SECONDS", help="Stop a try that takes longer.")
@click.option(
    "--ttl", type=click.IntRange(min=0), metavar="SECONDS", help="A cluster of its own goes so long after the end.  [default: 10]"
)
@click.option("--retries", type=click.IntRange(min=0), metavar="N", help="Further tries after a failure.")
@click.option("--no-wait", is_flag=True, help="Return when the job is handed over.")
@click.option("-o", "--output", type=click.Choice(["json", "yaml", "name"]), help="Print the RayJob; the log goes to standard error.")
@click.option("--dry-run", is_flag=True, help="Print the RayJob as it would be made, and make nothing.")
@namespace_option
@api_options
def command(
    namespace: str | None,
    no_wait: bool,
    output: str | None,
    dry_run: bool,
    kubeconfig: str | None,
    context: str | None,
    state: str | None,
    **given: Any,
) -> None:
    """Run a program as a RayJob, follow its log, and exit as it does.

    The cluster is the job's own, made for it and removed after it, unless --cluster names one. Several words of a program are quoted for
    the shell that Ray starts; a single one is a line for that shell as it is.

    Exits with 0, with the program's own code when it failed (1 where Ray does not tell it), and with 130 when the job was stopped. Ctrl-C
    leaves the job running.

    \b
    Examples:
      rayfleet job submit --working-dir . -- python train.py --epochs 3
      rayfleet job submit --cluster one -- python -c "import ray; print(ray.cluster_resources())"
      rayfleet job submit --workers 4 --cpus 8 --memory 32Gi --runtime-env env.yaml --no-wait -- python train.py
      rayfleet job submit -f job.yaml --name nightly-again --env DAY=monday
      rayfleet job submit --dry-run -o yaml -- 'python prepare.py && python train.py'
    """
    from rayfleet.cli.job_manifest import Asked, draft
    from rayfleet.cli.job_progress import show

    asked = Asked(**given)
    check_source(given)
    made = draft(asked, namespace)
    if dry_run:
        show(made.body, output or "yaml")
        return
    connection = connection_of(kubeconfig, context, state)
    made.body["metadata"].setdefault("namespace", connection.namespace)
    submission = Submission(connection, state, made, output)
    try:
        code = asyncio.run(submission.run(wait=not no_wait))
    except KeyboardInterrupt:
        click.echo(asyncio.run(submission.left()), err=True)
        raise
    raise click.exceptions.Exit(code)


def check_source(given: dict[str, Any]) -> None:
    """A cluster is told of in one way. Raises UsageError."""
    for option in ("cluster", "file"):
        if given[option] and (shape := [flag for name, flag in SHAPE.items() if given[name] not in ("", None, 0, False)]):
            raise click.UsageError(f"{', '.join(shape)}: of a new cluster, and --{option} says which one it is")
    if given["cluster"] and given["file"]:
        raise click.UsageError("--cluster and --file exclude each other: a file says itself which cluster it is for (clusterSelector)")
    if not given["program"] and not given["file"]:
        raise click.UsageError("which program? write it after --, for example: rayfleet job submit -- python job.py")
    if given["cluster"] and given["ttl"] is not None:
        raise click.UsageError("--ttl: a cluster that --cluster names stays")


class Submission:
    """One run of the command. `handed` says whether the job goes on without it."""

    def __init__(self, connection: Connection, state: str | None, made: Draft, output: str | None) -> None:
        self.connection, self.made, self.output = connection, made, output
        self.state = state_of(state)
        self.uid = ""
        self.handed = False

    @property
    def name(self) -> str:
        return str(self.made.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.made.body["metadata"]["namespace"])

    async def run(self, *, wait: bool) -> int:
        """The exit code. Raises Failure, ApiError."""
        from rayfleet.cli.job_course import OVER, Course, deployment
        from rayfleet.cli.job_progress import progress, show

        with progress(log_to_error=bool(self.output)) as (tell, write):
            async with client_of(self.connection) as client:
                course = Course(client, self.state, self.namespace, self.name, tell, write)
                job = await self.make(client)
                if self.made.is_brought:
                    job = await self.bring(course)
                self.handed = True
                if wait:
                    job = await course.follow()
        if self.output:
            show(job, self.output)
        elif not wait:
            click.echo(f"rayjob.ray.io/{self.name} {'submitted' if self.made.is_brought else 'created'}")
        return course.code(job) if wait or deployment(job) in OVER else 0

    async def make(self, client: Client) -> Obj:
        """The RayJob, after what must be there before it."""
        from rayfleet.api.meta import RAYCLUSTERS, RAYJOBS
        from rayfleet.cli.dashboard import dashboard_of
        from rayfleet.cli.near import find

        if self.made.cluster:
            cluster = await find(client, RAYCLUSTERS, self.namespace, self.made.cluster)
            if self.made.package is not None:
                async with dashboard_of(client, self.state, cluster) as dashboard:
                    await upload(dashboard, self.made.package)
        job: Obj = await client.create(RAYJOBS, self.made.body, self.namespace)
        self.uid = job["metadata"]["uid"]
        return job

    async def bring(self, course: Course) -> Obj:
        """To a cluster of its own: wait for it, upload the package, submit, and say so on the object. Raises Failure when Ray refuses."""
        from rayfleet.api.meta import RAYJOBS
        from rayfleet.cli.job_course import OVER, deployment

        job = await course.until("Waiting")
        if deployment(job) in OVER:
            return job
        assert self.made.package is not None
        name = f"{self.name}-{self.uid[:5]}"
        try:
            async with course.dashboard(job) as dashboard:
                await upload(dashboard, self.made.package)
                await hand_over(dashboard, name, self.made)
        except Failure:
            await self.remove(course.client)
            raise
        marked: Obj = await course.client.patch(RAYJOBS, self.name, self.namespace, {"spec": {"jobId": name}})
        return marked

    async def remove(self, client: Client) -> None:
        from rayfleet.api.meta import RAYJOBS

        await client.delete(RAYJOBS, self.name, self.namespace, uid=self.uid, propagation="Background")

    async def left(self) -> str:
        """What becomes of the job now that nobody waits for it; one that only we could have submitted is removed."""
        if not self.uid:
            return f"\nInterrupted before the API server said that rayjob.ray.io/{self.name} is made."
        if self.handed:
            place = "" if self.namespace == self.connection.namespace else f" -n {self.namespace}"
            go_on, stop = f"rayfleet job logs {self.name} -f{place}", f"rayfleet job stop {self.name}{place}"
            return f"\nThe job goes on. Follow it again: {go_on}\nStop it: {stop}"
        async with client_of(self.connection) as client:
            await self.remove(client)
        return f"\nrayjob.ray.io/{self.name} was not submitted yet, and is deleted."


async def upload(dashboard: Dashboard, package: Package) -> None:
    """Unless Ray has it already. Raises Failure."""
    try:
        if (await dashboard.ask("GET", package.path))[0] == 200:
            return
        status, said = await dashboard.ask("PUT", package.path, package.content, "application/octet-stream")
    except OSError as error:
        raise Failure(f"the working directory cannot be uploaded: {error}") from error
    if status >= 300:
        raise Failure(f"the working directory cannot be uploaded: Ray answered {status}: {said[-300:].decode(errors='replace')}")


async def hand_over(dashboard: Dashboard, name: str, made: Draft) -> None:
    """Submit, once: when no answer comes, Ray is asked whether it has the job. Raises Failure."""
    import msgspec

    from rayfleet.api.rayjob import RayJob
    from rayfleet.cli.job_course import STEP
    from rayfleet.ray import jobs
    from rayfleet.rayjob.submission import act_for

    act = act_for(msgspec.json.decode(msgspec.json.encode(made.body), type=RayJob).spec, name, made.environment)
    said = ""
    for attempt in range(ATTEMPTS):
        try:
            if attempt and (await dashboard.ask("GET", jobs.job(name).path))[0] == 200:
                return
            status, content = await dashboard.ask(act.method, act.path, act.body)
            if status < 300:
                return
            said = f"Ray answered {status}: {content[-1000:].decode(errors='replace')}"
            if status < 500:
                break
        except OSError as error:
            said = str(error)
        await asyncio.sleep(STEP)
    raise Failure(f"the job cannot be submitted: {said}")
