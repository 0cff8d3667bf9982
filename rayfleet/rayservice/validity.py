"""Is the spec one that can be acted on? All faults at once, with path, value and what is allowed."""

from __future__ import annotations

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.validation import validate_service
from rayfleet.ray.serve_config import ServeConfig, read_config
from rayfleet.rayservice.observed import Observed


def checked(observed: Observed) -> ServeConfig | tuple[Fault, ...]:
    """What is to be deployed, or what is wrong with the service."""
    service = observed.service
    if isinstance(service, Undecodable):
        return service.faults
    faults, config = validate_service(service, observed.config), read_config(service.spec.serve_config_v2)
    if isinstance(config, ServeConfig):
        return faults or config
    return (*faults, *config)
