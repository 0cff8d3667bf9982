"""`rayfleet explain` of broken clusters, as golden transcripts: every line of them is read by somebody in trouble."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from tests.cli.explain.broken import CLUSTERS, Broken
from tests.cli.explain.plain import plain
from tests.cli.explain.ward import Ward, ward
from tests.golden import recorded

HERE = Path(__file__).parent
Type = Callable[..., Result]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with ward(tmp_path_factory.mktemp("ward")) as found:
        for broken in CLUSTERS:
            broken.apply(found, broken.namespace, broken.name)
        yield found


@pytest.mark.parametrize("broken", CLUSTERS, ids=lambda broken: broken.name)
def test_a_broken_cluster_is_explained(broken: Broken, place: Ward, invoke: Type) -> None:
    broken.break_it(place, broken.namespace, broken.name)
    words = ("explain", broken.name, "-n", broken.namespace, "--kubeconfig", str(place.kubeconfig))
    result = invoke(*words)
    assert result.exit_code == broken.code, (result.output, result.exception)
    text = plain(result.output)
    assert text == recorded(HERE / f"{broken.name}.golden", text)
    assert "\x1b" not in result.output

    in_json = invoke(*words, "-o", "json")
    value = json.loads(in_json.output)
    assert in_json.exit_code == broken.code
    assert value["healthy"] == (broken.code == 0)
    assert {step["source"] for finding in value["findings"] for step in finding["why"]} <= {
        "condition",
        "pod",
        "event",
        "log",
        "object",
        "spec",
    }
    assert [finding["try"] for finding in value["findings"]].count([]) == 0
    assert yaml.safe_load(invoke(*words, "-o", "yaml").output).keys() == value.keys()


def test_every_transcript_is_still_told() -> None:
    assert {path.stem for path in HERE.glob("*.golden")} == {broken.name for broken in CLUSTERS}
