"""`make demo`: two real Ray clusters on this machine, from YAML, with the commands that a person would type.

Everything lives in a temporary directory; nothing is left, and the last step counts.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from rayfleet.cli.ray_job import Outcome, run_job

EXAMPLE = os.path.relpath(Path(__file__).parents[2] / "examples" / "two-clusters.yaml")
WHERE = """
import ray, socket
ray.init(logging_level="error", log_to_driver=False)
@ray.remote({options}, scheduling_strategy="SPREAD")
def where(hold):
    import time; time.sleep(hold); return socket.gethostname()
print("ran on", *sorted(set(ray.get([where.remote(2) for _ in range({tasks})]))))
"""
JOBS = (("one", 3, "num_cpus=1"), ("two", 2, 'num_cpus=0, resources={"gauge": 1}'))


class Failed(Exception):
    """The demonstration did not go as it should; the text says where."""


class Demo:
    """Runs commands as a person would, and prints what they print."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.begun = time.monotonic()

    def title(self, text: str) -> None:
        click.secho(f"\n[{time.monotonic() - self.begun:5.1f} s] {text}", bold=True)

    def rayfleet(self, *words: str) -> None:
        """A command, shown and run. Raises Failed when it fails."""
        click.secho(f"$ rayfleet {shlex.join(words)}", fg="cyan")
        if subprocess.run(self.command(*words)).returncode:
            raise Failed(f"rayfleet {words[0]} failed")

    def ask(self, *words: str) -> Any:
        """A command's JSON, not shown."""
        return json.loads(self.told(*words, "-o", "json"))

    def told(self, *words: str) -> str:
        """What a command prints, not shown."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr)
        return done.stdout.strip()

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "rayfleet", *words, "--state", str(self.state)]

    def until(self, look: Callable[[], bool], what: str, within: float = 60.0) -> None:
        deadline = time.monotonic() + within
        while not look():
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not within {within:.0f} s")
            time.sleep(0.5)

    def clusters(self) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in self.ask("status")["clusters"]}

    def process(self, name: str) -> dict[str, Any]:
        return next(row for row in self.ask("status")["processes"] if row["process"] == name)

    def pods(self) -> dict[str, str]:
        """Name -> uid of every Pod that is not on its way out."""
        items = [item["metadata"] for item in self.ask("get", "pods", "-A")["items"]]
        return {each["name"]: each["uid"] for each in items if "deletionTimestamp" not in each}


def jobs(demo: Demo) -> None:
    """A job on each cluster, both at once; their tasks say on which Pods they ran."""
    rows = demo.clusters()

    def run(name: str, tasks: int, options: str) -> Outcome:
        command = shlex.join(["python", "-c", WHERE.format(tasks=tasks, options=options)])
        return run_job(rows[name]["dashboard"], command, token=demo.told("token", name))

    for name, tasks, options in JOBS:
        bearer = f'-H "Authorization: Bearer $(rayfleet token {name})"'
        click.secho(f"$ curl -X POST {rows[name]['dashboard']}/api/jobs/ {bearer} ...   # {tasks} tasks with {options}", fg="cyan")
    with ThreadPoolExecutor() as both:
        outcomes = both.map(lambda job: run(*job), JOBS)
    for (name, _, _), outcome in zip(JOBS, outcomes, strict=True):
        if outcome.status != "SUCCEEDED":
            raise Failed(f"the job on {name} is {outcome.status}: {outcome.message}\n{outcome.log}")
        click.echo(f"{name}: {outcome.status}, {outcome.log.strip().splitlines()[-1]}")


def scaling(demo: Demo) -> None:
    demo.rayfleet("scale", "raycluster/one", "--group", "small", "--replicas", "3")
    demo.until(lambda: demo.clusters()["one"]["workers"] == "3/3", "three workers")
    demo.rayfleet("get", "pods")


def murder(demo: Demo) -> None:
    """KILL the operator; the door starts another, which must take everything over as it is."""
    before, operator = demo.pods(), demo.process("operator")
    click.secho(f"$ kill -KILL {operator['pid']}   # the operator", fg="cyan")
    os.kill(operator["pid"], signal.SIGKILL)
    demo.until(lambda: demo.process("operator")["starts"] > operator["starts"], "another operator")
    again = demo.process("operator")
    click.echo(f"another operator has started: pid {again['pid']}")
    # That it works, and has looked at every Pod: it acts on a change.
    demo.rayfleet("scale", "raycluster/one", "--group", "small", "--replicas", "2")
    demo.until(lambda: demo.clusters()["one"]["workers"] == "2/2", "two workers")
    after = demo.pods()
    made = {name for name, uid in after.items() if before.get(name) != uid}
    gone = before.keys() - after.keys()
    if made or len(gone) != 1:
        raise Failed(f"adoption: {sorted(made)} were made, {sorted(gone)} are gone")
    kept = len(after)
    click.echo(
        f"{len(before)} Pods before; the scale-down took {gone.pop()}; the other {kept} are the same Pods (uid by uid); none was recreated"
    )


def leftovers(demo: Demo, links: set[str]) -> None:
    """What `down` itself says, and what the machine says."""
    from rayfleet.local import leftovers as left
    from rayfleet.local.find import find_holder
    from rayfleet.local.state import State

    holder = find_holder(State(demo.state))
    inside = left.members(holder) if holder else []
    demo.rayfleet("down", "--delete-data")
    found = {
        "processes": len(left.living(inside)),
        "mounts": len(left.mounts(demo.state)),
        "links": len(left.links() - links),
        "files": int(demo.state.exists()),
    }
    click.echo("left over: " + ", ".join(f"{count} {what}" for what, count in found.items()))
    if any(found.values()):
        raise Failed("something is left")


def demonstrate(demo: Demo) -> None:
    from rayfleet.local import leftovers as left

    links = left.links()
    try:
        demo.title("Start a fleet on this machine, and two Ray clusters in it")
        demo.rayfleet("up", "-f", EXAMPLE)
        demo.title("Run a real Ray job on each")
        jobs(demo)
        demo.title("How things stand")
        demo.rayfleet("status")
        demo.title("Scale one of them")
        scaling(demo)
        demo.title("Kill the operator: clusters live on, and the next operator adopts them")
        murder(demo)
        demo.rayfleet("logs", "raycluster/one", "--tail", "5")
        demo.title("Clean up, and count what is left")
        leftovers(demo, links)
    finally:
        if demo.state.exists():
            subprocess.run(demo.command("down", "--delete-data"))
    demo.title("Done")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-demo-") as directory:
        try:
            demonstrate(Demo(Path(directory) / "fleet"))
        except (Failed, OSError) as error:
            click.secho(f"The demonstration failed: {error}", fg="red", err=True)
            sys.exit(1)


if __name__ == "__main__":
    main()
