"""What a host must be able to do for a local fleet, and the start of the holder in namespaces of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rayfleet.local.identity import Identity, identify
from rayfleet.local.state import State

PROBE = "ip link set lo up && ip link add rf0 type bridge && ip link add rfv0 type veth peer name rfv1 && mount -t tmpfs tmpfs /run"
WITHOUT = """What works all the same: everything that talks to a Kubernetes API (apply, get, delete, scale, logs, status, run, kubelet;
  name it with --kubeconfig or KUBECONFIG), and what needs no API at all: render, plan, crds, version."""


class HostLacks(Exception):
    """The host cannot carry a local fleet; the text says what is missing, how to get it, and what works without."""

    def __init__(self, reasons: list[str]) -> None:
        lines = "\n".join(f"  - {reason}" for reason in reasons)
        super().__init__(f"This machine cannot run a local fleet:\n{lines}\n{WITHOUT}")


def require() -> None:
    """Raises HostLacks, naming everything that is missing at once."""
    if reasons := list(missing()):
        raise HostLacks(reasons)


def missing() -> Iterator[str]:
    if sys.platform != "linux":
        yield f"it needs Linux (this is {sys.platform}): run it in a Linux virtual machine"
        return
    lacking = [tool for tool in PACKAGES if find(tool) is None]
    for tool in lacking:
        yield f"the command {tool} is not installed (Debian and Ubuntu: apt-get install {PACKAGES[tool]})"
    if not lacking and (refusal := refused()):
        yield refusal


# Of namespaces(7), Debian's kernels and Ubuntu's: (name, the value that forbids, one that allows).
SETTINGS = (
    ("user.max_user_namespaces", "0", "15000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)
KERNEL = Path("/proc/sys")
PACKAGES = {"ip": "iproute2", "unshare": "util-linux", "mount": "mount", "sh": "dash"}
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def find(tool: str) -> str | None:
    """A command's path; system directories count even when the caller's PATH leaves them out."""
    return shutil.which(tool) or shutil.which(tool, path=SYSTEM_PATH)


def refused() -> str | None:
    """Try, in namespaces that vanish at once, all that a fleet does; the kernel's own words when it refuses."""
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
    try:
        trial = subprocess.run([*entrance(), find("sh") or "sh", "-c", PROBE], env=environment, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "creating namespaces takes more than 20 s"
    if trial.returncode == 0:
        return None
    words = trial.stderr.strip() or f"unshare ended with {trial.returncode}"
    return f"the kernel refuses namespaces, a bridge or a veth pair: {words}\n    {advice(words)}"


def advice(words: str) -> str:
    """What mends it. Which setting keeps ordinary users out is read, as the kernel's words do not tell: they may be `No space left`."""
    mends = [f"sysctl -w {name}={allowing}" for name, forbidding, allowing in SETTINGS if setting(name) == forbidding]
    if os.geteuid() != 0 and mends:
        return (
            f"user namespaces are off for ordinary users; as root: {'; '.join(mends)} (to stay: in /etc/sysctl.d), or run rayfleet as root"
        )
    if words.startswith("unshare"):
        return "as root, or where user namespaces are allowed; in a container: --privileged, or a seccomp profile that allows unshare"
    return "the modules bridge and veth must be there (modprobe); a container needs --privileged, or CAP_SYS_ADMIN and CAP_NET_ADMIN"


def setting(name: str) -> str:
    """A kernel setting; "" where this kernel has it not."""
    try:
        return KERNEL.joinpath(*name.split(".")).read_text().strip()
    except OSError:
        return ""


def entrance() -> list[str]:
    """The command that makes the namespaces. Without root a user namespace comes first; all else is the same."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [find("unshare") or "unshare", *user, "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]


def start_holder(state: State, before: Sequence[str] = ()) -> tuple[Identity, Identity]:
    """Start the holder, by a command `before` that runs the one after it; returns (the process outside that waits for it, the holder).

    Raises HostLacks with its own words when it fails.
    """
    program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("holder.py")), str(state.path / "holder.sock")]
    with state.log("holder").open("a") as log:
        outer = subprocess.Popen(
            [*before, *entrance(), *program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True, cwd="/"
        )
    assert outer.stdout is not None
    with outer.stdout as answer:
        line = answer.readline()
    keeper = identify(outer.pid)
    inner = identify(child_of(outer.pid)) if keeper and line == b"ready\n" else None
    if keeper is None or inner is None:
        outer.kill()
        outer.wait()
        raise HostLacks([f"the holder of the namespaces did not start: {last_line(state.log('holder'))}"])
    return keeper, inner


def child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else 0


def last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
