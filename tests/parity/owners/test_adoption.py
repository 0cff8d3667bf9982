"""rayfleet takes over what KubeRay left of RayServices, RayJobs and RayCronJobs, at every recorded moment."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.parity.matrix import PAGE
from tests.parity.owners.adoption import Seen, taken_over
from tests.parity.owners.standing import moments
from tests.parity.owners.test_steps import DIFFERENCES

FILE = Path(__file__).with_name("adoption_named.tsv")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    return asyncio.run(taken_over(moments(), tmp_path_factory.mktemp("adoption")))


def named() -> dict[str, str]:
    """Why a moment's takeover changes something."""
    return dict(line.split("\t") for line in FILE.read_text().splitlines() if not line.startswith("#"))


def test_nothing_is_made_anew_and_ray_is_told_nothing_again(found: list[Seen]) -> None:
    silent = {seen.moment.namespace: list(seen.changes) for seen in found if seen.moment.namespace.removeprefix("at-") not in named()}
    assert {name: lines for name, lines in silent.items() if lines} == {}
    told = {seen.moment.namespace.removeprefix("at-") for seen in found if seen.told}
    assert told <= {"rayjob-http-submit-refused-0", "rayservice-incremental-rollback-1", "rayservice-incremental-rollback-2"}, (
        "not begun, or half way"
    )


def test_what_does_change_has_a_reason_that_is_documented_and_is_met(found: list[Seen]) -> None:
    subjects = {line.split("|")[1].strip() for line in DIFFERENCES.read_text().splitlines() if line.startswith("| ")}
    assert {reason for reason in named().values() if reason not in subjects and not reason.startswith("KubeRay")} == set()
    assert {seen.moment.namespace.removeprefix("at-") for seen in found if any(seen.changes)} == set(named())


def test_the_page_tells_how_much_was_taken_over(found: list[Seen]) -> None:
    pods = sum(len(seen.pods) for seen in found)
    assert f"{len(found)} moments with {pods} Pods" in PAGE.read_text()
