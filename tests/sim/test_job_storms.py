"""Random RayJobs under random faults, with one operator and with two at once. The invariants hold after every write; then silence.

More of them, and what must occur in all: `python -m rayfleet.sim.many 5000 0 11112 jobs`.
"""

from __future__ import annotations

from functools import partial

import pytest

from rayfleet.api.meta import RAYJOBS
from rayfleet.sim.job_storm import storm
from rayfleet.sim.leader import Planner
from tests.sim import test_job_faults as stories
from tests.sim.mutants import jobs
from tests.sim.mutants.jobs import MUTANTS, Mutant
from tests.sim.mutants.verdict import broken_by

MOST_STORMS = 60


@pytest.mark.parametrize("leaders", [1, 2])
def test_storms_end_with_the_job_and_in_silence(leaders: int) -> None:
    for seed in range(30):
        storm(seed, leaders)


@pytest.mark.parametrize("leaders", [1, 2])
def test_the_same_seed_gives_the_same_storm(leaders: int) -> None:
    assert storm(7, leaders).trace == storm(7, leaders).trace


def outcome(mutant: Mutant, leaders: int, seed: int) -> str:
    """The invariant that breaks first with this seed, "raised" for any other error, "" when all hold."""

    def run(planner: Planner | None) -> None:
        storm(seed, leaders, planners={RAYJOBS: planner} if planner else None)

    try:
        return broken_by(mutant, run)
    except Exception:
        return "raised"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    proof = MUTANTS[mutant]
    found = (outcome(mutant, proof.leaders, seed) for seed in range(proof.first, proof.first + MOST_STORMS))
    assert proof.invariant in found, f"{mutant.__name__} lives: {mutant.__doc__}"


TOLD = {
    jobs.unfenced_sidecar: stories.test_a_cluster_whose_head_submits_is_not_made_again_when_it_is_lost,
    jobs.stray_left: stories.test_a_cluster_made_from_an_old_copy_of_the_job_goes,
    jobs.released_unstopped: partial(stories.test_a_job_that_is_deleted_does_not_run_on_where_ray_did_not_hear_the_first_stop, "stop"),
    jobs.submitter_by_name: stories.test_a_job_of_somebody_else_s_with_the_submitters_name_is_left_alone,
    jobs.wrong_time_stays: stories.test_an_end_that_a_wrong_clock_dated_keeps_no_cluster_for_a_year,
}
"""Faults that storms meet once in hundreds, and the story that tells each."""


@pytest.mark.parametrize("mutant", TOLD, ids=lambda mutant: mutant.__name__)
def test_the_story_kills_the_mutant(mutant: Mutant) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises((AssertionError, KeyError)):
        mutant(patch)
        TOLD[mutant]()


def test_the_story_kills_a_mode_that_changes_at_once() -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises((AssertionError, KeyError)):
        jobs.new_mode_at_once(patch)
        stories.test_a_try_ends_in_the_mode_in_which_it_began("HTTPMode", "SidecarMode")
