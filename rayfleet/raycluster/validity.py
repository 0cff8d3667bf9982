"""Is the spec one that can be acted on? All faults at once, with path, value and what is allowed."""

from __future__ import annotations

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.validation import validate_cluster
from rayfleet.raycluster.observed import Observed


def faults_of(observed: Observed) -> tuple[Fault, ...]:
    cluster = observed.cluster
    if isinstance(cluster, Undecodable):
        return cluster.faults
    return tuple(validate_cluster(cluster, observed.config))
