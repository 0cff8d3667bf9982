"""The `ray start` command line: parameters are data until they become one quoted line (design, decision 8; KubeRay, 2.4).

KubeRay pastes values into a shell, and manifests made for it rely on that in two ways that are kept: a value may come wrapped in shell
quotes (`'"{\\"A\\": 1}"'`), and it may name an environment variable (`$MY_POD_IP`). Everything else is literal.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from rayfleet.api.quantity import parse
from rayfleet.resources import ports

KEPT_WHEN_FALSE = frozenset({"log-color", "include-dashboard", "include-log-monitor"})
ACCELERATORS = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
PLAIN = re.compile(r"[A-Za-z0-9_./:@%+=,-]+")
VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")


def head_params(
    given: Mapping[str, str], resources: Mapping[str, Any], overrides: Mapping[str, str], marks: Mapping[str, str]
) -> dict[str, str]:
    """The head's start parameters: the user's, completed. `resources` is container 0's; `overrides` and `marks` the group's maps."""
    params = {"dashboard-host": "0.0.0.0", **common(given)}
    return with_labels(with_resources(params, resources, overrides), marks)


def worker_params(
    given: Mapping[str, str], address: str, resources: Mapping[str, Any], overrides: Mapping[str, str], marks: Mapping[str, str]
) -> dict[str, str]:
    """A worker's start parameters. `address` is the head's `host:port`; a user's own address wins."""
    params = {"address": address, **common(given)}
    return with_labels(with_resources(params, resources, overrides), marks)


def common(given: Mapping[str, str]) -> dict[str, str]:
    return {
        "metrics-export-port": str(ports.DEFAULTS[ports.METRICS]),
        "dashboard-agent-listen-port": str(ports.DEFAULTS[ports.AGENT]),
        **given,
        "block": "true",
    }


def with_resources(params: dict[str, str], resources: Mapping[str, Any], overrides: Mapping[str, str]) -> dict[str, str]:
    """What the container is given becomes what Ray is told, unless the user said it; a group's `resources` map says it anew."""
    limits: Mapping[str, Any] = resources.get("limits") or {}
    requests: Mapping[str, Any] = resources.get("requests") or {}
    found: dict[str, str] = {}
    cpus = [count for amounts in (limits, requests) if (count := parse(amounts.get("cpu") or 0).ceil())]
    if cpus:
        found["num-cpus"] = str(cpus[0])
    if memory := parse(limits.get("memory") or 0).ceil():
        found["memory"] = str(memory)
    if gpu := first_gpu(limits):
        found["num-gpus"] = gpu
    given = literal_json(params["resources"]) if params.get("resources") else {}
    if given is None:  # only the shell knows what they are
        return {**found, **params}
    custom = dict(given)
    for name, amount in sorted(overrides.items()):
        key = "num-gpus" if is_gpu(name.lower()) else {"cpu": "num-cpus", "memory": "memory"}.get(name.lower())
        if key:
            found[key] = str(parse(amount).ceil())
        else:
            custom[name] = number(amount)
    if custom.keys().isdisjoint(ACCELERATORS.values()):
        custom |= first_accelerator(limits)
    if custom != given:
        return {**found, **params, "resources": json.dumps(custom, separators=(",", ":"), sort_keys=True)}
    return {**found, **params}


def first_accelerator(limits: Mapping[str, Any]) -> dict[str, int]:
    """What Ray calls the first accelerator among the limits that has a name of its own there."""
    for name in sorted(ACCELERATORS.keys() & limits.keys()):
        if count := parse(limits[name]).ceil():
            return {ACCELERATORS[name]: count}
    return {}


def first_gpu(limits: Mapping[str, Any]) -> str:
    """The number of GPUs among the limits, "" for none: that of the first name that has any."""
    for name in sorted(limits):
        if is_gpu(name) and (count := parse(limits[name]).ceil()):
            return str(count)
    return ""


def is_gpu(name: str) -> bool:
    """Is it the name of a GPU, of whatever vendor, or of a MIG slice?"""
    return name.endswith("gpu") or name.startswith("nvidia.com/mig-")


def with_labels(params: dict[str, str], marks: Mapping[str, str]) -> dict[str, str]:
    if not marks:
        return params
    return {**params, "labels": ",".join(f"{name}={value}" for name, value in sorted(marks.items()))}


def literal_json(value: str) -> dict[str, Any] | None:
    """The `resources` parameter as an object, from plain JSON or from JSON in shell quotes; None when it is neither."""
    for text in (value, unquoted(value)):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return None


def number(amount: str) -> int | float:
    exact = parse(amount).amount
    return int(exact) if exact.denominator == 1 else float(exact)


def unquoted(value: str) -> str:
    """The value without the shell quotes that wrap the whole of it, if some do."""
    text = value.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        try:
            words = shlex.split(text)
        except ValueError:
            return value
        if len(words) == 1:
            return words[0]
    return value


def quoted(value: str) -> str:
    """One word for a shell: the literal value, in which only `$NAME` and `${NAME}` are looked up."""
    literal = unquoted(value)
    if PLAIN.fullmatch(literal):
        return literal
    if not VARIABLE.search(literal):
        return shlex.quote(literal)
    pieces, last = [], 0
    for match in VARIABLE.finditer(literal):
        pieces += [re.sub(r'([\\"`$])', r"\\\1", literal[last : match.start()]), match.group()]
        last = match.end()
    pieces.append(re.sub(r'([\\"`$])', r"\\\1", literal[last:]))
    return f'"{"".join(pieces)}"'


def flags(params: Mapping[str, str]) -> list[str]:
    """The flags in alphabetical order: "true" is a bare flag, "false" is left out unless Ray's default is true."""
    words = []
    for name, value in sorted(params.items()):
        text = value.strip().lower()
        if text == "true" and name not in KEPT_WHEN_FALSE:
            words.append(f"--{name}")
        elif text != "false" or name in KEPT_WHEN_FALSE:
            words.append(f"--{name}={quoted(value)}")
    return words


def command_line(params: Mapping[str, str], *, head: bool) -> str:
    """The whole line, as it stands in `KUBERAY_GEN_RAY_START_CMD` too."""
    return " ".join(["ray start", *(["--head"] if head else []), *flags({name: value for name, value in params.items() if name != "head"})])
