"""`rayfleet doctor`: of this machine, of an API server, and what it makes of answers that the embedded one never gives."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result

from rayfleet.api.crds import crds
from rayfleet.cli import machine
from rayfleet.cli.check import Row
from rayfleet.cli.checkup import ADD_ONS, FEATURES, NEEDS, Facts, kinds_needed, rows
from rayfleet.cli.crd_difference import difference, maker
from rayfleet.cli.output import dump_yaml
from rayfleet.local.state import State
from tests.cli.api import api_server

Type = Callable[..., Result]


def test_an_api_server_without_our_kinds_lacks_something_and_with_them_nothing(tmp_path: Path, invoke: Type) -> None:
    with api_server(tmp_path) as kubeconfig:
        words = ("doctor", "--cluster", "--kubeconfig", str(kubeconfig))
        before = invoke(*words)
        invoke("apply", "-f", "-", "--kubeconfig", str(kubeconfig), input="---\n".join(map(dump_yaml, crds())))
        after = invoke(*words)
        value = json.loads(invoke(*words, "-o", "json").output)
    assert before.exit_code == 1
    assert "there are no RayClusters" in before.output and "rayfleet crds | kubectl apply -f -" in before.output
    assert after.exit_code == 0, after.output
    assert "rayfleet's" in after.output
    assert value["healthy"] and {row["state"] for row in value["checks"]} <= {"ok", "off", "unknown"}
    assert [row["says"] for row in value["checks"] if row["item"] == "mutual TLS"] == ["cert-manager is not installed"]


def test_as_and_namespace_belong_to_a_cluster(invoke: Type) -> None:
    assert "go with --cluster" in invoke("doctor", "--as", "jane").output


def test_a_machine_that_lacks_something_is_told_in_the_words_of_up(invoke: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayfleet.local.namespaces.find", lambda tool: None if tool == "ip" else f"/bin/{tool}")
    result = invoke("doctor")
    assert result.exit_code == 1
    assert "the command ip is not installed (Debian and Ubuntu: apt-get install iproute2)" in result.output


def test_an_environment_without_ray_and_without_the_packages_lacks_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = {row.item: row for row in machine.environment_rows()}
    assert (told["packages"].state, told["Ray"].state) == ("missing", "missing")
    assert "jsonschema-rs" in told["packages"].says


def test_what_an_ordinary_user_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (1024, 4096))
    told = {row.item: row for row in machine.user_rows()}
    assert (told["user"].state, told["open files"].state) == ("off", "off")
    assert "runAsUser" in told["user"].says
    assert "4096 at most for a process, Ray asks for 65536" in told["open files"].says


def test_whether_limits_of_pods_are_enforced_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "MOUNT", tmp_path / "none")
    monkeypatch.setattr(machine, "MEMORY_GROUPS", tmp_path / "none" / "memory")
    for user, lends, state, says in (
        (0, "", "off", "none cannot be written"),
        (1000, "loginctl enable-linger", "off", "loginctl enable-linger"),
        (1000, "", "ok", "enforced"),
    ):
        monkeypatch.setattr(machine.os, "geteuid", lambda user=user: user)
        monkeypatch.setattr(machine, "lent", lambda lends=lends: ([], lends))
        (row,) = (row for row in machine.user_rows() if row.item == "limits")
        assert row.state == state and says in row.says


@pytest.mark.parametrize(
    ("nft", "state", "says"),
    [(None, "off", "apt-get install nftables"), ("false", "off", "not enforced"), ("true", "ok", "are enforced")],
)
def test_whether_network_policies_are_enforced_is_told(monkeypatch: pytest.MonkeyPatch, nft: str | None, state: str, says: str) -> None:
    monkeypatch.setattr(machine, "find", lambda tool: nft)
    monkeypatch.setattr(machine, "entrance", lambda: ())
    row = machine.policies_row()
    assert row.state == state and says in row.says


def test_a_full_disk_is_told_before_ray_writes_no_object_to_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gib = 1 << 30
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Usage(100 * gib, 96 * gib, 4 * gib))
    assert (
        machine.disk_row(tmp_path / "not" / "yet").says
        == f"4.0 GiB free below {tmp_path}: 96% full, and from 95% on Ray writes no object to it"
    )


def test_few_inotify_watches_are_told_with_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "setting", lambda name: "64" if name.endswith("instances") else "65536")
    row = machine.watches_row()
    assert row.state == "off"
    assert "sysctl -w fs.inotify.max_user_instances=128 (" in row.says


def test_ports_that_another_program_has_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setattr(machine, "FIRST", {"dashboard": port})
        monkeypatch.setattr(machine, "DEFAULTS", {"client": port, "serve": port})
        assert f"another program has {port} (dashboard), {port} (session: client)" in machine.ports_row(State(tmp_path)).says
    assert machine.ports_row(State(tmp_path)).state == "ok"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def whole() -> Facts:
    """A server that has, serves and allows everything."""
    served: dict[str, set[str]] = {"ray.io/v1": {definition["spec"]["names"]["plural"] for definition in crds()}}
    for version, resource in kinds_needed():
        served.setdefault(version, set()).add(resource)
    for add_on in ADD_ONS:
        served.setdefault(add_on.version, set()).add(add_on.resource)
    return Facts(
        version={"gitVersion": "v1.33.1", "major": "1", "minor": "33+"},
        served={version: frozenset(names) for version, names in served.items()},
        definitions={definition["metadata"]["name"]: definition for definition in crds()},
        allowed={(right, verb): True for need in NEEDS for right in need.rights for verb in right.verbs},
        leases=[("rayfleet-system", "pod_1")],
        yunikorn=True,
        reconciled=frozenset({"RayCluster"}),
    )


def found(facts: Facts, area: str, item: str) -> Row:
    (row,) = [row for row in rows(facts) if (row.area, row.item) == (area, item)]
    return row


def test_where_everything_is_there_only_what_this_version_lacks_is_off() -> None:
    off = {row.item for row in rows(whole()) if row.state != "ok"}
    assert off == {"RayJob", "RayService", "RayCronJob"} | {feature.name for feature in FEATURES if feature.unused}


def test_a_right_that_is_missing_turns_its_feature_off_or_stops_everything() -> None:
    for need in NEEDS:
        right = need.rights[0]
        facts = replace(whole(), allowed={**whole().allowed, (right, right.verbs[0]): False})
        row = found(facts, "rights", need.name)
        assert row.state == ("missing" if need.required else "off")
        assert f"{right.verbs[0]} {right.resource}" in row.says
        for feature in FEATURES:
            if feature.need == need.name:
                assert found(facts, "features", feature.name).state == "off"


def test_what_the_server_does_not_say_is_unknown_and_no_failure() -> None:
    facts = replace(whole(), allowed={}, leases=None, yunikorn=None, definitions=dict.fromkeys(whole().definitions, "forbidden"))
    states = {row.state for row in rows(facts)}
    assert "missing" not in states
    assert found(facts, "definitions", "RayCluster") == Row("definitions", "RayCluster", "unknown", "served; not readable: forbidden")
    assert found(facts, "operator", "lease").state == "unknown"


def test_kuberays_definition_is_told_apart_with_what_it_prunes() -> None:
    ours = crds()[0]
    theirs = deepcopy(ours)
    theirs["metadata"]["annotations"] = {"controller-gen.kubebuilder.io/version": "v0.16.5"}
    for version in theirs["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        del spec["tlsOptions"]
        del spec["workerGroupSpecs"]["items"]["properties"]["priority"]
    assert set(difference(ours, theirs)) == {"spec.tlsOptions", "spec.workerGroupSpecs[].priority"}
    assert difference(ours, ours) == []
    assert (maker(ours), maker(theirs)) == ("rayfleet's", "KubeRay's")
    facts = replace(whole(), definitions={**whole().definitions, "rayclusters.ray.io": theirs})
    assert "KubeRay's; prunes" in found(facts, "definitions", "RayCluster").says
    assert found(facts, "features", "mutual TLS").says == "the installed definition drops spec.tlsOptions"


def test_a_definition_that_keeps_what_it_does_not_know_prunes_nothing() -> None:
    ours = crds()[0]
    open_ = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    assert difference(ours, {**ours, "spec": {**ours["spec"], "versions": [open_]}}) == []


@pytest.mark.parametrize(("minor", "state", "words"), [("18", "missing", "too old"), ("22", "ok", "before 1.25"), ("33+", "ok", "v1.x")])
def test_the_servers_version_is_judged(minor: str, state: str, words: str) -> None:
    row = found(replace(whole(), version={"gitVersion": "v1.x", "major": "1", "minor": minor}), "server", "Kubernetes")
    assert row.state == state and words in row.says


def test_kinds_that_are_not_served_are_named() -> None:
    served = {**whole().served, "events.k8s.io/v1": frozenset()}
    row = found(replace(whole(), served=served), "server", "kinds")
    assert (row.state, row.says) == ("missing", "not served: events.events.k8s.io/v1")
