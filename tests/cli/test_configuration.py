"""The operator's configuration: flags before environment before file before defaults, and mistakes that are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import yaml
from click.testing import Result

from rayfleet.cli.configuration import configuration_of, effective, json_name
from rayfleet.cli.settings import SETTINGS, Setting


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "operator.yaml"
    path.write_text(
        "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\nenableProbesInjection: false\nclusterDomain: file.local\n"
        "featureGates: {RayCronJob: true, RayMultiHostIndexing: false}\n"
    )
    return path


def test_defaults_stand_where_nothing_is_said() -> None:
    config = configuration_of(None, "", {})
    assert config.cluster_domain == "cluster.local"
    assert config.enable_probes_injection
    assert config.gate("RayMultiHostIndexing")


def test_the_file_is_read(file: Path) -> None:
    config = configuration_of(str(file), "", {})
    assert (config.enable_probes_injection, config.cluster_domain) == (False, "file.local")
    assert config.gate("RayCronJob") and not config.gate("RayMultiHostIndexing")


def test_the_environment_counts_before_the_file(file: Path) -> None:
    config = configuration_of(str(file), "", {"ENABLE_PROBES_INJECTION": "true", "CLUSTER_DOMAIN": "env.local"})
    assert (config.enable_probes_injection, config.cluster_domain) == (True, "env.local")


def test_flags_count_before_all(file: Path) -> None:
    assert configuration_of(str(file), "RayMultiHostIndexing=true", {}).gate("RayMultiHostIndexing")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reconcileConcurrency: many\n", "reconcileConcurrency"),
        ("colour: red\n", "colour"),
        ("a: b: c\n", "operator.yaml"),
        ("featureGates: {Nonsense: true}\n", "Nonsense"),
    ],
)
def test_a_mistake_in_the_file_names_file_or_field(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(click.UsageError, match=told):
        configuration_of(str(file), "", {})


def test_a_switch_that_is_neither_true_nor_false_is_named() -> None:
    with pytest.raises(click.UsageError, match="ENABLE_LOGIN_SHELL"):
        configuration_of(None, "", {"ENABLE_LOGIN_SHELL": "perhaps"})


KUBERAYS_FILE = """\
apiVersion: config.ray.io/v1alpha1
kind: Configuration
metricsAddr: ":8080"
probeAddr: ":8082"
enableLeaderElection: true
leaderElectionNamespace: ray-system
reconcileConcurrency: 4
watchNamespace: team-a,team-b
logFile: /tmp/operator.log
logFileEncoder: json
logStdoutEncoder: console
batchScheduler: volcano
enableBatchScheduler: false
useKubernetesProxy: true
deleteRayJobAfterJobFinishes: true
enableMetrics: true
qps: 50
burst: 100
headSidecarContainers: [{name: logs, image: fluent-bit}]
workerSidecarContainers: [{name: logs, image: fluent-bit}]
defaultContainerEnvs: [{name: REGION, value: north}]
defaultPodAnnotations: {team: a}
defaultPodLabels: {team: a}
"""


def test_every_field_of_kuberays_file_is_taken(file: Path) -> None:
    file.write_text(KUBERAYS_FILE)
    config = configuration_of(str(file), "", {})
    assert config.namespaces == ("team-a", "team-b")
    assert (config.metrics_addr, config.qps, config.burst, config.reconcile_concurrency) == (":8080", 50, 100, 4)
    assert config.head_sidecar_containers[0]["image"] == "fluent-bit"


@pytest.mark.parametrize("setting", [each for each in SETTINGS if each.env], ids=lambda each: each.env)
def test_every_switch_of_the_environment_reaches_its_field(setting: Setting) -> None:
    before = getattr(configuration_of(None, "", {}), setting.field)
    text, after = {bool: (str(not before).lower(), not before), int: ("7", 7), str: ("x.local", "x.local")}[type(before)]
    found = effective(None, "", {}, {setting.env: text})
    assert getattr(found.configuration, setting.field) == after
    assert found.origins == {json_name(setting.field): f"environment {setting.env}"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reconcileConcurency: 2\n", r"no field reconcileConcurency; did you mean reconcileConcurrency\? there are: .*watchNamespace"),
        ("reconcileConcurrency: 0\n", "reconcileConcurrency is 0; it must be from 1 to 1000"),
        ("enableMetrics: 'yes'\n", "enableMetrics is 'yes'; it must be true or false"),
        ("batchScheduler: slurm\n", "'slurm'; it must be .*volcano or yunikorn"),
        ("watchNamespace: A_B\n", "watchNamespace is 'A_B'"),
        ("metricsAddr: here\n", "HOST:PORT"),
        ("headSidecarContainers: {}\n", "headSidecarContainers"),
        ("kind: ConfigMap\n", "kind is 'ConfigMap'; it must be Configuration"),
        ("- a\n", "holds no Configuration"),
        ("enableBatchScheduler: true\nbatchScheduler: yunikorn\n", "leave one of them out"),
        ("featureGates: {KubernetesWAS: true}\nbatchScheduler: volcano\n", "exclude each other"),
    ],
)
def test_a_wrong_value_is_told_with_what_may_stand_there(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(click.UsageError, match=told):
        configuration_of(str(file), "", {})


def test_a_flag_counts_before_the_environment_before_the_file(file: Path) -> None:
    file.write_text("deleteRayJobAfterJobFinishes: false\nmetricsAddr: ':1'\nqps: 7\n")
    found = effective(str(file), "", {"metrics_addr": ":2"}, {"DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "true"})
    assert found.configuration.delete_ray_job_after_job_finishes and found.configuration.metrics_addr == ":2"
    assert found.origins == {
        "metricsAddr": "flag --metrics-addr",
        "deleteRayJobAfterJobFinishes": "environment DELETE_RAYJOB_CR_AFTER_JOB_FINISHES",
        "qps": f"file {file}",
    }


def test_show_config_tells_value_origin_and_what_nothing_heeds(invoke: Callable[..., Result], file: Path) -> None:
    words = (
        "run",
        "--config",
        str(file),
        "--show-config",
        "-o",
        "json",
        "--listen",
        ":9000",
        "--enable-leader-election=false",
        "--qps",
        "9",
    )
    shown = invoke(*words, env={"ENABLE_WEBHOOKS": "true"})
    assert shown.exit_code == 0, shown.output
    rows = {row.pop("name"): row for row in json.loads(shown.output)}
    assert rows["clusterDomain"] == {"value": "file.local", "from": f"file {file}"}
    assert rows["featureGates.RayMultiHostIndexing"] == {"value": False, "from": f"file {file}"}
    assert rows["featureGates.RayJobDeletionPolicy"] == {"value": True, "from": "default"}
    assert rows["metricsAddr"]["value"] == rows["probeAddr"]["value"] == ":9000"
    assert rows["enableLeaderElection"] == {"value": False, "from": "flag --enable-leader-election"}
    assert rows["qps"]["note"].startswith("not used") and rows["enableWebhooks"]["note"].startswith("not used")
    assert rows["hasRoutes"] == {"value": None, "from": "asked of the API server at start"}


def test_a_command_line_of_kuberays_is_understood(invoke: Callable[..., Result]) -> None:
    words = [
        *(
            "--metrics-addr=:8080",
            "--health-probe-bind-address=:8082",
            "--enable-leader-election",
            "--leader-election-namespace=ray-system",
        ),
        *("--reconcile-concurrency=2", "--watch-namespace=a,b", "--log-file-path=/tmp/o.log", "--log-file-encoder=console"),
        *("--log-stdout-encoder=json", "--batch-scheduler=volcano", "--use-kubernetes-proxy", "--feature-gates=RayCronJob=true"),
        *("--enable-metrics=true", "--qps=100.0", "--burst=200", "--forced-cluster-upgrade"),
        *("--zap-log-level=debug", "--zap-devel=false", "--zap-encoder=json"),
    ]
    shown = invoke("run", *words, "--show-config", "-o", "yaml")
    assert shown.exit_code == 0, shown.output
    rows = {row["name"]: row["value"] for row in yaml.safe_load(shown.output)}
    expected = {"probeAddr": ":8082", "watchNamespace": "a,b", "logLevel": "debug", "useKubernetesProxy": True, "burst": 200}
    assert {name: rows[name] for name in expected} == expected
