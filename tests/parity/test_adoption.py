"""rayfleet takes over what KubeRay left, at every recorded moment, with KubeRay's definitions installed and with ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayfleet.api.crds import crds
from tests.parity.adoption import Seen, taken_over
from tests.parity.grounds import furnish, kubernetes
from tests.parity.matrix import DEFINITIONS, PAGE, Outcomes, changed, lives, named, outcomes, table, touching_pods
from tests.parity.peer_definitions import FILE, paths, peer_crds
from tests.parity.standing import moments
from tests.testbed.planes import NewControlPlane

DIFFERENCES = PAGE.with_name("differences.md")
ON_KUBERNETES = ("raycluster-head-and-workers", "raycluster-recreate", "raycluster-multi-host", "raycluster-autoscaler-default")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return outcomes(tmp_path_factory.mktemp("adoption"))


@pytest.mark.parametrize("definitions", DEFINITIONS)
def test_no_pod_is_made_or_deleted_and_the_first_status_is_the_last(found: Outcomes, definitions: str) -> None:
    silent = {seen.moment.namespace: list(changed(seen)) for seen in found[definitions] if seen.moment.case not in named()}
    assert {name: lines for name, lines in silent.items() if lines} == {}
    touched = {seen.moment.case for seen in found[definitions] if lives(seen)}
    assert touched == touching_pods()
    assert len(silent) > 90 and sum(seen.pods for seen in found[definitions]) > 200


def test_what_does_change_has_a_reason_that_is_documented_and_is_met(found: Outcomes) -> None:
    subjects = {line.split("|")[1].strip() for line in DIFFERENCES.read_text().splitlines() if line.startswith("| ")}
    assert {reason for reason in named().values() if reason not in subjects and not reason.startswith("KubeRay")} == set()
    met = {seen.moment.case for group in found.values() for seen in group if any(changed(seen))}
    assert met == set(named())


def test_the_table_in_the_documentation_is_this_one(found: Outcomes) -> None:
    assert table(found) in PAGE.read_text(), "python -m tests.parity.matrix"


def test_kuberays_definitions_prune_what_they_do_not_know() -> None:
    ours, theirs = (set(paths(made()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"])) for made in (crds, peer_crds))
    fields = set(FILE.read_text().split())
    assert fields <= ours, "a field that is no longer declared"
    assert {path for path in theirs if ".template.metadata" not in path} == fields & ours


@pytest.mark.testbed
@pytest.mark.parametrize("definitions", DEFINITIONS)
async def test_so_it_is_on_a_real_control_plane(new_control_plane: NewControlPlane, definitions: str, tmp_path: Path) -> None:
    plane = furnish(new_control_plane(), DEFINITIONS[definitions])
    chosen = [moment for moment in moments() if moment.case in ON_KUBERNETES]
    seen: list[Seen] = await taken_over(chosen, kubernetes(plane), tmp_path)
    lines = {each.moment.namespace: [line for line in changed(each) if not line.startswith("patch pods, 1")] for each in seen}
    assert {name: found for name, found in lines.items() if found} == {}
    assert len(seen) == len(chosen)
