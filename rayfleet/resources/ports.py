"""Ports of Ray's own services: their names, their defaults, and the start parameters that change them (KubeRay, 2.3 and 2.13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CLIENT = "client"
GCS = "gcs-server"
DASHBOARD = "dashboard"
METRICS = "metrics"
SERVE = "serve"
AGENT = "dashboard-agent"

DEFAULTS: Mapping[str, int] = {CLIENT: 10001, GCS: 6379, DASHBOARD: 8265, METRICS: 8080, SERVE: 8000, AGENT: 52365}
PARAMETERS: Mapping[str, str] = {
    CLIENT: "ray-client-server-port",
    GCS: "port",
    DASHBOARD: "dashboard-port",
    METRICS: "metrics-export-port",
    AGENT: "dashboard-agent-listen-port",
}


def port_of(name: str, params: Mapping[str, str]) -> int:
    """The port that the named service listens on, given the start parameters of its node."""
    value = params.get(PARAMETERS.get(name, ""), "").strip("'\" \t\n")  # in the shell's quotes it is the same port
    return int(value) if value.isdecimal() else DEFAULTS[name]


def container_ports(container: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(name, number) of a container's declared ports; an unnamed one is called after its number."""
    ports: Iterable[Mapping[str, Any]] = container.get("ports") or ()
    return [(port.get("name") or f"{port['containerPort']}-port", int(port["containerPort"])) for port in ports]
