"""The image, as far as it can be tested where no container engine is: its rules are read, its steps are run in a plain directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rayfleet.version import VERSION

pytestmark = pytest.mark.testbed
ROOT = Path(__file__).parents[2]
Instruction = tuple[str, str]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, FROM included; what stands before the first FROM is stage 0."""
    text = (ROOT / "deploy" / "Containerfile").read_text().replace("\\\n", " ")
    found: list[list[Instruction]] = [[]]
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


def told(stage: list[Instruction], word: str) -> list[str]:
    return [rest for each, rest in stage if each == word]


def test_the_image_runs_as_nobody_without_a_shell_and_from_pinned_bases() -> None:
    head, build, final = stages()
    versions = dict(rest.split("=", 1) for rest in told(head, "ARG"))
    assert all(re.search(r":(\d|\$\{)", base) for base in (*told(build, "FROM"), versions["RUNTIME"])), "a base without a version"
    assert told(final, "RUN") == [], "the last stage needs no tool"
    (user,) = told(final, "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "a number, or runAsNonRoot cannot be checked"
    for word in ("ENTRYPOINT", "CMD"):
        assert isinstance(json.loads(told(final, word)[0]), list), f"{word} calls a shell"
    assert [word for word, _ in (*build, *final) if word in ("ADD", "VOLUME", "SHELL")] == []
    assert "COPY . " not in "".join(f"{word} {rest}\n" for word, rest in build), "only what is named goes in"
    assert not re.search(r"(?i)(secret|password|token)", "".join(told(final, "ENV")))


def test_its_default_command_is_that_of_the_deployment_and_its_tag_the_version() -> None:
    from deploy.objects import USER, pod

    _, _, final = stages()
    container = pod([])["containers"][0]
    assert json.loads(told(final, "CMD")[0]) == container["args"]
    assert told(final, "USER") == [f"{USER}:{USER}"]
    assert f"rayfleet:{VERSION}" in (ROOT / "deploy" / "Containerfile").read_text()
    assert container["image"] == f"rayfleet:{VERSION}"


def test_its_steps_make_a_command_that_runs_from_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    """Each step of the build as it stands, but for the root: /src, /wheels and /opt are directories of the test's."""
    _, build, final = stages()
    (source := tmp_path / "src").mkdir()
    for copied in told(build, "COPY"):
        *names, target = copied.split()
        for name in names:
            place = source / (target if (ROOT / name).is_dir() else name)
            subprocess.run(["cp", "-r", str(ROOT / name), str(place)], check=True)
    for step in told(build, "RUN"):
        words = [rooted(word, tmp_path) for word in json.loads(step)]
        done = subprocess.run([sys.executable, *words[1:]], cwd=source, capture_output=True, text=True, check=False)
        if "pip" in words and "No matching distribution" in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr
    environ = dict(pair.split("=", 1) for pair in rooted(told(final, "ENV")[0], tmp_path).split())
    subprocess.run(["chmod", "-R", "a-w", str(tmp_path / "opt")], check=True)
    before = sorted((tmp_path / "opt").rglob("*"))
    entry = [sys.executable, *json.loads(told(final, "ENTRYPOINT")[0])[1:]]
    # -S: only what the image holds, and nothing of the environment that runs this test.
    isolated = [entry[0], "-S", *entry[1:]]
    ran = subprocess.run([*isolated, "version"], capture_output=True, text=True, env={**environ, "HOME": "/"}, cwd="/", check=False)
    assert (ran.stdout.strip(), ran.stderr) == (VERSION, "")
    helped = subprocess.run(
        [*isolated, "run", "--kubeconfig", os.devnull], capture_output=True, text=True, env=environ, cwd="/", check=False
    )
    assert "no current context" in helped.stderr, "the operator's own libraries are there"
    assert sorted((tmp_path / "opt").rglob("*")) == before
    subprocess.run(["chmod", "-R", "u+w", str(tmp_path / "opt")], check=True)


def rooted(text: str, root: Path) -> str:
    return re.sub(r"(?<![\w.])/(src|wheels|opt)\b", rf"{root}/\1", text)
