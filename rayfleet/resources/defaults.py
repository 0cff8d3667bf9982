"""What the operator's configuration adds to every Ray container (KubeRay, 5.1)."""

from __future__ import annotations

from typing import Any

from rayfleet.api.config import Configuration


def variables(config: Configuration) -> list[dict[str, Any]]:
    """Fresh copies of the configured environment variables."""
    return [dict(variable) for variable in config.default_container_envs]
