"""A container's environment. Pure: what it refers to has been fetched before.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#environment-variables
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rayfleet.api.quantity import parse

REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.\-][A-Za-z0-9_.\-]*)\)")
NAME = re.compile(r"[A-Za-z_.\-][A-Za-z0-9_.\-]*")
SURROGATES = re.compile("[\ud800-\udfff]")  # in these, bytes that are no text are kept
KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")

Source = tuple[str, str]  # ("secret", "configmap" or "claim", name), or ("token", "SECONDS AUDIENCE"): an audience may be empty


class ConfigError(Exception):
    """The container's configuration refers to something that is not there; the text names it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the downward API may say."""

    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    pod_ip: str
    host_ip: str
    allocatable: Mapping[str, str]  # of the node: what a container without limits is told
    sources: Mapping[Source, Mapping[str, str] | None] = field(default_factory=dict)  # decoded data; None: not found


def expand(text: str, values: Mapping[str, str]) -> str:
    """`$(NAME)` by its value; an unknown one stays as written, `$$` is a dollar."""

    def one(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        return values.get(match.group(1), match.group(0))

    return REFERENCE.sub(one, text)


def sources_of(container: Mapping[str, Any]) -> list[Source]:
    """The Secrets and ConfigMaps that the container's environment refers to."""
    found: list[Source] = []
    for entry in container.get("envFrom") or ():
        found += [(kind, entry[key]["name"]) for key, kind in (("secretRef", "secret"), ("configMapRef", "configmap")) if entry.get(key)]
    for entry in container.get("env") or ():
        origin = entry.get("valueFrom") or {}
        for key, kind in (("secretKeyRef", "secret"), ("configMapKeyRef", "configmap")):
            if origin.get(key):
                found.append((kind, origin[key]["name"]))
    return sorted(set(found))


def environment(container: Mapping[str, Any], base: Mapping[str, str], facts: Facts) -> dict[str, str]:
    """`base`, then envFrom, then env, each able to refer to what came before. Raises ConfigError."""
    values = dict(base)
    for entry in container.get("envFrom") or ():
        values.update(whole_source(entry, facts))
    for entry in container.get("env") or ():
        value = one_value(entry, container, values, facts)
        if value is not None:
            values[entry["name"]] = value
    return values


def whole_source(entry: Mapping[str, Any], facts: Facts) -> dict[str, str]:
    kind = "secret" if entry.get("secretRef") else "configmap"
    reference = entry.get("secretRef") or entry.get("configMapRef") or {}
    data = facts.sources.get((kind, reference.get("name", "")))
    if data is None:
        if reference.get("optional"):
            return {}
        raise ConfigError(f'{kind} "{reference.get("name", "")}" not found')
    prefix = entry.get("prefix") or ""
    named = {key: value for key, value in sorted(data.items()) if NAME.fullmatch(prefix + key)}
    return {prefix + key: value for key, value in named.items() if is_text(kind, reference["name"], key, value)}


def is_text(kind: str, name: str, key: str, value: str) -> bool:
    """What a variable can hold. A ConfigMap's other data is for volumes alone; a Secret's raises ConfigError."""
    if "\0" not in value and not SURROGATES.search(value):
        return True
    if kind == "configmap":
        return False
    raise ConfigError(f'{kind} "{name}": the value of {key} is no text, and cannot be that of an environment variable')


def one_value(entry: Mapping[str, Any], container: Mapping[str, Any], values: Mapping[str, str], facts: Facts) -> str | None:
    origin = entry.get("valueFrom")
    if not origin:
        return expand(entry.get("value") or "", values)
    if origin.get("fieldRef"):
        return field_value(origin["fieldRef"]["fieldPath"], facts)
    if origin.get("resourceFieldRef"):
        return resource_value(origin["resourceFieldRef"], container, facts)
    kind = "secret" if origin.get("secretKeyRef") else "configmap"
    reference = origin.get("secretKeyRef") or origin.get("configMapKeyRef")
    if reference is None:
        raise ConfigError(f"environment variable {entry['name']}: valueFrom holds none of the known sources")
    return keyed_value(kind, reference, facts)


def keyed_value(kind: str, reference: Mapping[str, Any], facts: Facts) -> str | None:
    data = facts.sources.get((kind, reference["name"]))
    if data is not None and reference["key"] in data and is_text(kind, reference["name"], reference["key"], data[reference["key"]]):
        return data[reference["key"]]
    if reference.get("optional"):
        return None
    if data is None:
        raise ConfigError(f'{kind} "{reference["name"]}" not found')
    raise ConfigError(f"couldn't find key {reference['key']} in {kind} {facts.metadata.get('namespace')}/{reference['name']}")


def field_value(path: str, facts: Facts) -> str:
    keyed = KEYED_FIELD.fullmatch(path)
    if keyed:
        return str((facts.metadata.get(keyed.group(1)) or {}).get(keyed.group(2), ""))
    known = {
        "spec.nodeName": facts.spec.get("nodeName"),
        "spec.serviceAccountName": facts.spec.get("serviceAccountName") or "default",
        "status.podIP": facts.pod_ip,
        "status.podIPs": facts.pod_ip,
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
        "metadata.name": facts.metadata.get("name"),
        "metadata.namespace": facts.metadata.get("namespace"),
        "metadata.uid": facts.metadata.get("uid"),
        "metadata.labels": lines(facts.metadata.get("labels") or {}),
        "metadata.annotations": lines(facts.metadata.get("annotations") or {}),
    }
    if path not in known:
        raise ConfigError(f"fieldPath {path} is not supported")
    return str(known[path] or "")


def lines(values: Mapping[str, str]) -> str:
    """As files of the downward API have them."""
    return "\n".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(values.items()))


def resource_value(reference: Mapping[str, Any], container: Mapping[str, Any], facts: Facts) -> str:
    """Rounded up to whole divisors; without a limit, what the node has to give."""
    name = reference.get("containerName")
    if name:
        everyone = [*(facts.spec.get("initContainers") or ()), *(facts.spec.get("containers") or ())]
        container = next((one for one in everyone if one["name"] == name), {})
    part, _, resource = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(part) or {}).get(resource) or (facts.allocatable.get(resource, "0") if part == "limits" else "0")
    divisor = parse(reference.get("divisor") or "1").amount or Fraction(1)
    return str(math.ceil(parse(amount).amount / divisor))
