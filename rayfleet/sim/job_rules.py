"""What must be true of RayJobs after every request, besides what `judge` holds true of every kind (reference: reliability, b.3).

S7   a submission id is on the object before it is submitted, and runs at most once, in all lives of Ray together
S8   a state that is terminal stays; the word on a job never regresses within a try, and its last word stands
S10  no cluster is made for a suspended job
S12  on a cluster that stays, the finalizer goes when Ray's job has ended, or its time is over
S19  a job has one cluster at a time
P1   only allowed pairs of jobStatus and jobDeploymentStatus
P2   what a job is said to have come to is what Ray came to
P3   no more tries than backoffLimit allows
"""

from __future__ import annotations

from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.rayjob.deadlines import DELETION_GRACE
from rayfleet.rayjob.states import ALLOWED, ENDED, TERMINAL, State
from rayfleet.sim.judge import Judge
from rayfleet.sim.leader import TURN, Turn
from rayfleet.sim.rays import Life
from rayfleet.sim.store import Change, Obj, Request
from rayfleet.sim.world import World

BY_HAND = "by-hand"
RANK = {"": 0, "PENDING": 1, "RUNNING": 2, "SUCCEEDED": 3, "FAILED": 3, "STOPPED": 3}


class JobRules(Judge):
    """`ran` has the Ray life in which each submission id runs, `states` every state that was seen."""

    kind = RAYJOBS
    marks = frozenset({labels.TRIES, labels.SUBMITTED_TO})
    finalizer = labels.JOB_FINALIZER

    def __init__(self, world: World) -> None:
        self.ran: dict[str, Life] = {}
        self.states: set[str] = set()
        self.known: set[str] = set()
        self.limits: dict[str, int] = {}
        super().__init__(world)
        world.rays.submitted.append(self.submitted)

    def submitted(self, life: Life, name: str) -> None:
        if name in self.ran:
            self.fail("S7", f"job {name} runs a second time, now in {life.ray.session} of {life.cluster.name}")
        if name not in self.known and not name.startswith(BY_HAND):
            self.fail("S7", f"job {name} runs, of which no RayJob says anything")
        self.ran[name] = life

    def check_create(self, request: Request, turn: Turn) -> None:
        if request.resource == RAYCLUSTERS and turn.owner.spec.suspend:
            self.fail("S10", f"{request} for a suspended job")
        if request.resource == RAYCLUSTERS:
            left = [each["metadata"]["name"] for each in self.world.store.owned(turn.uid, RAYCLUSTERS)]
            if others := [name for name in left if name != request.name]:
                self.fail("S19", f"{request} while {', '.join(others)} is there")

    def check_owner(self, request: Request, change: Change) -> None:
        super().check_owner(request, change)
        if request.subresource == "status":
            self.check_words(request, (change.old or {}).get("status") or {}, change.new["status"])
            self.check_number(request, change.new)

    def check_words(self, request: Request, old: Obj, new: Obj) -> None:
        was, state = State(old.get("jobDeploymentStatus", "")), State(new.get("jobDeploymentStatus", ""))
        before, word = old.get("jobStatus", ""), new.get("jobStatus", "")
        self.states.add(state)
        if word not in ALLOWED[state]:
            self.fail("P1", f"{request} says {word!r} beside {state}")
        if was in TERMINAL and (state, word) != (was, before):
            self.fail("S8", f"{request} makes {state} {word} of {was} {before}")
        regressed = RANK[before] > RANK[word] or (before in ENDED and word != before)
        if regressed and old.get("jobId") == new.get("jobId") and state is not State.RETRYING:
            self.fail("S8", f"{request} makes {word} of {before}")
        if word in ("SUCCEEDED", "STOPPED") and word != before:
            self.check_truth(request, str(new.get("jobId", "")), word)

    def check_truth(self, request: Request, name: str, word: str) -> None:
        life = self.ran.get(name)
        said: Any = life and (life.ray.jobs.get(name) or life.ray.hidden.get(name))
        if not said or word not in (said["status"], said.get("came_to")):
            self.fail("P2", f"{request} says {word} of {name}, of which Ray says {said}")

    def check_number(self, request: Request, job: Obj) -> None:
        """An attempt more than any spec of the job allowed."""
        most = self.limits.get(job["metadata"]["uid"], 0)
        if job["status"].get("failed", 0) > most + 1:
            self.fail("P3", f"{request} counts {job['status']['failed']} failures, {most} retries were allowed")

    def check_release(self, request: Request, old: Obj) -> None:
        deleted, status = old["metadata"].get("deletionTimestamp"), old.get("status") or {}
        life = self.ran.get(status.get("jobId", ""))
        if not deleted or "clusterSelector" not in old["spec"] or status.get("jobDeploymentStatus", "") in TERMINAL or life is None:
            return
        waited = TURN.get().leader.clock.time() - parse_rfc3339(deleted)
        job = life.ray.jobs.get(status["jobId"], {})
        if waited < DELETION_GRACE and self.hears(life) and job.get("status") in ("PENDING", "RUNNING") and "came_to" not in job:
            self.fail("S12", f"{request} releases the job while Ray runs {status['jobId']}")

    def hears(self, life: Life) -> bool:
        """Can this Ray be told anything?"""
        pods = {pod["metadata"]["uid"]: pod for pod in self.world.store.all(PODS)}
        stays = life.pod in pods and not pods[life.pod]["metadata"].get("deletionTimestamp")
        return stays and life.ray.alive and not life.ray.lie and not life.slow

    def remember(self, request: Request, change: Change) -> None:
        if change.resource == RAYJOBS:
            uid, limit = change.new["metadata"]["uid"], change.new["spec"].get("backoffLimit", 0)
            self.limits[uid] = max(self.limits.get(uid, 0), limit)
            self.known.add((change.new.get("status") or {}).get("jobId", ""))
