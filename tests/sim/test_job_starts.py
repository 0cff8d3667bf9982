"""Jobs whose Pods do not start, and how soon the job says why; how long that is waited for; the pauses between tries; and suspension at any
moment of the start."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from rayfleet import controllers
from rayfleet.api.meta import JOBS, PODS
from rayfleet.kube.errors import Forbidden
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.plan import plan
from rayfleet.sim.job_chaos import cluster_spec
from rayfleet.sim.kubelet import PENDING, READY
from rayfleet.sim.manifests import group
from rayfleet.sim.store import Obj, Request
from tests.sim.jobs import JobWorld, job_world

MODES = ("HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode")
WAITS: Obj = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
NO_NODE: Obj = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
SOON = 10.0


def waiting(reason: str, message: str) -> list[Obj]:
    return [{"name": "one", "ready": False, "state": {"waiting": {"reason": reason, "message": message}}}]


WORDS: dict[str, Obj] = {
    "ErrImagePull: no such image": {"conditions": [WAITS], "containerStatuses": waiting("ErrImagePull", "no such image")},
    "CrashLoopBackOff: back-off 10s": {"conditions": [WAITS], "initContainerStatuses": waiting("CrashLoopBackOff", "back-off 10s")},
    "Unschedulable: 0/2 nodes are available": {"conditions": [NO_NODE]},
}


def role(pod: Obj) -> str:
    return str(pod["metadata"]["labels"].get("ray.io/node-type"))


def submit(world: JobWorld, mode: str, **spec: object) -> None:
    own = {**cluster_spec(), "workerGroupSpecs": [group("small", 1)]}
    world.submit(submissionMode=mode, rayClusterSpec=own, **({"entrypoint": ""} if mode == "InteractiveMode" else {}), **spec)


@pytest.mark.parametrize("mode,stuck", [*product(MODES, ("head", "worker")), ("K8sJobMode", "submitter")])
@pytest.mark.parametrize("words", WORDS)
def test_a_pod_that_cannot_start_is_told_within_ten_seconds(mode: str, stuck: str, words: str) -> None:
    with job_world() as world:
        world.nodes.fate = lambda pod: PENDING if role(pod) == stuck else READY
        world.lead()
        submit(world, mode, preRunningDeadlineSeconds=120)
        world.until(lambda: any(role(pod) == stuck for pod in world.store.all(PODS)))
        world.run(3.0)
        for pod in [pod for pod in world.store.all(PODS) if role(pod) == stuck]:
            world.nodes.status(pod, WORDS[words])
        world.run(SOON)
        if (mode, stuck) == ("SidecarMode", "worker"):
            assert world.state == "Running", "its head submits without them"
            return
        assert world.state == "Initializing" and world.status["message"].endswith(words), world.status
        world.run(120.0)
        assert (world.state, world.status["reason"]) == ("Failed", "PreRunningDeadlineExceeded"), "in every mode"
        assert words in world.status["message"]


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_what_becomes_of_a_job_concerns_its_cluster_only_where_that_submits_by_itself(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def counted(observed: Observed) -> Plan:
        looks.append(observed.now)
        return plan(observed)

    monkeypatch.setattr(controllers, "plan", counted)
    with job_world() as world:
        world.lead()
        world.submit(submissionMode=mode)
        world.until(lambda: world.state == "Running")
        world.run(5.0)
        before = len(looks)
        world.change(activeDeadlineSeconds=3600)
        world.run(2.0)
        assert (len(looks) > before) == (mode == "SidecarMode")


@pytest.mark.parametrize("mode", MODES)
def test_a_quota_is_told_within_ten_seconds_and_asked_ever_less_often(mode: str) -> None:
    asked: list[float] = []

    def full(request: Request) -> None:
        if request.resource == PODS and request.verb == "create":
            asked.append(world.clock.elapsed)
            raise Forbidden(403, "Forbidden", "exceeded quota: pods")

    with job_world() as world:
        world.store.admission.append(full)
        world.lead()
        submit(world, mode)
        world.run(SOON)
        assert world.state == "Initializing" and "exceeded quota" in world.status["message"], world.status
        world.run(300.0)
        pauses = [later - earlier for earlier, later in pairwise(asked)]
        assert len(asked) <= 14 and max(pauses) > 60.0, pauses


def test_tries_follow_each_other_after_ever_longer_pauses() -> None:
    with job_world() as world:
        world.ends("FAILED")
        world.lead()
        world.submit(backoffLimit=3)
        ended: list[float] = []
        begun: list[float] = []
        for number in (1, 2, 3):
            world.until(lambda: world.status.get("failed") == number)  # noqa: B023
            ended.append(parse_rfc3339(world.status["endTime"]))
            world.until(lambda: world.state == "Initializing")
            begun.append(parse_rfc3339(world.status["startTime"]))
        pauses = [start - end for start, end in zip(begun, ended, strict=True)]
        assert pauses[0] >= 5.0 and pauses[1] >= 10.0 and pauses[2] >= 20.0, pauses
        world.until(lambda: world.state == "Failed")
        assert world.status["failed"] == 4 and len(world.runs) == 4


@pytest.mark.parametrize("mode", MODES[:3])
def test_suspended_at_any_moment_of_its_start_it_runs_no_more_and_once_again_when_it_is_resumed(mode: str) -> None:
    """A submitter that is told to end may still submit its try to a head that is told to end as well, and to no other."""
    for moment in range(16):
        with job_world() as world:
            world.lead()
            world.submit(submissionMode=mode, shutdownAfterJobFinishes=True)
            world.run(float(moment))
            first = world.status.get("jobId", "")
            world.change(suspend=True)
            world.until(lambda: world.state == "Suspended")
            before = list(world.runs)
            world.run(60.0)
            assert (world.clusters, world.state) == ([], "Suspended"), moment
            assert world.runs in ((before,) if mode == "HTTPMode" else (before, [first])), moment
            over = len(world.runs)
            world.change(suspend=False)
            world.until(lambda: world.state == "Complete")
            assert len(set(world.runs)) == len(world.runs) == over + 1, moment


@pytest.mark.parametrize("ends", ["suspended", "tried again"])
def test_a_submitter_goes_with_its_pod(ends: str) -> None:
    """Kubernetes leaves the Pods of a Job alone unless it is told otherwise: one that submits would go on with it."""
    with job_world() as world:
        world.lead()
        world.ends("FAILED", "SUCCEEDED")
        world.submit(submissionMode="K8sJobMode", backoffLimit=1)
        world.until(lambda: bool(submitting(world)))
        (first,) = submitting(world)
        if ends == "suspended":
            world.change(suspend=True)
        world.until(lambda: world.state == ("Suspended" if ends == "suspended" else "Complete"))
        world.run(60.0)
        assert first not in {pod["metadata"]["uid"] for pod in world.store.all(PODS)}


def submitting(world: JobWorld) -> list[str]:
    """The UIDs of the Pods of all submitters."""
    return [pod["metadata"]["uid"] for job in world.store.all(JOBS) for pod in world.store.owned(job["metadata"]["uid"], PODS)]
