"""Every command: help with an example, exit codes, and errors that say what to write instead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from rayfleet.cli.main import COMMANDS, rayfleet
from rayfleet.cli.up import tell_unheeded
from rayfleet.local.configuration import Configuration
from rayfleet.local.machine import Machine, write_machine
from rayfleet.local.state import State
from rayfleet.version import VERSION
from tests.cli.conftest import Run

Invoke = Callable[..., Result]


def every_command() -> list[tuple[str, ...]]:
    context = click.Context(rayfleet)
    found: list[tuple[str, ...]] = []
    for name in rayfleet.list_commands(context):
        command = rayfleet.get_command(context, name)
        if isinstance(command, click.Group):
            found += [(name, inner) for inner in command.list_commands(context)]
        else:
            found.append((name,))
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_help_shows_an_example_of_the_command_itself(invoke: Invoke, words: tuple[str, ...]) -> None:
    shown = invoke(*words, "--help")
    assert shown.exit_code == 0
    assert "Example" in shown.output
    assert f"rayfleet {' '.join(words)}" in shown.output.split("Example", 1)[1]


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_no_option_is_without_a_word_about_it(words: tuple[str, ...]) -> None:
    context = click.Context(rayfleet)
    command = rayfleet.get_command(context, words[0])
    if isinstance(command, click.Group):
        command = command.get_command(context, words[1])
    assert command and command.help
    shown = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    assert [each.name for each in shown if not each.help and each.name not in KNOWN] == []


KNOWN = ("output", "replicas", "group")  # said by the command's text and the metavar


def test_internal_commands_are_not_listed(invoke: Invoke) -> None:
    shown = invoke("--help").output
    assert "internal" not in shown
    assert all(name in shown for name in COMMANDS if name != "internal")


def test_help_loads_no_http_library() -> None:
    look = "import sys; sys.argv = ['rayfleet', '--help']; import rayfleet.cli.main as m\ntry: m.main()\nexcept SystemExit: pass\n"
    look += "print([name for name in ('aiohttp', 'rich', 'yaml', 'cryptography') if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_the_version_is_one(command: Run) -> None:
    assert command("version").stdout.strip() == VERSION
    assert VERSION in command("--version").stdout


def test_a_command_that_does_not_exist_is_a_usage_error(command: Run) -> None:
    failed = command("aply")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "aply" in failed.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("scale", "service/one", "--replicas", "1"), "write raycluster/NAME instead of service/one"),
        (("scale", "raycluster/one"), "--replicas"),
        (("logs", "job/x"), "raycluster/NAME"),
        (("logs", "pod-x", "--monitor"), "write raycluster/NAME"),
        (("logs", "raycluster/one", "--previous"), "go with a Pod"),
        (("get", "-n", "a", "-A"), "exclude each other"),
        (("delete",), "TYPE NAME"),
        (("node", "drain", "local", "--timeout", "-1"), "x>=0"),
        (("apply",), "-f"),
        (("kubelet", "--kubeconfig", "x", "--state", "y", "--api", "nowhere"), "HOST:PORT"),
        (("kubelet", "--kubeconfig", "x", "--state", "y", "--overcommit", "cpu"), "for example, cpu=10"),
        (("kubelet", "--kubeconfig", "x", "--state", "y", "--overcommit", "pods=2"), "overcommit['pods']"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_what_was_asked_wrongly_is_a_usage_error_that_says_what_to_write(
    command: Run, kubeconfig: str, words: tuple[str, ...], told: str
) -> None:
    extra = () if words[0] == "kubelet" or not words[1:] else ("--kubeconfig", kubeconfig)
    failed = command(*words, *extra)
    assert failed.returncode == 2
    assert told in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.fixture
def kubeconfig(tmp_path) -> str:  # type: ignore[no-untyped-def]
    """One that is well formed and leads nowhere."""
    path = tmp_path / "nowhere.yaml"
    path.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    return str(path)


def test_an_api_server_that_does_not_answer_is_a_failure_with_a_way_on(command: Run, kubeconfig: str) -> None:
    failed = command("get", "pods", "--kubeconfig", kubeconfig)
    assert failed.returncode == 1
    assert "rayfleet status" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_without_any_kubeconfig_the_failure_names_the_file_looked_for(command: Run) -> None:
    failed = command("get", "pods")
    assert failed.returncode == 1
    assert "rayfleet up" in failed.stderr
    assert ".kube/config" in failed.stderr


@pytest.mark.parametrize(
    ("flags", "up"),
    [((), "rayfleet up\n"), (("--fleet", "b"), "rayfleet up --fleet b\n"), (("--state", "/no/such"), "rayfleet up --state /no/such\n")],
)
@pytest.mark.parametrize(
    "words", [("get", "pods"), ("node", "list"), ("node", "stop", "local"), ("explain", "one"), ("status",), ("doctor",)]
)
def test_without_a_fleet_each_command_says_how_to_start_that_one(
    invoke: Callable[..., Result], words: tuple[str, ...], flags: tuple[str, ...], up: str
) -> None:
    done = invoke(*words, *flags)
    told = f"{done.output}{done.exception}\n"
    assert up in told
    assert "Errno" not in told


def test_status_without_a_fleet_says_how_to_start_one(command: Run) -> None:
    shown = command("status")
    assert "rayfleet up" in shown.stdout
    assert shown.returncode == 1


def test_down_without_a_fleet_is_no_failure(command: Run) -> None:
    shown = command("down")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "No fleet runs" in shown.stdout


def test_fleets_have_names_or_directories(command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = command("down", "--fleet", "b").stdout
    assert told == f"No fleet runs in {tmp_path / 'state' / 'rayfleet-b'}.\n"
    other = command("down", "--fleet", "b", "--state", str(tmp_path / "other"))
    assert other.stdout == f"No fleet runs in {tmp_path / 'other'}.\n"
    refused = command("down", "--fleet", "../b")
    assert (refused.returncode, "is no name of a fleet" in refused.stderr) == (2, True)
    monkeypatch.setenv("RAYFLEET_FLEET", "b")
    assert command("down").stdout == told


def test_what_a_living_fleet_cannot_heed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = State(tmp_path / "fleet")
    place.make()
    write_machine(place, Machine(nodes=3))
    place.write(place.operator_config, '{"defaultAuthMode": "token"}')
    tell_unheeded(place, {"--auth": "token", "--nodes": None, "--patience": None}, Configuration())
    assert capsys.readouterr().err == ""
    tell_unheeded(place, {"--auth": "disabled", "--nodes": 2, "--patience": None}, Configuration(devices={"nvidia.com/gpu": "4"}))
    assert "with --auth token, --nodes 3, another overcommit or other devices" in capsys.readouterr().err
