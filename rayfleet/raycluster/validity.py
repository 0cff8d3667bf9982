"""Is the spec one that can be acted on? All faults at once, with path, value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.decode import Undecodable
from rayfleet.api.fault import Fault
from rayfleet.api.raycluster import RayCluster, RayClusterSpec
from rayfleet.api.validation import validate_cluster
from rayfleet.raycluster.observed import Observed


def faults_of(observed: Observed) -> tuple[Fault, ...]:
    cluster = observed.cluster
    if isinstance(cluster, Undecodable):
        return cluster.faults
    return (*validate_cluster(cluster, observed.config), *unserved(cluster))


def unserved(cluster: RayCluster) -> Iterator[Fault]:
    """What this version does not do yet, where doing without it in silence would lose protection or data."""
    spec = cluster.spec
    for path, asked in protections(spec):
        if asked:
            yield Fault(path, "this version of rayfleet does not serve it yet", "leave it out")


def protections(spec: RayClusterSpec) -> tuple[tuple[str, bool], ...]:
    return (("spec.gcsFaultToleranceOptions", spec.gcs_fault_tolerance_options is not None),)
