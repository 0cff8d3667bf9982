"""Clusters that the operator sizes, in the simulator: storms, a death before and after every write, and a name that is used fifty times."""

from __future__ import annotations

from collections import Counter

import pytest

from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.sim.hosted_storm import HOSTED, elastic, of_cpus, storm
from rayfleet.sim.sized_line import CALLS, ILLS, LIES
from rayfleet.sim.sized_ray import SizedRays
from rayfleet.sim.sizes import Sizes, groups
from rayfleet.sim.world import World
from tests.sim.mutants.sizing import MUTANTS, Mutant
from tests.sim.mutants.verdict import broken_by

STORMS, PORTION = 12, 4
TIMES = 50


@pytest.mark.parametrize("first", range(0, STORMS, PORTION))
def test_storms_end_with_as_many_nodes_as_the_work_needs_and_in_silence(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + PORTION):
        outcome = storm(seed, leaders=2 if seed % PORTION == 3 else 1)
        seen += outcome.actions + outcome.faults
    assert seen["resize RayCluster"]
    assert all(any(seen[f"gcs {name}"] for name in names) for names in (CALLS, ILLS, LIES))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    found = (broken_by(mutant, lambda _, seed=seed: storm(seed)) for seed in range(3))  # type: ignore[misc]
    assert MUTANTS[mutant] in found, f"{mutant.__name__} lives: {mutant.__doc__}"


def story(struck: tuple[int, str] | None = None) -> tuple[World, SizedRays]:
    """Three tasks come, run for half a minute and are over; one more cluster has nothing to do."""
    world = World(1, config=HOSTED)
    rays = world.heads = SizedRays(world, world.dice)
    Sizes(world, rays)
    world.elects = True
    world.faults.at = struck
    world.apply(elastic("demo", of_cpus("small", 1)))
    world.apply(elastic("other", of_cpus("small", 1)))
    world.lead()
    world.run(30.0)
    rays.submit("demo", 3, seconds=30.0)
    world.run(400.0)
    return world, rays


def ends_well(world: World, rays: SizedRays) -> None:
    try:
        for name in ("demo", "other"):
            cluster = world.cluster(name)
            assert cluster
            assert [group["replicas"] for group in groups(cluster)] == [0]
            assert len(world.pods(name)) == 1
        assert not any(rays.waiting.values())
    finally:
        world.close()


def test_work_gets_its_nodes_and_they_go_when_it_is_over() -> None:
    world, rays = story()
    assert world.actions["create Pod"] == 5, "two heads and three workers"
    assert world.actions["delete Pod"] == 3
    ends_well(world, rays)


def requests() -> int:
    world, _ = story()
    world.close()
    return world.faults.requests


@pytest.mark.parametrize("kind", ["crash-before", "crash-after", "lost-response"])
def test_killed_at_any_request_it_ends_as_it_would_have(kind: str) -> None:
    for number in range(1, requests() + 1):
        world, rays = story((number, kind))
        assert world.actions["create Pod"] <= 6, f"{kind} at request {number}: a worker was made twice"
        ends_well(world, rays)


def test_a_name_that_is_used_again_and_again_never_gets_what_its_namesake_asked_for() -> None:
    world = World(2, config=HOSTED)
    rays = world.heads = SizedRays(world, world.dice)
    Sizes(world, rays)
    world.elects = True
    world.lead()
    try:
        for turn in range(TIMES):
            world.apply(elastic("demo", of_cpus("small", 1)))
            busy = turn % 2 == 0
            world.run(8.0)
            if busy:
                rays.submit("demo", 2)
            world.run(turn % 7 + 6.0)
            cluster = world.cluster("demo")
            assert cluster
            assert groups(cluster)[0]["replicas"] == (2 if busy else 0), turn
            world.delete(RAYCLUSTERS, "demo")
            world.run(world.dice.choice((0.01, 1.0, 5.0)))
        world.run(60.0)
        assert not world.store.all(RAYCLUSTERS)
    finally:
        world.close()
