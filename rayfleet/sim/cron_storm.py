"""A RayCronJob in a storm: ticks every quarter of a minute, jobs that end as they like, users who edit and suspend, operators that die.

C1   a tick makes one job at most, whatever has become of it
C2   Forbid: no job is made while another one runs
In the end the next ticks are made in time, histories keep to their limits, and what belongs to a cron job that was deleted is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any, cast

from rayfleet.api.config import Configuration
from rayfleet.api.labels import CONCURRENCY, FAILED_HISTORY, STARTING_DEADLINE, SUCCESSFUL_HISTORY
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, Key, Resource
from rayfleet.api.validation.ray_cron_job import FORBID, POLICIES
from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.planning.clock import rfc3339
from rayfleet.sim import accidents, faults
from rayfleet.sim.chaos import Act, Chaos, named
from rayfleet.sim.invariants import Invariants
from rayfleet.sim.job_chaos import cluster_spec
from rayfleet.sim.job_rules import JobRules
from rayfleet.sim.judge import Judge
from rayfleet.sim.leader import Planner, Turn
from rayfleet.sim.rays import Course
from rayfleet.sim.store import Change, Obj, Request
from rayfleet.sim.storm import RATES, Outcome, Sort, weather
from rayfleet.sim.world import NAMESPACE, OPERATOR, World

KINDS = (RAYCLUSTERS, RAYJOBS, RAYCRONJOBS)
NAME = "nightly"
PERIOD = 60.0
STORM = 360.0
WRITTEN = 15.0  # seconds after which a job is written down as that of its tick
ENDED = ("Complete", "Failed")


class CronRules(Judge):
    """`made`: the RayJob of each tick, by the cron job's UID and the tick."""

    kind = RAYCRONJOBS

    def __init__(self, world: World) -> None:
        self.made: Counter[tuple[str, str]] = Counter()
        super().__init__(world)

    def check_create(self, request: Request, turn: Turn) -> None:
        if request.resource != RAYJOBS or turn.owner.metadata.annotation(CONCURRENCY) != FORBID:
            return
        seen = {job.metadata.name for job in turn.observed.jobs}
        running = [job["metadata"]["name"] for job in self.world.store.owned(turn.uid, RAYJOBS) if not ended(job)]
        if busy := [name for name in running if name in seen and name != request.name]:
            self.fail("C2", f"{request} while {', '.join(busy)} runs")

    def remember(self, request: Request, change: Change) -> None:
        if change.resource != RAYJOBS or change.type != "ADDED" or not request.actor.startswith(OPERATOR):
            return
        meta = change.new["metadata"]
        tick = (meta["ownerReferences"][0]["uid"], meta["annotations"]["ray.io/cronjob-scheduled-timestamp"])
        self.made[tick] += 1
        cron = self.world.store.get(RAYCRONJOBS, Key(NAMESPACE, NAME)) or {}
        jobs = [job["metadata"] for job in self.world.store.owned(tick[0], RAYJOBS)]
        twins = [job["name"] for job in jobs if job["annotations"]["ray.io/cronjob-scheduled-timestamp"] == tick[1]]
        if len(twins) > 1 or (self.made[tick] > 1 and (cron.get("status") or {}).get("lastScheduleTime", "") >= tick[1]):
            self.fail("C1", f"{request} is the second job of {tick[1]}")


def ended(job: Obj) -> bool:
    return (job.get("status") or {}).get("jobDeploymentStatus") in ENDED


class CronChaos(Chaos):
    """Acts on one RayCronJob."""

    resource = RAYCRONJOBS
    scarce = (PODS, RAYJOBS)

    @property
    def name(self) -> str:
        found = [str(each["metadata"]["name"]) for each in self.world.store.all(RAYCLUSTERS)]
        return self.dice.choice(found) if found else ""


def edit(name: str, **choices: tuple[Any, ...]) -> Act:
    def act(chaos: Chaos) -> bool:
        return chaos.spec({field: chaos.dice.choice(values) for field, values in choices.items()})

    act.__name__ = name
    return act


def delete_a_job(chaos: Chaos) -> bool:
    """Somebody deletes the job of the last tick: it is not made again. (One that is deleted before it was written down may be.)"""
    latest = rfc3339(chaos.world.clock.now - WRITTEN)
    old = [job for job in chaos.world.store.all(RAYJOBS) if job["metadata"]["creationTimestamp"] <= latest]
    jobs = sorted(old, key=lambda job: str(job["metadata"]["name"]))
    if jobs:
        chaos.world.delete(RAYJOBS, jobs[-1]["metadata"]["name"])
    return bool(jobs)


def toggle_quota(chaos: Chaos) -> bool:
    chaos.quota = not chaos.quota
    return chaos.quota


ODDS: dict[Act, int] = {
    edit("suspend-cron", suspend=(True,)): 1,
    edit("resume-cron", suspend=(False,)): 3,
    edit("edit-schedule", schedule=("* * * * *", "@every 30s", "*/2 * * * *")): 1,
    edit("spoil-schedule", schedule=("61 * * * *",)): 1,
    edit("mend-schedule", schedule=("* * * * *",)): 3,
    delete_a_job: 2,
    toggle_quota: 2,
    **cast(
        dict[Act, int],
        {
            accidents.restart_leader: 3,
            accidents.cut_watch: 2,
            accidents.delay_watch: 3,
            accidents.repeat_events: 1,
            accidents.evict_pod: 1,
            accidents.step_clock_forwards: 1,
            accidents.step_clock_back: 1,
        },
    ),
}


def random_cron(dice: Random) -> Obj:
    notes = {CONCURRENCY: dice.choice(POLICIES)}
    if dice.random() < 0.5:
        notes |= {SUCCESSFUL_HISTORY: dice.choice(("0", "2")), FAILED_HISTORY: "1"}
    if dice.random() < 0.3:
        notes[STARTING_DEADLINE] = "20"
    template = {"entrypoint": "true", "submissionMode": "HTTPMode", "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster_spec()}
    meta = {"name": NAME, "namespace": NAMESPACE, "annotations": notes}
    spec = {"schedule": "* * * * *", "jobTemplate": template}
    return {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": meta, "spec": spec}


def storm(seed: int, leaders: int = 1, *, planners: Mapping[Resource, Planner] | None = None) -> Outcome:
    """Raises Violation when an invariant breaks, or when the world does not come to rest as it should."""
    config = Configuration(feature_gates={"RayCronJob": True}, has_cron_job_generation=True)
    world = World(seed, pace=weather(seed), kinds=KINDS, planners=planners, config=config)
    try:
        return rage(world, leaders)
    finally:
        world.close()


def rage(world: World, leaders: int) -> Outcome:
    Invariants(world)
    JobRules(world)
    rules, dice = CronRules(world), Random(world.seed * 7 + leaders)
    wanted = random_cron(dice)
    chaos = CronChaos(world, dice, wanted, ODDS)
    world.rays.boot = lambda dice: 3.0
    world.rays.course = lambda dice: Course(1.0, dice.choice((5.0, 30.0, 90.0)), dice.choice(("SUCCEEDED", "FAILED")))
    world.faults.rates = dict(RATES)
    world.elects = leaders == 1
    world.apply(wanted)
    for _ in range(leaders):
        world.lead()
    world.clock.spawn(chaos.process())
    world.run(STORM)
    chaos.stop()
    world.faults.stop()
    calm(world, rules, chaos)
    notes = wanted["metadata"]["annotations"]
    seen = Counter({f"policy {notes[CONCURRENCY]}": 1, "with limits": int(SUCCESSFUL_HISTORY in notes)})
    return Outcome(world.faults.counts + chaos.counts + seen, world.faults.calls, world.actions, world.trace, world.writes)


def calm(world: World, rules: CronRules, chaos: CronChaos) -> None:
    """All is well again: it ticks, keeps its limits, and stops when it is told to."""
    chaos.spec({"suspend": False, "schedule": "* * * * *"})
    world.run(LONGEST_RETRY + 2 * PERIOD)
    for leader in world.leaders[1:]:
        world.retire(leader)
    before = set(rules.made)
    world.run(6 * PERIOD)
    ticks = len(set(rules.made) - before)
    forbids = chaos.wanted["metadata"]["annotations"][CONCURRENCY] == FORBID
    if not (2 if forbids else 5) <= ticks <= 7:
        rules.fail("L1", f"{ticks} ticks in {6 * PERIOD:.0f} s")
    chaos.spec({"suspend": True})
    world.run(2 * LONGEST_RETRY)
    made, writes = len(rules.made), world.writes
    world.run(4 * PERIOD)
    if len(rules.made) != made:
        rules.fail("L1", "it ticks while it is suspended")
    if world.writes != writes:
        rules.fail("W1", f"{world.writes - writes} writes while it is suspended")
    found = world.store.get(RAYCRONJOBS, Key(NAMESPACE, NAME)) or {}
    if found["status"].get("observedGeneration") != found["metadata"]["generation"]:
        rules.fail("L1", f"generation {found['metadata']['generation']} was not seen: {found['status']}")
    check_limits(world, rules, chaos)
    bury(world, rules)


def check_limits(world: World, rules: CronRules, chaos: CronChaos) -> None:
    notes = chaos.wanted["metadata"]["annotations"]
    for name, state in ((SUCCESSFUL_HISTORY, "Complete"), (FAILED_HISTORY, "Failed")):
        kept = [job for job in world.store.all(RAYJOBS) if (job.get("status") or {}).get("jobDeploymentStatus") == state]
        if name in notes and len(kept) > int(notes[name]):
            rules.fail("L1", f"{len(kept)} jobs are kept that are {state}, {notes[name]} are allowed")


def bury(world: World, rules: CronRules) -> None:
    world.delete(RAYCRONJOBS, NAME)
    world.run(2 * PERIOD)
    if left := [*world.store.all(RAYJOBS), *world.store.all(RAYCLUSTERS)]:
        rules.fail("S13", f"left behind: {', '.join(each['metadata']['name'] for each in left)}")


CALLS = ("create rayjobs", "patch status", "create rayclusters", "patch rayjobs")
SORT = Sort(
    storm,
    frozenset({*faults.KINDS, "quota refusal", "with limits", *named(ODDS), *(f"policy {name}" for name in POLICIES)}),
    frozenset(faults.combinations(CALLS)),
    frozenset({"create RayJob", "delete RayJob", "create RayCluster", "patch status"}),
)
