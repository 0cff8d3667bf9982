"""The operator's configuration, read once: a flag counts before the environment, the environment before the file, the file before defaults.

The environment variables are KubeRay's. `run`, `render` and `plan` read it alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rayfleet.api.config import Configuration
    from rayfleet.cli.options import Command

SWITCHES = {
    "ENABLE_PROBES_INJECTION": "enable_probes_injection",
    "ENABLE_INIT_CONTAINER_INJECTION": "enable_init_container_injection",
    "ENABLE_LOGIN_SHELL": "enable_login_shell",
}
TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def configuration_options(command: Command) -> Command:
    """--config and --feature-gates."""
    told = "Switches, for example RayMultiHostIndexing=false,RayCronJob=true."
    command = click.option("--feature-gates", "gates", default="", metavar="GATE=BOOL,...", help=told)(command)
    return click.option("--config", "file", metavar="FILE", help="A config.ray.io/v1alpha1 Configuration, YAML or JSON.")(command)


def configuration_of(file: str | None, gates: str, environ: Mapping[str, str]) -> Configuration:
    """Raises UsageError that names the file, variable or gate, and what may stand there."""
    import msgspec

    config = from_file(file)
    changes: dict[str, Any] = {field: truth(name, environ[name]) for name, field in SWITCHES.items() if environ.get(name)}
    if environ.get("CLUSTER_DOMAIN"):
        changes["cluster_domain"] = environ["CLUSTER_DOMAIN"]
    changes["feature_gates"] = known({**config.feature_gates, **parsed(gates)})
    return msgspec.structs.replace(config, **changes)


def from_file(file: str | None) -> Configuration:
    import msgspec
    import yaml

    from rayfleet.api.config import Configuration

    if file is None:
        return Configuration()
    try:
        found = yaml.safe_load(Path(file).read_bytes())
        return msgspec.convert(found or {}, Configuration)
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise click.UsageError(f"--config {file}: {error}") from error


def parsed(gates: str) -> dict[str, bool]:
    found = {}
    for part in filter(None, (each.strip() for each in gates.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise click.UsageError(f"--feature-gates: {part!r} is no GATE=true or GATE=false")
        found[name] = truth(f"--feature-gates {name}", value)
    return found


def known(gates: dict[str, bool]) -> dict[str, bool]:
    from rayfleet.api.config import FEATURE_GATES

    for name in gates:
        if name not in FEATURE_GATES:
            raise click.UsageError(f"there is no feature gate {name}; there are: {', '.join(sorted(FEATURE_GATES))}")
    return gates


def truth(name: str, value: str) -> bool:
    if value.lower() not in TRUTHS:
        raise click.UsageError(f"{name}: {value!r} is neither true nor false")
    return TRUTHS[value.lower()]
