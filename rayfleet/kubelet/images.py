"""Images are not fetched: Python environments stand for them. Which one, and what is to be done while it is being made.

A kubelet has no way to the world outside, so it orders an environment by a file; who can make it (the fleet's door) takes the order,
tells how far it is in a second file, and why it failed in a third. An environment that is made holds the file MADE.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from rayfleet.kubelet.env import ConfigError

TAG = re.compile(r"(?:^|/)ray[\w.-]*:(\d+\.\d+\.\d+)")
PYTHON = re.compile(r"(?:^|/)ray[\w.-]*:[\w.]+(?:-[\w.]+)*?-py3(\d+)\b")
VERSION_VARIABLE = "RAY_VERSION"
MADE = ".made-by-rayfleet"
AUTO = "auto"


class NotReady(ConfigError):
    """The environment is being made; the text says how far it is."""


class NotToBeHad(ConfigError):
    """The environment could not be made; the text says why."""


class Rule(msgspec.Struct, frozen=True):
    """What stands for the images of a pattern (`*` is any text): the environment in a directory, or one that holds what pip is asked for.

    `auto` among the requirements is Ray in the version of the image's tag.
    """

    image: str
    directory: str = ""
    requirements: tuple[str, ...] = ()


class Rules(msgspec.Struct, frozen=True):
    """`environments` is where environments are made. The first rule that fits counts."""

    environments: str = ""
    rules: tuple[Rule, ...] = ()


class Order(msgspec.Struct, frozen=True):
    requirements: tuple[str, ...]
    directory: str


class Orders:
    """The files between the one who needs an environment and the one who makes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def rules(self) -> Path:
        return self.path / "rules.json"

    def order(self, key: str) -> Path:
        return self.path / f"{key}.order"

    def progress(self, key: str) -> Path:
        return self.path / f"{key}.progress"

    def failure(self, key: str) -> Path:
        return self.path / f"{key}.failure"


class Images:
    """`default` is the environment of images without a rule; `path` the directory of the orders, None where nobody takes any."""

    def __init__(self, default: Path, path: Path | None = None) -> None:
        self.default = default
        self.orders = Orders(path) if path else None

    def environment(self, image: str) -> Path:
        """Raises NotReady, after an order if need be, and NotToBeHad once for each order that failed."""
        found = self.rule(image)
        if self.orders is None or found is None:
            return self.default
        place, rule = found
        if rule.directory:
            if not (Path(rule.directory) / "bin" / "python").exists():
                raise NotToBeHad(f"{rule.directory}, which stands for image {image}, is no Python environment")
            return Path(rule.directory)
        wanted = requirements(rule, image)
        key = key_of(wanted)
        directory = Path(place) / key
        if (directory / MADE).exists():
            return directory
        failure = self.orders.failure(key)
        if failure.exists():
            why = failure.read_text()
            failure.unlink()
            raise NotToBeHad(f"{' '.join(wanted)}, for image {image}: {why}")
        if not self.orders.order(key).exists():
            self.orders.order(key).write_bytes(msgspec.json.encode(Order(wanted, str(directory))))
        progress = self.orders.progress(key)
        raise NotReady(f"{' '.join(wanted)} is being installed" + (f": {progress.read_text()}" if progress.exists() else ""))

    def rule(self, image: str) -> tuple[str, Rule] | None:
        """(where environments are made, the rule); read anew each time, as `rayfleet up` may change it."""
        if self.orders is None or not self.orders.rules.exists():
            return None
        rules = msgspec.json.decode(self.orders.rules.read_bytes(), type=Rules)
        return next(((rules.environments, rule) for rule in rules.rules if fnmatchcase(image, rule.image)), None)


def requirements(rule: Rule, image: str) -> tuple[str, ...]:
    """What pip is asked for. Raises NotToBeHad when `auto` finds no version."""
    if AUTO not in rule.requirements:
        return rule.requirements
    tag = TAG.search(image)
    if not tag:
        raise NotToBeHad(f'image {image} names no version of Ray; write what to install in place of "{AUTO}"')
    return tuple(f"ray[default,serve]=={tag.group(1)}" if one == AUTO else one for one in rule.requirements)


def key_of(wanted: tuple[str, ...]) -> str:
    """The name of an environment: what it holds, for people, and a hash of that and of the Python it is made from."""
    words = re.sub(r"\[[^]]*\]|[^\w.]+", "-", wanted[0]).strip("-")
    exact = "\n".join((*sorted(wanted), sys.version, sys.base_prefix))
    return f"{words}-{hashlib.sha256(exact.encode()).hexdigest()[:8]}"


def installed_ray(environment: Path) -> str:
    """The version in the environment, "" when Ray is not installed there."""
    for path in environment.glob("lib/python3*/site-packages/ray-*.dist-info"):
        return path.name.removeprefix("ray-").removesuffix(".dist-info")
    return ""


def installed_python(environment: Path) -> str:
    """The version, as 3.11; "" where there is none."""
    return next((path.name.removeprefix("python") for path in environment.glob("lib/python3*")), "")


def mismatch(container: Mapping[str, Any], installed: str, python: str, stated: str = "") -> str:
    """One sentence when the container's image or RAY_VERSION, or else the `stated` rayVersion of its cluster, names another Ray than the
    installed one, or the image another Python; else ""."""
    image = container.get("image") or ""
    sentences = [ray_mismatch(container, image, installed, stated)]
    if (tag := PYTHON.search(image)) and f"3.{tag.group(1)}" != python:
        sentences.append(
            f"image {image} asks for Python 3.{tag.group(1)}; {f'Python {python}' if python else 'no Python at all'} stands for it"
        )
    return "; ".join(filter(None, sentences))


def ray_mismatch(container: Mapping[str, Any], image: str, installed: str, stated: str) -> str:
    tag = TAG.search(image)
    variable = next((entry.get("value") for entry in container.get("env") or () if entry["name"] == VERSION_VARIABLE), None)
    wanted = tag.group(1) if tag else variable or stated
    if not wanted or wanted == installed:
        return ""
    source = f"image {image}" if tag else f"{VERSION_VARIABLE}={wanted}" if variable else f"spec.rayVersion: {wanted}"
    here = f"Ray {installed}" if installed else "no Ray at all"
    return f"{source} asks for Ray {wanted}; {here} stands for it (docs/local.md says how to have another one)"
