"""Builds KubeRay's released operator, as a black box for the tests, into a cache outside the tree; does nothing when it is there.

usage: python -m testbed.peer [--path]      prints the binary's path; with --path nothing is built: exit code 1 if it is not there

It comes by Go's own client from where Go is told to get modules. The newest release that is served there is taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from testbed.build import binary, go, tell

MODULE = "github.com/ray-project/kuberay/ray-operator"
RELEASES = ("v1.7.0", "v1.6.2")
DEFINITIONS = Path("config/crd/bases")
ENVIRONMENT = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}


class Unavailable(Exception):
    """No release can be had; the text says why, release by release."""


def built() -> tuple[str, Path] | None:
    """The newest release that is built already, and its directory, with the file `operator` and the directory `definitions`."""
    return next(((release, place(release)) for release in RELEASES if (place(release) / "operator").exists()), None)


def place(release: str) -> Path:
    return binary().parent / f"kuberay-{release}"


def build() -> tuple[str, Path]:
    """Raises Unavailable."""
    if (found := built()) is not None:
        return found
    refusals = []
    for release in RELEASES:
        try:
            return release, build_release(release)
        except Unavailable as refusal:
            refusals.append(f"{release}: {refusal}")
    raise Unavailable("\n".join(refusals))


def build_release(release: str) -> Path:
    target = place(release)
    module = json.loads(asked("mod", "download", "-json", f"{MODULE}@{release}"))
    tell(f"building KubeRay {release}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as draft:
        asked("install", "-trimpath", f"{MODULE}@{release}", GOBIN=draft)
        (Path(draft) / MODULE.rpartition("/")[2]).rename(Path(draft) / "operator")
        definitions = Path(draft) / "definitions"
        definitions.mkdir()
        for file in sorted((Path(module["Dir"]) / DEFINITIONS).glob("*.yaml")):
            (definitions / file.name).write_bytes(file.read_bytes())
        target.mkdir(exist_ok=True)
        for part in ("definitions", "operator"):
            (Path(draft) / part).rename(target / part)
    return target


def asked(*words: str, **environ: str) -> str:
    """What Go prints. Raises Unavailable with what it says when it fails."""
    outside = tempfile.gettempdir()  # in no module of its own
    whole = {**os.environ, **ENVIRONMENT, **environ}
    done = subprocess.run([go(), *words], cwd=outside, env=whole, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(reason(done) or f"go {words[0]} ended with {done.returncode}")
    return done.stdout


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """`go mod download -json` tells its error in JSON."""
    try:
        return " ".join(str(json.loads(done.stdout)["Error"]).split())
    except (ValueError, KeyError):
        return " ".join(done.stderr.split())


def main() -> int:
    if sys.argv[1:] == ["--path"]:
        found = built()
        print(found[1] / "operator" if found else place(RELEASES[0]) / "operator")
        return 0 if found else 1
    try:
        release, directory = build()
    except Unavailable as refusal:
        tell(f"KubeRay cannot be built:\n{refusal}")
        return 1
    tell(f"KubeRay {release}")
    print(directory / "operator")
    return 0


if __name__ == "__main__":
    sys.exit(main())
