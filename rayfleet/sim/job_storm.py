"""One RayJob under random faults: a Ray that lies in every way, people who edit and delete, an operator that dies between any two writes.

usage: python -m rayfleet.sim.job_storm [STORMS] [FIRST SEED]
Exit code 1 when an invariant broke, or when a kind of fault or of write never occurred.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from rayfleet.api.meta import JOBS, RAYCLUSTERS, RAYJOBS
from rayfleet.rayjob.states import ALLOWED, ENDED, TERMINAL, State
from rayfleet.rayjob.tries import parse_tries
from rayfleet.sim.job_life import KEY, Life
from rayfleet.sim.ray_jobs import FakeRay
from rayfleet.sim.seeds import run_seeds

MODES = ("HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode")
STEPS, CALM = 25, 900.0
RANK = {"": 0, "PENDING": 1, "RUNNING": 2, "SUCCEEDED": 3, "FAILED": 3, "STOPPED": 3}
LIES: Mapping[str, tuple[int, bytes]] = {
    "500": (500, b"Traceback ... RuntimeError"),
    "html": (200, b"<html><body>Bad gateway</body></html>"),
    "half a body": (200, b'{"status": "SUCC'),
    "401": (401, b"Unauthorized"),
    "wrong types": (200, b'{"status": 7}'),
    "unknown word": (200, b'{"status": "PONDERING", "session_name": "session_1"}'),
}
FUTURE = 9_999_999_999_000


class Broken(AssertionError):
    """An invariant does not hold."""


class Witness:
    """Sees every write. `seen` counts what occurred."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.seen: Counter[str] = Counter()
        self.before: dict[str, Any] = {}
        life.after_write = self.look

    def look(self) -> None:
        if self.life.writes:
            self.seen[" ".join(self.life.writes[-1].split(" ")[:2])] += 1
        runs = self.life.runs
        self.hold(len(runs) == len(set(runs)), f"a job ran twice: {runs}")
        self.hold(len(self.life.clusters()) <= 1, "two tries have a cluster")
        if self.life.is_there:
            self.pairs(self.life.status)

    def pairs(self, status: dict[str, Any]) -> None:
        state, word = State(status.get("jobDeploymentStatus", "")), status.get("jobStatus", "")
        self.seen[f"state {state}"] += 1
        self.hold(word in ALLOWED[state], f"{word!r} beside {state}")
        before, self.before = self.before, dict(status)
        was = State(before.get("jobDeploymentStatus", ""))
        self.hold(was not in TERMINAL or (state is was and word == before.get("jobStatus", "")), f"{was} became {state}")
        if before.get("jobId") == status.get("jobId") and state is not State.RETRYING:
            self.hold(RANK[before.get("jobStatus", "")] <= RANK[word], f"{before.get('jobStatus')} became {word}")
            ended = before.get("jobStatus") in ENDED
            self.hold(not ended or word == before["jobStatus"], f"the last word {before.get('jobStatus')} became {word}")
        known = len({each.submission_id for each in parse_tries(self.life.get(RAYJOBS, KEY).metadata)} | set(self.life.runs))
        by_hand = sum(run.startswith("by-hand") for run in self.life.runs)
        self.hold(len(self.life.runs) - by_hand <= known, "more runs than tries")

    def hold(self, holds: bool, what: str) -> None:
        if not holds:
            raise Broken(f"{what} after {self.life.writes[-5:]}")


def drawn(dice: Random) -> Life:
    """A job with some of what a spec may say."""
    mode = dice.choice(MODES)
    spec: dict[str, Any] = {"submissionMode": mode, "backoffLimit": 0 if mode == "InteractiveMode" else dice.choice((0, 0, 1, 2))}
    if dice.random() < 0.5:
        spec |= {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": dice.choice((0, 5, 60))}
    if dice.random() < 0.3:
        spec["activeDeadlineSeconds"] = dice.choice((5, 30, 100))
    if dice.random() < 0.3:
        spec["preRunningDeadlineSeconds"] = dice.choice((3, 60))
    return Life(**spec)


def storm(seed: int) -> Counter[str]:
    """Raises Broken. What occurred, counted."""
    dice = Random(seed)
    life = drawn(dice)
    life.ready_in = dice.choice((1.0, 4.0, None))
    witness = Witness(life)
    for _ in range(STEPS):
        if not life.is_there:
            break
        fault = dice.choice(tuple(FAULTS))
        if FAULTS[fault](life, dice):
            witness.seen[fault] += 1
        life.live(dice.choice((1.0, 1.0, 3.0, 20.0)))
    settle(life, witness)
    return witness.seen


def settle(life: Life, witness: Witness) -> None:
    """Everything is well again for long enough: then the job has ended, and nothing is left that should have gone."""
    life.crash_at, life.ready_in = None, 1.0
    for ray in life.rays.values():
        ray.lie, ray.takes_late = None, False
    for name in life.clusters():
        life.rays[name].alive = True
    if life.is_there:
        life.edit(suspend=False, activeDeadlineSeconds=10_000)
        life.live(30)
        submit_by_hand(life, Random(0))
    for _ in range(8):
        for ray in life.rays.values():
            ray.turn("SUCCEEDED")
        life.live(CALM / 8, step=3.0)
    if not life.is_there:
        return
    witness.hold(life.state in TERMINAL, f"{life.state} when all is well: {life.status}")
    if life.job["spec"].get("shutdownAfterJobFinishes"):
        witness.hold(not life.clusters(), "a cluster outlives its policy")
    before = len(life.writes)
    life.live(60, step=5.0)
    witness.hold(len(life.writes) == before, "there is no silence")


def present(life: Life) -> FakeRay | None:
    return life.rays.get(life.status.get("rayClusterName", ""))


def on_ray(act: Callable[[FakeRay, Random], None]) -> Callable[[Life, Random], bool]:
    def fault(life: Life, dice: Random) -> bool:
        ray = present(life)
        if ray is not None:
            act(ray, dice)
        return ray is not None

    return fault


def lies(name: str) -> Callable[[Life, Random], bool]:
    return on_ray(lambda ray, dice: setattr(ray, "lie", LIES[name]))


def truthful(ray: FakeRay, dice: Random) -> None:
    ray.lie, ray.alive, ray.takes_late = None, True, False
    ray.jobs.update(ray.hidden)
    ray.hidden.clear()


def vanish(ray: FakeRay, dice: Random) -> None:
    ray.hidden.update(ray.jobs)
    ray.jobs.clear()


def revive(ray: FakeRay, dice: Random) -> None:
    """What had ended runs again, says Ray."""
    for job in ray.jobs.values():
        job["status"] = "RUNNING"


def boast(ray: FakeRay, dice: Random) -> None:
    """A message of 10 MB, and times that are yet to come."""
    for job in ray.jobs.values():
        job.update(message="x" * 10_000_000, start_time=FUTURE, end_time=FUTURE)


def begin_anew(ray: FakeRay, dice: Random) -> None:
    ray.hidden.clear()
    ray.begin_anew()


def die_later(life: Life, dice: Random) -> bool:
    life.crash_at = dice.randrange(6)
    return True


def die(life: Life, dice: Random) -> bool:
    life.crash()
    return True


def suspension(suspend: bool) -> Callable[[Life, Random], bool]:
    def fault(life: Life, dice: Random) -> bool:
        if not life.job["spec"].get("shutdownAfterJobFinishes") or bool(life.job["spec"].get("suspend")) is suspend:
            return False
        life.edit(suspend=suspend)
        return True

    return fault


def lose_cluster(life: Life, dice: Random) -> bool:
    names = life.clusters()
    for name in names:
        life.remove(RAYCLUSTERS, name)
    return bool(names)


def kill_submitter(life: Life, dice: Random) -> bool:
    found = life.objects.get((JOBS, KEY.name))
    if found is not None:
        found["status"] = {"conditions": [{"type": "Failed", "status": "True", "message": "BackoffLimitExceeded"}]}
        life.put(JOBS, found)
    return found is not None


def lose_what_was_taken(life: Life, dice: Random) -> bool:
    """A submission is taken, its answer is lost, and so are the head and the operator, before anybody has seen the job."""
    ray = present(life)
    if life.state != State.INITIALIZING or ray is None:
        return False
    ray.takes_late = True
    for _ in range(8):
        life.live(1)
        if ray.runs or not life.is_there:
            break
    ray.begin_anew()
    life.crash()
    ray.takes_late = False
    return True


def submit_by_hand(life: Life, dice: Random) -> bool:
    """The user of InteractiveMode submits, and says which job it is."""
    ray = present(life)
    if life.state != State.WAITING or ray is None:
        return False
    name = f"by-hand-{len(life.writes)}"
    ray.submit({"submission_id": name})
    life.edit(jobId=name)
    return True


def spoil(life: Life, dice: Random) -> bool:
    life.edit(activeDeadlineSeconds=-1)
    return True


def mend(life: Life, dice: Random) -> bool:
    spoilt = life.job["spec"].get("activeDeadlineSeconds") == -1
    if spoilt:
        life.edit(activeDeadlineSeconds=10_000)
    return spoilt


def remove(life: Life, dice: Random) -> bool:
    if dice.random() < 0.8:
        return False
    life.remove(RAYJOBS, KEY.name)
    return True


FAULTS: Mapping[str, Callable[[Life, Random], bool]] = {
    **{f"lie: {name}": lies(name) for name in LIES},
    "truth": on_ray(truthful),
    "truth again": on_ray(truthful),
    "no answer": on_ray(lambda ray, dice: setattr(ray, "alive", False)),
    "taken late": on_ray(lambda ray, dice: setattr(ray, "takes_late", True)),
    "job vanishes": on_ray(vanish),
    "terminal, then running": on_ray(revive),
    "10 MB and a clock in the future": on_ray(boast),
    "head lost": on_ray(begin_anew),
    **{f"job {word}": on_ray(lambda ray, dice, word=word: ray.turn(word)) for word in ("RUNNING", "SUCCEEDED", "FAILED", "STOPPED")},  # type: ignore[misc]
    "operator dies": die,
    "operator dies at a write": die_later,
    "operator dies at another write": die_later,
    "suspended": suspension(True),
    "resumed": suspension(False),
    "cluster lost": lose_cluster,
    "submitter killed": kill_submitter,
    "taken, lost and forgotten": lose_what_was_taken,
    "submitted by hand": submit_by_hand,
    "spec spoilt": spoil,
    "spec mended": mend,
    "deleted": remove,
}
WRITES = (
    *("AddFinalizer RayJob", "Fence RayJob", "RemoveFinalizer RayJob", "Create RayCluster", "Create Job", "Create Service", "status"),
    *("Patch Service", "Delete RayCluster", "Delete Job"),
)


def main(words: list[str]) -> int:
    return run_seeds(words, storm, (*FAULTS, *(f"state {state}" for state in State if state), *WRITES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
