"""Health probes for the Ray container, added only where the user set none (KubeRay, 2.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.validation.versions import too_old
from rayfleet.resources import ports

PROXY_HEALTH = "-/healthz"
HEALTHZ_SINCE = "2.53.0"
"""The agent's `/api/healthz` answers for raylet and GCS in one, from Ray 2.53 on."""
BRIDGED = 10
"""Seconds for which Serve's proxy may say 503 before its worker takes no more requests. It says so for half a minute before it goes, and
serves all the while; and for a moment when Serve's controller has come back and looks for its replicas, and then it stays."""


def with_probes(
    container: dict[str, Any], node_type: str, params: Mapping[str, str], ray_version: str, config: Configuration, proxy: int = 0
) -> dict[str, Any]:
    """The container with the probes it lacks. `proxy` is the port of Serve's proxy without which it is not ready (0: of none)."""
    if not config.enable_probes_injection:
        return container
    added: dict[str, Any] = {}
    if not container.get("livenessProbe"):
        added["livenessProbe"] = probe(node_type, params, ray_version, config, delay=30, failures=120)
    if not container.get("readinessProbe"):
        check = serving(params, proxy, ray_version) if proxy else None
        failures = patience(config) if proxy else 10
        added["readinessProbe"] = probe(node_type, params, ray_version, config, delay=10, failures=failures, check=check)
    return {**container, **added}


def serving(params: Mapping[str, str], proxy: int, ray_version: str) -> dict[str, Any]:
    """Does Serve's proxy answer?"""
    if not too_old(ray_version, HEALTHZ_SINCE):
        return {"httpGet": {"path": f"/{PROXY_HEALTH}", "port": proxy}}
    checks = [answers(ports.port_of(ports.AGENT, params), "api/local_raylet_healthz"), answers(proxy, PROXY_HEALTH)]
    return {"exec": {"command": ["bash", "-c", " && ".join(checks)]}}


def patience(config: Configuration) -> int:
    """Failed probes in a row after which a worker takes no more requests."""
    return math.ceil(BRIDGED / period(config))


def period(config: Configuration) -> int:
    """Seconds between two probes."""
    return config.injected_probes.period_seconds or 5


def probe(
    node_type: str,
    params: Mapping[str, str],
    ray_version: str,
    config: Configuration,
    *,
    delay: int,
    failures: int,
    check: dict[str, Any] | None = None,
) -> dict[str, Any]:
    injected = config.injected_probes
    return {
        **(check or health_check(node_type, params, ray_version)),
        "initialDelaySeconds": delay if injected.initial_delay_seconds is None else injected.initial_delay_seconds,
        "periodSeconds": period(config),
        "timeoutSeconds": 5 if node_type == labels.HEAD else 2,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def health_check(node_type: str, params: Mapping[str, str], ray_version: str) -> dict[str, Any]:
    agent = ports.port_of(ports.AGENT, params)
    if not too_old(ray_version, HEALTHZ_SINCE):
        return {"httpGet": {"path": "/api/healthz", "port": agent}}
    checks = [answers(agent, "api/local_raylet_healthz")]
    if node_type == labels.HEAD:
        checks.append(answers(ports.port_of(ports.DASHBOARD, params), "api/gcs_healthz"))
    return {"exec": {"command": ["bash", "-c", " && ".join(checks)]}}


def answers(port: int, path: str) -> str:
    """A shell test that Ray's endpoint says `success`. One try stays within the probe's own time-out of 2 s a check."""
    return f"wget --tries 1 -T 2 -q -O- http://localhost:{port}/{path} | grep success"
