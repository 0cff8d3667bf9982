"""Is the spec one that can be acted on? All faults at once, with path, value and what is allowed."""

from __future__ import annotations

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.rayservice import RayService
from rayfleet.api.validation import validate_service
from rayfleet.api.validation.ray_service import INCREMENTAL, NEW_CLUSTER
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.rayservice.observed import Observed


def checked(observed: Observed) -> ServeConfig | tuple[Fault, ...]:
    """What is to be deployed, or what is wrong with the service."""
    service = observed.service
    if isinstance(service, Undecodable):
        return service.faults
    faults, config = (*validate_service(service, observed.config), *unserved(service)), read_config(service.spec.serve_config_v2)
    if isinstance(config, ServeConfig):
        return faults or config
    return (*faults, *config)


def unserved(service: RayService) -> tuple[Fault, ...]:
    """What is right and not carried out: who runs in that way is left as he is."""
    strategy = service.spec.upgrade_strategy
    if strategy is None or strategy.type != INCREMENTAL:
        return ()
    return (Fault("spec.upgradeStrategy.type", f"{INCREMENTAL} is not carried out by this version", f"use {NEW_CLUSTER}"),)
