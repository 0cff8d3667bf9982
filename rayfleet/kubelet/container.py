"""What the shim is asked to start for a container: arguments, environment, directories and mounts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rayfleet.kubelet import last_words, substitutes
from rayfleet.kubelet.env import ConfigError, Facts, environment, expand
from rayfleet.kubelet.network import SYSTEM_PATH
from rayfleet.kubelet.settings import KubeletSettings
from rayfleet.kubelet.users import Account, as_request, closed
from rayfleet.kubelet.volumes import is_made_of_files, place

HOME = "/home/ray"  # home and working directory, as in the images that this environment stands for
PRIVATE = {"tmp": "/tmp", "var-tmp": "/var/tmp", "home": HOME}  # new for each life of a container


def base_environment(settings: KubeletSettings, hostname: str, python: Path) -> dict[str, str]:
    """What every container is given. RAY_AUTH_MODE is always explicit: Ray reads a user's token file when it is not."""
    return {
        "PATH": f"{python}/bin:{SYSTEM_PATH}:{substitutes.PLACE}",
        "HOME": HOME,
        "HOSTNAME": hostname,
        "LANG": "C.UTF-8",
        "KUBERNETES_SERVICE_HOST": str(settings.services.network_address + 1),
        "KUBERNETES_SERVICE_PORT": "443",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        **settings.default_env,
    }


def arguments(container: Mapping[str, Any], values: Mapping[str, str]) -> list[str]:
    """Raises ConfigError without a command: there is no image that could bring one."""
    argv = [expand(str(one), values) for one in (*(container.get("command") or ()), *(container.get("args") or ()))]
    if not argv:
        raise ConfigError("no command is given, and the local kubelet has no image to take one from")
    return argv


def scratch(directory: Path, name: str, attempt: int) -> Path:
    return directory / "containers" / name / f"scratch-{attempt}"


def make_scratch(directory: Path, name: str, attempt: int) -> None:
    for part in (*PRIVATE, "tmp/ray"):
        path = scratch(directory, name, attempt) / part
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o1777)  # whoever the container runs as
    last_words.make(directory, name, attempt)


def mounts(
    container: Mapping[str, Any],
    spec: Mapping[str, Any],
    directory: Path,
    attempt: int,
    settings: KubeletSettings,
    values: Mapping[str, str],
    python: Path,
    account: Account | None,
) -> list[list[str]]:
    """In the order of mounting. The state directory is hidden: it holds what other Pods were given. What is closed to the container's user
    on the way to its Python is hidden as well, so that the way is open."""
    own = scratch(directory, container["name"], attempt)
    barred = [] if account is None or account.user == 0 else [at for path in pythons(python) for at in closed(Path(path))]
    covers = list(dict.fromkeys([*settings.hidden, settings.state, *barred]))
    found = [["tmpfs", "size=64k,mode=755", str(path), ""] for path in covers]
    found += [["bind", str(own / part), target, "rw"] for part, target in PRIVATE.items()]
    found += [["bind", path, path, "ro"] for path in hidden_environment(covers, python)]
    found += [["bind", str(directory / name), f"/etc/{name}", "rw"] for name in ("hosts", "resolv.conf", "hostname")]
    found.append(["bind", str(directory / "shm"), "/dev/shm", "rw"])
    if settings.substitutes.exists():
        found.append(["bind", str(settings.substitutes), substitutes.PLACE, "ro"])
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    for mount in sorted(container.get("volumeMounts") or (), key=lambda one: one["mountPath"].rstrip("/").count("/")):
        if mount["name"] not in volumes:
            raise ConfigError(f'volume "{mount["name"]}" is not among the Pod\'s volumes')
        volume = volumes[mount["name"]]
        found.append(volume_mount(mount, place(directory, volume, settings.host_paths), values, is_made_of_files(volume)))
    words = last_words.file_of(directory, container["name"], attempt)
    found.append(["bind", str(words), container.get("terminationMessagePath") or last_words.USUAL, "rw"])
    return found


def volume_mount(mount: Mapping[str, Any], source: Path, values: Mapping[str, str], read_only: bool) -> list[str]:
    below = expand(mount["subPathExpr"], values) if mount.get("subPathExpr") else mount.get("subPath") or ""
    if below:
        volume, source = source, source / below
        # Resolved: what a container wrote into the volume may be a link to anywhere.
        if below.startswith("/") or ".." in Path(below).parts or not source.resolve().is_relative_to(volume.resolve()):
            raise ConfigError(f'subPath "{below}" must stay inside its volume')
        source = source.resolve()
        if not source.exists():
            source.mkdir(parents=True)
    return ["bind", str(source), mount["mountPath"].rstrip("/") or "/", "ro" if read_only or mount.get("readOnly") else "rw"]


def hidden_environment(covers: Iterable[Path], python: Path) -> list[str]:
    """The Python environment, and the interpreter it was made from, where one of our own directories would cover them."""
    over = ["/run", *covers, *PRIVATE.values()]
    return [path for path in pythons(python) if any(Path(path).is_relative_to(cover) for cover in over)]


def pythons(python: Path) -> list[str]:
    interpreter = Path(os.path.realpath(python / "bin" / "python")).parent.parent
    return list(dict.fromkeys([str(python), str(interpreter)]))


def request(
    container: Mapping[str, Any],
    attempt: int,
    uid: str,
    directory: Path,
    facts: Facts,
    settings: KubeletSettings,
    hostname: str,
    python: Path,
    account: Account | None = None,
) -> dict[str, Any]:
    """The shim's `start`; `python` is the environment that stands for the image, `account` whose the processes are, None the fleet's own.
    Raises ConfigError."""
    values = environment(container, base_environment(settings, hostname, python), facts)
    return {
        "name": container["name"],
        "attempt": attempt,
        "uid": uid,
        "argv": arguments(container, values),
        "env": values,
        "cwd": container.get("workingDir") or HOME,
        "mounts": mounts(container, facts.spec, directory, attempt, settings, values, python, account),
        "account": as_request(account),
        "stdin": bool(container.get("stdin")),
        "tty": bool(container.get("tty")),
    }
