"""Gateways and HTTPRoutes, as far as decisions read them (Gateway API v1, https://gateway-api.sigs.k8s.io/reference/spec/)."""

from __future__ import annotations

import msgspec

from rayfleet.api.meta import Condition
from rayfleet.api.views import ChildView, decode_child

ROUTE_CONDITIONS = ("Accepted", "ResolvedRefs")
"""What every implementation says of a route."""


class GatewayStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[Condition, ...] | None = None


class GatewayView(ChildView, frozen=True, gc=False):
    """A Gateway, and what its controller says of it."""

    status: GatewayStatus = GatewayStatus()


class ParentStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What one Gateway's controller says of a route."""

    controller_name: str = ""
    conditions: tuple[Condition, ...] | None = None

    @property
    def seen(self) -> int | None:
        """The generation of the route that it has judged, in whole; None while it tells of none."""
        told = [each.observed_generation for each in self.conditions or () if each.type in ROUTE_CONDITIONS]
        return min((generation for generation in told if generation is not None), default=None)


class RouteStatus(msgspec.Struct, frozen=True, gc=False):
    parents: tuple[ParentStatus, ...] | None = None


class BackendRef(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    weight: int = 1


class RouteRule(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    backend_refs: tuple[BackendRef, ...] = ()


class RouteSpec(msgspec.Struct, frozen=True, gc=False):
    rules: tuple[RouteRule, ...] = ()


class RouteBody(msgspec.Struct, frozen=True, gc=False):
    spec: RouteSpec = RouteSpec()


class RouteView(ChildView, frozen=True, gc=False):
    """An HTTPRoute, and what the controllers of its Gateways say of it."""

    status: RouteStatus = RouteStatus()

    @property
    def weights(self) -> dict[str, int]:
        """Of the Services of its first rule, in their order."""
        rules = msgspec.json.decode(self.content, type=RouteBody).spec.rules
        return {backend.name: backend.weight for backend in rules[0].backend_refs} if rules else {}


class GatewayBody(msgspec.Struct, frozen=True, gc=False):
    status: GatewayStatus = GatewayStatus()


class RouteStatusBody(msgspec.Struct, frozen=True, gc=False):
    status: RouteStatus = RouteStatus()


def decode_gateway(raw: bytes) -> GatewayView:
    """As `decode_child`, with the status."""
    view = decode_child(raw, GatewayView)
    return msgspec.structs.replace(view, status=msgspec.json.decode(raw, type=GatewayBody).status)


def decode_route(raw: bytes) -> RouteView:
    """As `decode_child`, with the status."""
    view = decode_child(raw, RouteView)
    return msgspec.structs.replace(view, status=msgspec.json.decode(raw, type=RouteStatusBody).status)
