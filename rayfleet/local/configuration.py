"""The user's configuration of local fleets: `local.yaml` below `XDG_CONFIG_HOME/rayfleet`. Read at each `rayfleet up`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rayfleet.kubelet.images import Orders, Rule, Rules
from rayfleet.local.environments import environments_directory
from rayfleet.local.machine import CPU_OVERCOMMIT, declared
from rayfleet.local.state import State

ALLOWED = 'a directory, "auto", a requirement of pip, or a list of requirements'

FIELDS = {
    "images": "a map from patterns of images to what stands for them",
    "hostPaths": "a list of directories below which hostPath volumes may be",
    "egressPorts": "a list of the ports to which --egress lets Pods out, of which the fleet needs 53, 6443, 8080 and 10250 for itself",
    "overcommit": "a map from resources to how often the machine's may be asked for",
    "devices": "a map from devices to how many a node has",
}
EGRESS_PORTS = (22, 80, 443)
OWN_PORTS = (53, 6443, 8080, 10250)


class NotConfigured(Exception):
    """The file says something that is not understood; the text names the file, the field, and what is allowed."""


def default_file(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / "rayfleet" / "local.yaml"


class Configuration(msgspec.Struct, frozen=True):
    """`rules` say what stands for which image, in the file's order; below `host_paths` hostPath volumes may be, `egress_ports` are
    those of the world that Pods may reach; the rest as in Machine."""

    rules: tuple[Rule, ...] = ()
    host_paths: tuple[str, ...] = ()
    egress_ports: tuple[int, ...] = EGRESS_PORTS
    overcommit: dict[str, float] = msgspec.field(default_factory=lambda: {"cpu": CPU_OVERCOMMIT})
    devices: dict[str, str] = {}


def load_configuration(file: Path, *, must_exist: bool = False) -> Configuration:
    """Raises NotConfigured."""
    if not must_exist and not file.exists():
        return Configuration()
    if not file.exists():
        raise NotConfigured(f"{file}: there is no such file; name another one: rayfleet up --config FILE")
    found = read(file)
    images, paths = found.get("images") or {}, found.get("hostPaths") or []
    if not isinstance(images, dict):
        raise NotConfigured(f"{file}: images: must be {FIELDS['images']}")
    if not isinstance(paths, list) or not all(isinstance(path, str) and path.startswith(("/", "~")) for path in paths):
        raise NotConfigured(f"{file}: hostPaths: must be {FIELDS['hostPaths']}")
    ports = found.get("egressPorts", list(EGRESS_PORTS))
    if not isinstance(ports, list) or not all(type(port) is int and 0 < port < 65536 and port not in OWN_PORTS for port in ports):
        raise NotConfigured(f"{file}: egressPorts: must be {FIELDS['egressPorts']}")
    try:
        overcommit, devices = declared(found.get("overcommit") or {}, found.get("devices") or {})
    except ValueError as error:
        raise NotConfigured(f"{file}: {error}") from error
    rules = tuple(rule(file, str(pattern), wanted) for pattern, wanted in images.items())
    return Configuration(rules, tuple(str(Path(path).expanduser()) for path in paths), tuple(ports), overcommit, devices)


def read(file: Path) -> dict[str, Any]:
    """The file's fields. Raises NotConfigured."""
    import yaml

    try:
        found = yaml.safe_load(file.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise NotConfigured(f"{file}: {error}") from error
    if not isinstance(found, dict) or set(found) - FIELDS.keys():
        raise NotConfigured(f"{file}: the fields are " + " and ".join(f"{name}, {what}" for name, what in FIELDS.items()))
    return found


def rule(file: Path, pattern: str, wanted: Any) -> Rule:
    if isinstance(wanted, str) and wanted.startswith(("/", "~")):
        return Rule(pattern, directory=str(Path(wanted).expanduser()))
    words = [wanted] if isinstance(wanted, str) else wanted
    # A requirement that begins with a dash would be an option of pip.
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word and not word.startswith("-") for word in words):
        raise NotConfigured(f"{file}: images[{pattern!r}]: {wanted!r} is not {ALLOWED}")
    return Rule(pattern, requirements=tuple(words))


def write_configuration(state: State, configuration: Configuration) -> None:
    """For the fleet's kubelet, which reads it when it starts a container."""
    told = Rules(str(environments_directory(os.environ)), configuration.rules)
    state.write(Orders(state.images).rules, msgspec.json.encode(told).decode())
    state.write(state.host_paths, msgspec.json.encode(configuration.host_paths).decode())
