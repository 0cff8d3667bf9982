"""rayfleet takes over what KubeRay left, at every recorded moment, with KubeRay's definitions installed and with ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.objects import NAME, SYSTEM_NAMESPACE
from rayfleet.api.crds import crds
from rayfleet.cli.discovery import keeps_cron_job_generation
from rayfleet.cli.takeover import judged
from rayfleet.kube.connection import load_kubeconfig
from tests.parity.adoption import Seen, taken_over
from tests.parity.canonical import Json
from tests.parity.configurations import configuration
from tests.parity.grounds import furnish, kubernetes
from tests.parity.matrix import DEFINITIONS, PAGE, Outcomes, changed, lives, named, outcomes, table, touching_pods
from tests.parity.peer_definitions import FILE, paths, peer_crds
from tests.parity.stage import KINDS
from tests.parity.standing import Moment, moments, placed
from tests.testbed.planes import NewControlPlane

UID = "11111111-2222-3333-4444-555555555555"
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


def test_migrate_check_foresees_just_that(found: Outcomes, tmp_path: Path) -> None:
    for seen in found["ours"]:
        changes = foreseen(seen.moment, tmp_path)
        assert all(change["verb"] == "refuse" for change in changes) == (not lives(seen) and not elsewhere(seen)), seen.moment.namespace
        assert {KINDS[change["kind"]].plural for change in changes if change["verb"] != "refuse"} <= {each.resource for each in seen.first}


def foreseen(moment: Moment, directory: Path) -> list[Json]:
    """What the command says of the same objects."""
    manifest = moment.cluster
    cluster = {**manifest, "metadata": {**manifest["metadata"], "namespace": moment.namespace, "uid": UID, "generation": 1}}
    bodies = (placed(child, moment, UID, {}) for child in moment.children)
    children = ({**body, "metadata": {**body["metadata"], "uid": f"{UID}-{number}"}} for number, body in enumerate(bodies))
    found: list[Json] = judged(cluster, tuple(children), (), configuration(moment.configuration, directory))["changes"]
    return found


def elsewhere(seen: Seen) -> list[str]:
    """Writes to other objects than the cluster and its Pods."""
    return [name for name in seen.others if name != "patch pods"]


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
    account = load_kubeconfig(plane.service_account(SYSTEM_NAMESPACE, NAME))
    assert await keeps_cron_job_generation(account) is (definitions == "ours")
    chosen = [moment for moment in moments() if moment.case in ON_KUBERNETES]
    seen: list[Seen] = await taken_over(chosen, kubernetes(plane), tmp_path)
    lines = {each.moment.namespace: [line for line in changed(each) if not line.startswith("patch pods, 1")] for each in seen}
    assert {name: found for name, found in lines.items() if found} == {}
    assert len(seen) == len(chosen)
