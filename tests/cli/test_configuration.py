"""The operator's configuration: flags before environment before file before defaults, and mistakes that are named."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from rayfleet.cli.configuration import configuration_of


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
