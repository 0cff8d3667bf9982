"""Ray's Serve API (reference: Ray, C; https://docs.ray.io/en/latest/serve/api/index.html#serve-rest-api)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rayfleet.ray.answer import Act, Question

PATH = "/api/serve/applications/"
HEALTH = "/-/healthz"


class Deployment(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""
    replicas: tuple[Any, ...] = ()


class Application(msgspec.Struct, frozen=True):
    """`deployed_app_config` is what Ray was last told of it; None for one that was not deployed declaratively."""

    status: str = ""
    message: str = ""
    route_prefix: str | None = None
    deployments: dict[str, Deployment] = {}
    deployed_app_config: dict[str, Any] | None = None


class Proxy(msgspec.Struct, frozen=True):
    status: str = ""
    node_ip: str = ""


class Details(msgspec.Struct, frozen=True):
    """All that Serve says of itself. No applications and no proxies: it was told nothing yet. `target_capacity`: the percentage of their
    replicas that deployments have at present; None: they were never scaled by it."""

    applications: dict[str, Application] = {}
    proxies: dict[str, Proxy] = {}
    target_capacity: float | None = None
    proxy_location: str | None = None
    http_options: dict[str, Any] | None = None


def details() -> Question:
    """Details."""
    return Question(f"{PATH}?api_type=declarative", Details)


def deploy(config: Mapping[str, Any]) -> Act:
    """The whole config: applications that it does not name are deleted. JSON, for Ray takes no YAML."""
    return Act("PUT", PATH, msgspec.json.encode(config))


def health(port: int, label: str = "") -> Question:
    """Bytes: `success`. Of the proxy on the head, at its own port. `label`: whether requests are sent there at present."""
    return Question(HEALTH, bytes, port, amid=label)
