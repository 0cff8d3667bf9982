"""A Serve config as its writer wrote it: what is to be deployed, and what is wrong with it (Ray: ServeDeploySchema)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rayfleet.api.fault import Fault, shown
from rayfleet.ray.documents import read_document

PATH = "spec.serveConfigV2"
DEFAULT_NAME, DEFAULT_ROUTE = "default", "/"


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """`document` is what Ray is sent, not to be changed; {} when nothing is to be deployed."""

    document: Mapping[str, Any]
    hash: str

    @property
    def applications(self) -> dict[str, Mapping[str, Any]]:
        return {name_of(application): application for application in self.document.get("applications") or ()}

    @property
    def proxy_location(self) -> str:
        """Where proxies run; "" for where Ray puts them by itself."""
        return str(self.document.get("proxy_location") or "")


@lru_cache(maxsize=2048)
def read_config(text: str) -> ServeConfig | tuple[Fault, ...]:
    """All faults at once, each with its path."""
    try:
        document = read_document(text)
    except ValueError as error:
        return (Fault(PATH, f"is no YAML: {error}"),)
    if document is None:
        return ServeConfig({}, digest({}))
    if not isinstance(document, dict):
        return (Fault(PATH, f"is {kind_of(document)}", "it must be a mapping with the key applications"),)
    try:
        hashed = digest(document)
    except (TypeError, ValueError) as error:
        return (Fault(PATH, f"cannot be sent as JSON: {error}"),)
    return tuple(faults_of(document)) or ServeConfig(document, hashed)


def digest(document: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits, a function of what the config says and not of how it is written."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def name_of(application: Mapping[str, Any]) -> str:
    return str(application.get("name") or DEFAULT_NAME)


def faults_of(document: Mapping[str, Any]) -> Iterator[Fault]:
    applications = document.get("applications")
    path = f"{PATH}.applications"
    if applications is None:
        yield Fault(path, "is missing", "it must be a list of applications")
    elif not isinstance(applications, list):
        yield Fault(path, f"is {kind_of(applications)}", "it must be a list of applications")
    else:
        yield from list_faults(applications, path)


def list_faults(applications: list[Any], path: str) -> Iterator[Fault]:
    names: dict[str, str] = {}
    routes: dict[str, str] = {}
    for index, application in enumerate(applications):
        place = f"{path}[{index}]"
        if not isinstance(application, dict):
            yield Fault(place, f"is {kind_of(application)}", "it must be a mapping")
            continue
        yield from text_faults(application, place)
        yield from taken(names, name_of(application), f"{place}.name", "each application needs a name of its own")
        route = application.get("route_prefix", DEFAULT_ROUTE)
        if isinstance(route, str):
            yield from taken(routes, route.rstrip("/") or "/", f"{place}.route_prefix", "each application needs a route of its own")


def text_faults(application: Mapping[str, Any], place: str) -> Iterator[Fault]:
    target = application.get("import_path")
    if not isinstance(target, str) or not target:
        wrong = "is missing" if target in (None, "") else f"is {kind_of(target)}"
        yield Fault(f"{place}.import_path", wrong, "it must say where the application is, as module:name")
    elif ":" not in target and "." not in target:
        yield Fault(f"{place}.import_path", f"{shown(target)} names no application in a module", "write module:name")
    if not isinstance(application.get("name", ""), str):
        yield Fault(f"{place}.name", f"is {kind_of(application['name'])}", "it must be a text")
    route = application.get("route_prefix", DEFAULT_ROUTE)
    if route is not None and not (isinstance(route, str) and route.startswith("/")):
        yield Fault(f"{place}.route_prefix", f"{shown(route)} is no route", "it must begin with /")


def taken(seen: dict[str, str], value: str, path: str, allowed: str) -> Iterator[Fault]:
    if value in seen:
        yield Fault(path, f"{shown(value)} is also at {seen[value]}", allowed)
    seen.setdefault(value, path)


def kind_of(value: Any) -> str:
    kinds = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a mapping",
        type(None): "empty",
    }
    return kinds.get(type(value), "something else")
