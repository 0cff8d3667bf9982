"""A RayJob in a storm: the operator's real controllers of every kind, users who change their minds, a Ray that lies; then quiet.

In the end the job has come to an end, what its policy says is gone, and nobody writes any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYJOBS, RAYSERVICES, Key, Resource
from rayfleet.api.validation.ray_job import SAME_CLUSTER
from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.rayjob.deadlines import STOP_GRACE
from rayfleet.rayjob.states import TERMINAL, State
from rayfleet.sim import faults, manifests
from rayfleet.sim.chaos import named
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.job_chaos import ODDS, SHARED, JobChaos, cluster_spec
from rayfleet.sim.job_rules import JobRules
from rayfleet.sim.kubelet import EXITS, FAILS, PENDING, READY
from rayfleet.sim.leader import Planner
from rayfleet.sim.rays import Course
from rayfleet.sim.rest import come_to_rest, stay_silent
from rayfleet.sim.store import Obj, owner_uid
from rayfleet.sim.storm import FATES, RATES, Outcome, Sort, weather
from rayfleet.sim.world import NAMESPACE, World

KINDS = (RAYCLUSTERS, RAYJOBS, RAYSERVICES)
MODES = ("HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode")
NAME = "train"
STORM = 100.0
PATIENCE = 1500.0
SLACK = LONGEST_RETRY + 60.0  # what back-offs of the storm may still hold back
SILENCE = 1800.0
ENDLESS = 1e6
STRATEGIES: tuple[Obj, ...] = (
    {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}},
    {"onSuccess": {"policy": "DeleteWorkers"}, "onFailure": {"policy": "DeleteCluster"}},
    {
        "deletionRules": [
            {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 5}},
            {"policy": "DeleteCluster", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 30}},
            {"policy": "DeleteCluster", "condition": {"jobDeploymentStatus": "Failed", "ttlSeconds": 10}},
        ]
    },
    {"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {"policy": "DeleteSelf"}},
)


def random_job(dice: Random) -> Obj:
    """A job with some of what a spec may say."""
    mode = dice.choice(MODES)
    spec: Obj = {"entrypoint": "python train.py", "submissionMode": mode}
    if mode in MODES[:2] and dice.random() < 0.2:
        spec["clusterSelector"] = {labels.CLUSTER: SHARED}
    else:
        workers = [manifests.group("small", 1)] if dice.random() < 0.4 else []
        spec |= {"rayClusterSpec": {**cluster_spec(), "workerGroupSpecs": workers}}
        spec["backoffLimit"] = 0 if mode == "InteractiveMode" else dice.choice((0, 0, 1, 2))
    if dice.random() < 0.5:
        spec |= {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": dice.choice((0, 5, 60))}
    elif "rayClusterSpec" in spec and dice.random() < 0.5:
        spec["deletionStrategy"] = dice.choice(STRATEGIES)
    if dice.random() < 0.3:
        spec["activeDeadlineSeconds"] = dice.choice((15, 60, 200))
    if dice.random() < 0.3:
        spec["preRunningDeadlineSeconds"] = dice.choice((10, 60))
    made = job(spec)
    if spec.get("backoffLimit") and mode in MODES[:2] and dice.random() < 0.3:
        made["metadata"]["annotations"] = {labels.RETRY_POLICY: SAME_CLUSTER}
    return made


def job(spec: Obj) -> Obj:
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec}


def storm(
    seed: int, leaders: int = 1, *, planners: Mapping[Resource, Planner] | None = None, prepare: Callable[[World], None] | None = None
) -> Outcome:
    """Raises Violation when an invariant breaks, or when the world does not come to rest as it should."""
    world = World(seed, pace=weather(seed), kinds=KINDS, planners=planners, config=Configuration(feature_gates=manifests.GATES))
    try:
        return rage(world, leaders, prepare)
    finally:
        world.close()


def rage(world: World, leaders: int, prepare: Callable[[World], None] | None = None) -> Outcome:
    Invariants(world)
    rules = JobRules(world)
    dice = Random(world.seed * 7 + leaders)
    chaos = JobChaos(world, dice, random_job(dice))
    fates: Counter[str] = Counter({f"mode {chaos.wanted['spec']['submissionMode']}": 1})
    unsettle(world, chaos, dice, fates)
    world.elects = leaders == 1
    if prepare is not None:
        prepare(world)
    if "clusterSelector" in chaos.wanted["spec"]:
        fates["with clusterSelector"] += 1
        world.apply(manifests.cluster(SHARED))
    fates["with SameCluster"] += "annotations" in chaos.wanted["metadata"]
    world.apply(chaos.wanted)
    for _ in range(leaders):
        world.lead()
    world.clock.spawn(chaos.process())
    world.clock.spawn(chaos.hands())
    world.run(STORM)
    chaos.stop()
    world.faults.stop()
    calm(world, rules, chaos)
    bury(world, rules)
    fates.update(f"state {state}" for state in rules.states)
    return Outcome(world.faults.counts + chaos.counts + fates, world.faults.calls, world.actions, world.trace, world.writes)


def unsettle(world: World, chaos: JobChaos, dice: Random, fates: Counter[str]) -> None:
    """Pods, nodes, Ray and the API are as they are in bad weather."""

    def fate(pod: object) -> str:
        drawn = dice.choices((READY, FAILS, EXITS, PENDING), (20, 1, 1, 1))[0] if chaos.active else READY
        fates[f"pod {drawn}"] += 1
        return drawn

    def course(dice: Random) -> Course:
        runs, words = (dice.choice((1.0, 10.0, 40.0)), ("SUCCEEDED", "SUCCEEDED", "FAILED"))
        return (
            Course(dice.uniform(0.2, 4.0), runs, dice.choice(words))
            if chaos.active
            else Course(1.0, ENDLESS if deadline_of(chaos) else 60.0, "SUCCEEDED")
        )

    world.nodes.fate = fate
    world.nodes.delay = lambda dice: dice.uniform(0.05, 1.0)
    world.nodes.ending = lambda dice: dice.uniform(0.1, 8.0)
    world.rays.boot = lambda dice: dice.uniform(6.0, 10.0)
    world.rays.course = course
    world.faults.rates = dict(RATES)


def deadline_of(chaos: JobChaos) -> float:
    """Of a job that is to be ended by it; 0 for none."""
    limit = float(chaos.wanted["spec"].get("activeDeadlineSeconds") or 0)
    return limit if limit <= 200 else 0.0


def calm(world: World, rules: JobRules, chaos: JobChaos) -> None:
    """All is well again: the job comes to its end within its deadlines, its policy is carried out, and then there is silence."""
    chaos.mend()
    chaos.spec({"suspend": False})
    if limit := deadline_of(chaos):
        world.run(2 * limit + STOP_GRACE + SLACK)  # twice: a time that a wrong clock wrote is put right when it is due
        if (job := found_job(world)) and (late := [*unended(job)]):
            rules.fail("D1", f"its deadline of {limit} s has passed: {'; '.join(late)}")
    come_to_rest(world, rules, lambda: unmet(world), lambda: world.writes, PATIENCE, SILENCE)


def found_job(world: World) -> Obj | None:
    return world.store.get(RAYJOBS, Key(NAMESPACE, NAME))


def unmet(world: World) -> list[str]:
    """What is not as it should be with a job at its end, as sentences."""
    job = found_job(world)
    return [*unended(job), *left_over(world, job)] if job is not None else []


def unended(job: Obj) -> Iterator[str]:
    status = job.get("status") or {}
    if status.get("jobDeploymentStatus") not in TERMINAL:
        yield f"{status.get('jobDeploymentStatus')!r} {status.get('jobStatus', '')} {status.get('message', '')}"
    if status.get("observedGeneration") != job["metadata"]["generation"]:
        yield f"status.observedGeneration is {status.get('observedGeneration')}"


def left_over(world: World, job: Obj) -> Iterator[str]:
    """What outlives the policy of a job that has ended."""
    gone = policies(job)
    clusters = list(world.store.owned(job["metadata"]["uid"], RAYCLUSTERS))
    if "DeleteSelf" in gone:
        yield "the job itself is still there"
    if "DeleteCluster" in gone and clusters:
        yield f"RayCluster {clusters[0]['metadata']['name']} outlives its policy"
    if "DeleteWorkers" in gone:
        for cluster in clusters:
            workers = [pod for pod in world.store.owned(cluster["metadata"]["uid"], PODS) if is_worker(pod)]
            yield from (f"worker {pod['metadata']['name']} outlives its policy" for pod in workers)
    if len(clusters) > 1:
        yield f"{len(clusters)} clusters"


def is_worker(pod: Obj) -> bool:
    return bool(pod["metadata"]["labels"].get(labels.NODE_TYPE) == labels.WORKER)


def policies(job: Obj) -> set[str]:
    """What the spec wants gone in the end, read without the planner."""
    spec, status = job["spec"], job.get("status") or {}
    state, word = status.get("jobDeploymentStatus"), status.get("jobStatus", "")
    if state not in TERMINAL:
        return set()
    strategy: dict[str, Any] = spec.get("deletionStrategy") or {}
    if rules := strategy.get("deletionRules"):
        ended = {"SUCCEEDED": "SUCCEEDED"}.get(word, "FAILED" if word else "")
        return {
            rule["policy"]
            for rule in rules
            if rule["condition"].get("jobStatus", "-") == ended or rule["condition"].get("jobDeploymentStatus") == state
        }
    if strategy:
        return {strategy["onSuccess" if word == "SUCCEEDED" else "onFailure"]["policy"]}
    return {"DeleteCluster"} if spec.get("shutdownAfterJobFinishes") else set()


def bury(world: World, rules: JobRules) -> None:
    """Delete the job: nothing of it is left, and nothing of it runs on a cluster that it shared."""
    job = found_job(world)
    if job is not None:
        world.delete(RAYJOBS, NAME)
        world.run(SLACK)
        if found_job(world) is not None:
            rules.fail("S12", f"{NAME} is still there {SLACK:.0f} s after it was deleted")
        if left := world.store.children.get(job["metadata"]["uid"]):
            rules.fail("S13", f"left behind: {', '.join(key.name for _, key in left)}")
    if strays := [pod["metadata"]["name"] for pod in world.store.all(PODS) if not owner_uid(pod)]:
        rules.fail("S13", f"Pods that belong to nobody: {', '.join(strays)}")
    stay_silent(world, rules, lambda: world.writes, SILENCE, "for a job that is gone")


CALLS = (
    *("create rayclusters", "create services", "patch rayjobs", "patch status"),
    *("delete rayclusters", "get rayjobs", "submit ray"),
)
SORT = Sort(
    storm,
    frozenset(
        {
            *(*faults.KINDS, "quota refusal", "with clusterSelector", "with SameCluster"),
            *(*named(ODDS), *FATES),
            *(f"mode {mode}" for mode in MODES),
            *(f"state {state}" for state in State if state),
        }
    ),
    frozenset(faults.combinations(CALLS)),
    frozenset(
        {
            *(f"create {kind}" for kind in ("Pod", "Service", "RayCluster", "Job")),
            *(f"delete {kind}" for kind in ("RayCluster", "RayJob", "Job")),
            *(f"patch {kind}" for kind in ("RayJob", "RayCluster", "Service", "status")),
        }
    ),
)
