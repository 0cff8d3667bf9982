"""`rayfleet explain` where nothing is broken, where nobody looks, where nothing is found, and where not everything may be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, Forbidden
from tests.cli.api import api_server
from tests.cli.explain.broken import cluster
from tests.cli.explain.kubelet_words import crash_loop, well
from tests.cli.explain.ward import UNWATCHED, Ward, pods_of, told, ward

Type = Callable[..., Result]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with ward(tmp_path_factory.mktemp("ward")) as found:
        found.create(cluster("default", "known"), "rayclusters")
        yield found


@pytest.fixture
def explain(place: Ward, invoke: Type) -> Type:
    return lambda *words: invoke("explain", *words, "--kubeconfig", str(place.kubeconfig))


def test_a_cluster_that_is_well_is_said_to_be_so_and_the_command_succeeds(place: Ward, explain: Type) -> None:
    place.create(cluster("default", "fine", workers=1), "rayclusters")
    starting = explain("fine")
    assert starting.exit_code == 0, starting.output
    assert "raycluster default/fine: starting" in starting.output
    for pod in (*pods_of(place, "default", "fine", "head"), *pods_of(place, "default", "fine", "worker")):
        well(place, pod)
    told(place, "default", "fine", "RayClusterProvisioned", "AllPodRunningAndReadyFirstTime")
    for words in (("fine",), ("raycluster/fine",), ("rayclusters.ray.io/fine", "-n", "default")):
        result = explain(*words)
        assert result.exit_code == 0
        assert result.output == "raycluster default/fine: ready; head ready, 1 of 1 workers ready\nNothing is wrong with it.\n"


def test_a_suspended_cluster_is_well(place: Ward, explain: Type) -> None:
    body = cluster("default", "asleep")
    body["spec"]["suspend"] = True
    place.create(body, "rayclusters")
    told(place, "default", "asleep", "RayClusterSuspended", "RayClusterSuspended")
    result = explain("asleep")
    assert result.exit_code == 0
    assert "suspended" in result.output and "spec.suspend: false" in result.output


def test_a_cluster_that_nobody_looks_after_is_told_once_an_operator_had_time(
    place: Ward, explain: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.create(cluster(UNWATCHED, "alone"), "rayclusters")
    assert explain("alone", "-n", UNWATCHED).exit_code == 0
    monkeypatch.setattr("rayfleet.diagnosis.diagnose.PATIENCE", -1.0)
    result = explain("alone", "-n", UNWATCHED)
    assert result.exit_code == 1
    assert "No operator has looked at the cluster. [NoOperator]" in result.output
    assert "rayfleet doctor --cluster" in result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("knwon",), "there is no raycluster knwon in namespace default; did you mean known?"),
        (("known", "-n", "team"), "there is no raycluster known in namespace team; there is one in default: add -n default"),
        (("raycluster/",), "write a RayCluster's NAME"),
        (("pod/fine",), "write a RayCluster's NAME"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_with_what_was_perhaps_meant(explain: Type, words: tuple[str, ...], told: str) -> None:
    result = explain(*words)
    assert result.exit_code != 0
    assert told in result.output


def test_without_the_kinds_the_way_to_them_is_told(tmp_path: Path, invoke: Type) -> None:
    with api_server(tmp_path) as kubeconfig:
        result = invoke("explain", "one", "--kubeconfig", str(kubeconfig))
    assert result.exit_code == 1
    assert "rayfleet crds | kubectl apply -f -" in result.output


def test_what_may_not_be_read_is_said_and_the_rest_goes_on(place: Ward, explain: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user who may read RayClusters and Pods only; the embedded API lets everybody read everything."""
    place.create(cluster("default", "veiled"), "rayclusters")
    (head,) = pods_of(place, "default", "veiled", "head")
    crash_loop(place, head, "secret plans\n")
    told(place, "default", "veiled", "HeadPodReady", "CrashLoopBackOff")
    asked = Client.request
    listed = Client.list

    def refusal(what: str) -> ApiError:
        return Forbidden(403, "Forbidden", f'{what} is forbidden: User "jane" cannot get resource "{what}" in API group ""')

    async def request(self: Client, method: str, path: str, **more: object) -> bytes:
        if "/log?" in path:
            raise refusal("pods/log")
        return await asked(self, method, path, **more)  # type: ignore[arg-type]

    async def list_(self: Client, resource: object, *words: object, **more: object) -> object:
        if getattr(resource, "plural", "") in ("events", "services", "networkpolicies"):
            raise refusal(resource.plural)  # type: ignore[attr-defined]
        return await listed(self, resource, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Client, "request", request)
    monkeypatch.setattr(Client, "list", list_)
    result = explain("veiled")
    assert result.exit_code == 1
    assert "The container ray of the head ends again and again. [CrashLoop]" in result.output
    assert "log        not readable: pods/log is forbidden" in result.output
    assert "note       not seen: events: events is forbidden" in result.output
    assert json.loads(explain("veiled", "-o", "json").output)["notes"]


def test_help_has_an_example(explain: Type) -> None:
    assert "rayfleet explain one" in explain("--help").output
