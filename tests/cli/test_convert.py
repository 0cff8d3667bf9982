"""`rayfleet convert`: every example of examples/legacy, to the letter, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from tests.cli.conftest import Run

LEGACY = Path(__file__).parents[2] / "examples" / "legacy"
GOLDEN = Path(__file__).parent / "convert"
Invoke = Callable[..., Result]


@pytest.mark.parametrize("path", sorted(LEGACY.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_is_converted_as_was_reviewed(command: Run, path: Path) -> None:
    done = command("convert", "-f", str(path))
    told = f"{done.stdout}# exit code {done.returncode}\n" + "".join(f"# {line}\n" for line in done.stderr.splitlines())
    assert told == (GOLDEN / f"{path.stem}.golden").read_text()


def test_what_comes_out_is_taken_by_every_other_command(invoke: Invoke, tmp_path: Path) -> None:
    for path in sorted(LEGACY.glob("*.yaml")):
        made = tmp_path / path.name
        made.write_text(invoke("convert", "-f", str(path)).stdout)
        shown = invoke("render", "-f", str(made))
        assert shown.exit_code == 0, shown.output
        pods = [each for each in yaml.safe_load_all(shown.output) if each["kind"] == "Pod"]
        assert all("ray start" in pod["spec"]["containers"][0]["args"][0] for pod in pods)
        assert not any("sleep infinity" in str(pod["spec"]["containers"][0]) for pod in pods)


def test_other_objects_go_through_and_what_is_no_old_format_is_told_with_its_place(invoke: Invoke) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    assert yaml.safe_load(invoke("convert", "-f", "-", input=other).stdout)["kind"] == "ConfigMap"
    wrong = invoke("convert", "-f", "-", input=f"{other}---\ncluster_name: x\nprovider: {{type: aws}}\n")
    assert wrong.exit_code == 1
    assert "standard input:5: provider.type: 'aws' does not run on Kubernetes" in wrong.output
    assert invoke("convert", "--help").output.count("rayfleet convert -f") == 2


def test_hosted_autoscaling_is_written_only_when_asked_for(invoke: Invoke) -> None:
    path = str(LEGACY / "resource.yaml")
    plain, hosted = (yaml.safe_load_all(invoke("convert", "-f", path, *more).stdout) for more in ((), ("--hosted-autoscaling",)))
    assert "annotations" not in next(iter(plain))["metadata"]
    assert next(iter(hosted))["metadata"]["annotations"] == {"rayfleet.dev/autoscaling": "hosted"}
