"""How many clusters are sized by the operator, by what their condition says. Made from the objects at each scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rayfleet.api.decode import Undecodable
from rayfleet.api.raycluster import RayCluster
from rayfleet.autoscaling.sizing import CONDITION
from rayfleet.planning.conditions import find
from rayfleet.planning.gauge import Gauge

CLUSTERS = ("rayfleet_autoscaling_clusters", "RayClusters whose groups the operator sizes, by the reason of their condition", ("reason",))


def measure(clusters: Iterable[RayCluster | Undecodable]) -> tuple[Gauge, ...]:
    reasons = Counter(found.reason for each in clusters if (found := find(each.status.conditions, CONDITION)) is not None)
    return (Gauge(*CLUSTERS, [((reason,), float(count)) for reason, count in sorted(reasons.items())]),)
