"""Health probes for the Ray container, added only where the user set none (KubeRay, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.validation.versions import too_old
from rayfleet.resources import ports

HEALTHZ_SINCE = "2.53.0"
"""The agent's `/api/healthz` answers for raylet and GCS in one, from Ray 2.53 on."""


def with_probes(
    container: dict[str, Any], node_type: str, params: Mapping[str, str], ray_version: str, config: Configuration
) -> dict[str, Any]:
    """The container with the probes it lacks."""
    if not config.enable_probes_injection:
        return container
    added: dict[str, Any] = {}
    if not container.get("livenessProbe"):
        added["livenessProbe"] = probe(node_type, params, ray_version, config, delay=30, failures=120)
    if not container.get("readinessProbe"):
        added["readinessProbe"] = probe(node_type, params, ray_version, config, delay=10, failures=10)
    return {**container, **added}


def probe(
    node_type: str, params: Mapping[str, str], ray_version: str, config: Configuration, *, delay: int, failures: int
) -> dict[str, Any]:
    injected = config.injected_probes
    return {
        **health_check(node_type, params, ray_version),
        "initialDelaySeconds": delay if injected.initial_delay_seconds is None else injected.initial_delay_seconds,
        "periodSeconds": injected.period_seconds or 5,
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
