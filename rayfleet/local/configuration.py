"""The user's configuration of local fleets: `local.yaml` below `XDG_CONFIG_HOME/rayfleet`. Read at each `rayfleet up`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rayfleet.kubelet.images import Orders, Rule, Rules
from rayfleet.local.environments import environments_directory
from rayfleet.local.state import State

ALLOWED = 'a directory, "auto", a requirement of pip, or a list of requirements'


class NotConfigured(Exception):
    """The file says something that is not understood; the text names the file, the field, and what is allowed."""


def default_file(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / "rayfleet" / "local.yaml"


def load_rules(file: Path, *, must_exist: bool = False) -> tuple[Rule, ...]:
    """What stands for which images, in the file's order. Raises NotConfigured."""
    import yaml

    if not must_exist and not file.exists():
        return ()
    try:
        found = yaml.safe_load(file.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise NotConfigured(f"{file}: {error}") from error
    if not isinstance(found, dict) or set(found) - {"images"}:
        raise NotConfigured(f"{file}: the only field is images, a map from patterns of images to what stands for them")
    images = found.get("images") or {}
    if not isinstance(images, dict):
        raise NotConfigured(f"{file}: images: must be a map from patterns of images to what stands for them")
    return tuple(rule(file, str(pattern), wanted) for pattern, wanted in images.items())


def rule(file: Path, pattern: str, wanted: Any) -> Rule:
    if isinstance(wanted, str) and wanted.startswith(("/", "~")):
        return Rule(pattern, directory=str(Path(wanted).expanduser()))
    words = [wanted] if isinstance(wanted, str) else wanted
    # A requirement that begins with a dash would be an option of pip.
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word and not word.startswith("-") for word in words):
        raise NotConfigured(f"{file}: images[{pattern!r}]: {wanted!r} is not {ALLOWED}")
    return Rule(pattern, requirements=tuple(words))


def write_rules(state: State, rules: tuple[Rule, ...]) -> None:
    """For the fleet's kubelet, which reads them when it starts a container."""
    told = Rules(str(environments_directory(os.environ)), rules)
    state.write(Orders(state.images).rules, msgspec.json.encode(told).decode())
