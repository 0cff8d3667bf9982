"""The operator's configuration, read once: a flag counts before the environment, the environment before the file, the file before defaults.

`run`, `render`, `plan` and `diff` read it alike; the flags of single settings are `run`'s alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rayfleet.cli.settings import BY_FIELD, SETTINGS, TRUTHS, Setting

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.cli.options import Command

API_VERSION, KIND = "config.ray.io/v1alpha1", "Configuration"
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Effective:
    """The configuration, and where each value that is no default came from, by the name in the file (`featureGates.NAME` for a gate)."""

    configuration: Configuration
    origins: Mapping[str, str]


def configuration_options(command: Command) -> Command:
    """--config and --feature-gates."""
    told = "Switches, for example RayMultiHostIndexing=false,RayCronJob=true."
    command = click.option("--feature-gates", "gates", default="", metavar="GATE=BOOL,...", help=told)(command)
    return click.option("--config", "file", metavar="FILE", help="A config.ray.io/v1alpha1 Configuration, YAML or JSON.")(command)


def configuration_of(file: str | None, gates: str, environ: Mapping[str, str]) -> Configuration:
    """Raises UsageError that names the file, variable or gate, and what may stand there."""
    return effective(file, gates, {}, environ).configuration


def effective(file: str | None, gates: str, flags: Mapping[str, str], environ: Mapping[str, str]) -> Effective:
    """As `configuration_of`; `flags` holds texts by field of `Configuration`."""
    import msgspec

    document = document_of(file)
    config = from_file(document, file)
    origins = {name: f"file {file}" for name in document if name not in ("apiVersion", "kind", "featureGates")}
    origins |= {f"featureGates.{name}": f"file {file}" for name in config.feature_gates}
    changes: dict[str, Any] = {}
    for setting in SETTINGS:
        if setting.env and environ.get(setting.env):
            changes[setting.field] = parsed(setting, setting.env, environ[setting.env])
            origins[json_name(setting.field)] = f"environment {setting.env}"
        if setting.field in flags:
            changes[setting.field] = parsed(setting, "/".join(setting.flags), flags[setting.field])
            origins[json_name(setting.field)] = f"flag {setting.flags[0]}"
    switched = gates_of(gates)
    origins |= {f"featureGates.{name}": "flag --feature-gates" for name in switched}
    changes["feature_gates"] = known({**config.feature_gates, **switched})
    config = msgspec.structs.replace(config, **changes)
    exclude(config)
    return Effective(config, origins)


def document_of(file: str | None) -> dict[str, Any]:
    import yaml

    if file is None:
        return {}
    try:
        found = yaml.safe_load(Path(file).read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise click.UsageError(f"--config {file}: {error}") from error
    if not isinstance(found or {}, dict):
        raise click.UsageError(f"--config {file}: it holds no {KIND}, which is a mapping")
    return found or {}


def from_file(document: dict[str, Any], file: str | None) -> Configuration:
    import msgspec

    from rayfleet.api.config import Configuration

    fields = {each.encode_name: each.name for each in msgspec.structs.fields(Configuration)}
    for name, value in document.items():
        if name not in fields:
            meant = get_close_matches(str(name), fields, n=1)
            told = f"did you mean {meant[0]}? " if meant else ""
            raise click.UsageError(f"--config {file}: there is no field {name}; {told}there are: {', '.join(sorted(fields))}")
        setting = BY_FIELD.get(fields[name])
        if setting and not setting.form.fits(value):
            raise click.UsageError(f"--config {file}: {name} is {value!r}; it must be {setting.form.allowed}")
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if document.get(name, wanted) != wanted:
            raise click.UsageError(f"--config {file}: {name} is {document[name]!r}; it must be {wanted}")
    try:
        return msgspec.convert(document, Configuration, strict=True)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"--config {file}: {error}") from error


def parsed(setting: Setting, name: str, text: str) -> Any:
    try:
        value = setting.form.parse(text)
    except ValueError:
        value = None
    if value is None or not setting.form.fits(value):
        raise click.UsageError(f"{name}: {text!r}; it must be {setting.form.allowed}")
    return value


def gates_of(text: str) -> dict[str, bool]:
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise click.UsageError(f"--feature-gates: {part!r} is no GATE=true or GATE=false")
        if value.lower() not in TRUTHS:
            raise click.UsageError(f"--feature-gates {name}: {value!r} is neither true nor false")
        found[name.strip()] = TRUTHS[value.lower()]
    return found


def known(gates: dict[str, bool]) -> dict[str, bool]:
    from rayfleet.api.config import FEATURE_GATES

    for name in gates:
        if name not in FEATURE_GATES:
            raise click.UsageError(f"there is no feature gate {name}; there are: {', '.join(sorted(FEATURE_GATES))}")
    return gates


def exclude(config: Configuration) -> None:
    """Settings that contradict each other (KubeRay, 5.1, 5.2)."""
    if config.enable_batch_scheduler and config.batch_scheduler not in ("", "volcano"):
        raise click.UsageError(f"enableBatchScheduler means volcano, and batchScheduler is {config.batch_scheduler}; leave one of them out")
    if config.gate("KubernetesWAS") and (config.batch_scheduler or config.enable_batch_scheduler):
        raise click.UsageError("the feature gate KubernetesWAS and a batch scheduler exclude each other; leave one of them out")


def json_name(field: str) -> str:
    """The name of a field of `Configuration` in the file."""
    import msgspec

    from rayfleet.api.config import Configuration

    return next(each.encode_name for each in msgspec.structs.fields(Configuration) if each.name == field)
