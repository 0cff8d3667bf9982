"""What befalls a RayJob in a storm: users who change their minds, a Ray that lies, and accidents. Each act says whether it did anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any, cast

from rayfleet.api.meta import JOBS, PODS, RAYCLUSTERS, RAYJOBS, Key
from rayfleet.rayjob.states import State
from rayfleet.sim import accidents
from rayfleet.sim.chaos import Act, Chaos
from rayfleet.sim.job_rules import BY_HAND
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.manifests import FAULTY_GROUPS, cluster
from rayfleet.sim.rays import Life
from rayfleet.sim.store import Obj
from rayfleet.sim.world import NAMESPACE, World

LIES: Mapping[str, tuple[int, bytes]] = {
    "500": (500, b"Traceback ... RuntimeError"),
    "html": (200, b"<html><body>Bad gateway</body></html>"),
    "half-a-body": (200, b'{"status": "SUCC'),
    "401": (401, b"Unauthorized"),
    "404": (404, b"404: Not Found"),
    "wrong-types": (200, b'{"status": 7}'),
    "unknown-word": (200, b'{"status": "PONDERING", "session_name": "session_1"}'),
}
FUTURE = 9_999_999_999_000
SHARED = "shared"


class JobChaos(Chaos):
    """Acts on one RayJob and on the cluster of its present try."""

    resource = RAYJOBS
    scarce = (PODS, RAYCLUSTERS, JOBS)

    def __init__(self, world: World, dice: Random, wanted: Obj) -> None:
        super().__init__(world, dice, wanted, ODDS)
        self.by_hand = 0

    @property
    def name(self) -> str:
        return str(((self.found or {}).get("status") or {}).get("rayClusterName", ""))

    @property
    def state(self) -> str:
        return str(((self.found or {}).get("status") or {}).get("jobDeploymentStatus", ""))

    @property
    def life(self) -> Life | None:
        return self.world.rays.at(Key(NAMESPACE, self.name))

    def hands(self) -> Iterator[float]:
        """The user of InteractiveMode, for as long as the world goes on."""
        while True:
            yield 3.0
            if self.state == State.WAITING and (life := self.life) and self.world.clock.now > life.up and not life.ray.lie:
                self.by_hand += 1
                name = f"{BY_HAND}-{self.by_hand}"
                self.world.rays.submit(life, name)
                self.spec({"jobId": name})

    def stop(self) -> None:
        for life in self.world.rays.lives.values():
            tell_truth(life)
        super().stop()


def tell_truth(life: Life) -> None:
    ray = life.ray
    ray.lie, ray.takes_late, life.slow = None, False, 0.0
    ray.jobs.update(ray.hidden)
    ray.hidden.clear()
    for job in ray.jobs.values():
        job["status"] = job.get("came_to", job["status"])


def on_ray(name: str, act: Callable[[Life, JobChaos], None]) -> Act:
    def fault(chaos: JobChaos) -> bool:
        life = chaos.life
        if life is not None:
            act(life, chaos)
        return life is not None

    fault.__name__ = name
    return cast(Act, fault)


def lie(name: str) -> Act:
    return on_ray(f"lie-{name}", lambda life, chaos: setattr(life.ray, "lie", LIES[name]))


def vanish(life: Life, chaos: JobChaos) -> None:
    life.ray.hidden.update(life.ray.jobs)
    life.ray.jobs.clear()


def revive(life: Life, chaos: JobChaos) -> None:
    """What had ended runs again, says Ray."""
    for job in life.ray.jobs.values():
        if job["status"] not in ("PENDING", "RUNNING"):
            job.update(came_to=job.get("came_to", job["status"]), status="RUNNING")


def boast(life: Life, chaos: JobChaos) -> None:
    """A message of 10 MB, and times that are yet to come."""
    for job in life.ray.jobs.values():
        job.update(message="x" * 10_000_000, start_time=FUTURE, end_time=FUTURE)


def slow_down(life: Life, chaos: JobChaos) -> None:
    life.slow = chaos.dice.choice((0.5, 3.0, 60.0))


def edit(name: str, **choices: tuple[Any, ...]) -> Act:
    def act(chaos: JobChaos) -> bool:
        return chaos.spec({field: chaos.dice.choice(values) for field, values in choices.items()})

    act.__name__ = name
    return cast(Act, act)


def suspend_job(chaos: JobChaos) -> bool:
    spec = chaos.wanted["spec"]
    return bool(spec.get("shutdownAfterJobFinishes")) and not spec.get("suspend") and chaos.spec({"suspend": True})


def resume_job(chaos: JobChaos) -> bool:
    return bool(chaos.wanted["spec"].get("suspend")) and chaos.spec({"suspend": False})


def change_mode(chaos: JobChaos) -> bool:
    """Another way to submit, while the job may be anywhere."""
    spec = chaos.wanted["spec"]
    stays = "clusterSelector" in spec or "annotations" in chaos.wanted["metadata"]
    modes = ("HTTPMode", "K8sJobMode") if stays else ("HTTPMode", "K8sJobMode", "SidecarMode")
    return spec["submissionMode"] != "InteractiveMode" and chaos.spec({"submissionMode": chaos.dice.choice(modes)})


def change_cluster(chaos: JobChaos) -> bool:
    """Another cluster's spec: for the tries that are to come."""
    if "clusterSelector" in chaos.wanted["spec"]:
        return False
    return chaos.spec({"rayClusterSpec": {**cluster_spec(), "rayVersion": chaos.dice.choice(("2.59.0", "2.60.0"))}})


def spoil_job(chaos: JobChaos) -> bool:
    if chaos.broken or chaos.found is None:
        return False
    bad: Obj = chaos.dice.choice(({"entrypointNumCpus": -1}, {"submissionMode": "SomeMode"}, {"runtimeEnvYAML": "{"}))
    if "rayClusterSpec" in chaos.wanted["spec"] and chaos.dice.random() < 0.5:
        bad = {"rayClusterSpec": {**cluster_spec(), "workerGroupSpecs": FAULTY_GROUPS[0]}}
    chaos.broken = True
    chaos.world.edit(chaos.title, bad, RAYJOBS)
    return True


def delete_job(chaos: JobChaos) -> bool:
    """And applied again by somebody who wants the same once more, now or later (see `Chaos.mend`)."""
    if chaos.found is None or chaos.dice.random() < 0.5:
        return False
    chaos.world.delete(RAYJOBS, chaos.title)
    if "jobId" in chaos.wanted["spec"]:
        chaos.wanted = {**chaos.wanted, "spec": {name: value for name, value in chaos.wanted["spec"].items() if name != "jobId"}}
    return True


def delete_cluster(chaos: JobChaos) -> bool:
    if not chaos.name or chaos.name == SHARED:
        return False
    chaos.world.delete(RAYCLUSTERS, chaos.name)
    return True


def kill_head(chaos: JobChaos) -> bool:
    life = chaos.life
    pod = next((pod for pod in chaos.world.pods(chaos.name) if life and pod["metadata"]["uid"] == life.pod), None)
    if pod is not None:
        chaos.world.user("delete", PODS, key_of(pod), grace=0)
    return pod is not None


def submitter_pods(chaos: JobChaos) -> list[Obj]:
    jobs = [job["metadata"]["uid"] for job in chaos.world.store.all(JOBS)]
    return [pod for uid in jobs for pod in chaos.world.store.owned(uid, PODS)]


def kill_submitter(chaos: JobChaos) -> bool:
    pods = submitter_pods(chaos)
    if pods:
        chaos.world.nodes.fail(chaos.dice.choice(pods), "Evicted")
    return bool(pods)


def delete_submitter(chaos: JobChaos) -> bool:
    jobs = chaos.world.store.all(JOBS)
    if jobs:
        chaos.world.user("delete", JOBS, key_of(chaos.dice.choice(jobs)), propagation="Background")
    return bool(jobs)


def delete_job_service(chaos: JobChaos) -> bool:
    chaos.world.user("delete", accidents.SERVICES, Key(NAMESPACE, f"{chaos.title}-head-svc"))
    return True


def end_job(word: str) -> Act:
    def act(life: Life, chaos: JobChaos) -> None:
        life.ray.turn(word)

    return on_ray(f"job-{word.lower()}", act)


def toggle_quota(chaos: JobChaos) -> bool:
    chaos.quota = not chaos.quota
    return chaos.quota


def lose_answer(chaos: JobChaos) -> bool:
    """Ray takes what is submitted, and nobody hears of it."""
    life = chaos.life
    if life is not None:
        life.ray.takes_late = True
        chaos.world.clock.call_later(chaos.dice.uniform(3.0, 20.0), lambda: setattr(life.ray, "takes_late", False))
    return life is not None


def cluster_spec() -> Obj:
    found: Obj = cluster("any")["spec"]
    return found


ODDS: dict[Act, int] = {
    **{lie(name): 1 for name in LIES},
    on_ray("tell-truth", lambda life, chaos: tell_truth(life)): 6,
    on_ray("job-vanishes", vanish): 1,
    on_ray("terminal-then-running", revive): 2,
    on_ray("boast", boast): 1,
    on_ray("slow-down", slow_down): 2,
    **{end_job(word): 1 for word in ("RUNNING", "SUCCEEDED", "FAILED", "STOPPED")},
    edit("edit-deadline", activeDeadlineSeconds=(None, 20, 60, 10_000)): 1,
    edit("edit-pre-running-deadline", preRunningDeadlineSeconds=(None, 30, 300)): 1,
    edit("edit-entry", entrypoint=("python a.py", "python b.py")): 1,
    **{
        cast(Act, act): odds
        for act, odds in {
            suspend_job: 1,
            resume_job: 3,
            change_mode: 1,
            change_cluster: 1,
            spoil_job: 1,
            JobChaos.mend: 3,
            delete_job: 1,
            delete_cluster: 1,
            kill_head: 1,
            kill_submitter: 1,
            delete_submitter: 1,
            delete_job_service: 1,
            lose_answer: 2,
            toggle_quota: 2,
        }.items()
    },
    accidents.evict_pod: 1,
    accidents.exit_container: 1,
    accidents.lose_node: 1,
    accidents.restart_leader: 2,
    accidents.cut_watch: 2,
    accidents.delay_watch: 3,
    accidents.repeat_events: 1,
    accidents.step_clock_forwards: 1,
    accidents.step_clock_back: 1,
}
"""Each act and how often it is drawn."""
