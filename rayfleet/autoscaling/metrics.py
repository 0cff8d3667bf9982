"""What is told of the clusters that the operator sizes. Made from the objects, and from what was counted, at each scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rayfleet.api.decode import Undecodable
from rayfleet.api.raycluster import RayCluster
from rayfleet.autoscaling.sizing import CONDITION
from rayfleet.autoscaling.tally import Tally, Unmet
from rayfleet.planning.conditions import find
from rayfleet.planning.gauge import Gauge

CLUSTERS = ("rayfleet_autoscaling_clusters", "RayClusters whose groups the operator sizes, by the reason of their condition", ("reason",))
OF_CLUSTER = ("namespace", "name")
WAITING = ("rayfleet_autoscaling_waiting", "Tasks, actors and bundles of a cluster that wait for room", OF_CLUSTER)
INFEASIBLE = ("rayfleet_autoscaling_infeasible", "Demands of a cluster that no allowed size could hold", OF_CLUSTER)
CALLS = ("rayfleet_gcs_calls_total", "Calls to heads, by what came of them", ("method", "code"))
SECONDS = ("rayfleet_gcs_call_seconds_total", "Seconds that calls to heads took", ("method",))
DECIDED = ("rayfleet_autoscaling_decisions_total", "Decisions on a cluster's size", ("where",))
DECIDING = ("rayfleet_autoscaling_decision_seconds_total", "Seconds that decisions took", ("where",))
DRAINS = ("rayfleet_autoscaling_drains_total", "Nodes that Ray was asked to drain, by its answer", ("answer",))
SAID = ("rayfleet_autoscaling_changes_total", "What was decided, by the reason of its event", ("reason",))


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """`unmet`: the clusters in which something waits. One is equal to itself alone: the caches of several namespaces are told together."""

    tally: Tally
    unmet: Callable[[], Iterable[Unmet]]

    def __call__(self, clusters: Iterable[RayCluster | Undecodable]) -> tuple[Gauge, ...]:
        reasons = Counter(found.reason for each in clusters if (found := find(each.status.conditions, CONDITION)) is not None)
        unmet = [each for each in self.unmet() if each.waiting or each.infeasible]
        tally = self.tally
        return (
            Gauge(*CLUSTERS, [((reason,), float(count)) for reason, count in sorted(reasons.items())]),
            Gauge(*WAITING, [(each.cluster, float(each.waiting)) for each in unmet]),
            Gauge(*INFEASIBLE, [(each.cluster, float(each.infeasible)) for each in unmet if each.infeasible]),
            Gauge(*CALLS, [(labels, float(count)) for labels, count in sorted(tally.calls.items())], "counter"),
            *(
                Gauge(*metric, counted(numbers), "counter")
                for metric, numbers in (
                    (SECONDS, tally.seconds),
                    (DECIDED, tally.decided),
                    (DECIDING, tally.deciding),
                    (DRAINS, tally.drains),
                    (SAID, tally.said),
                )
            ),
        )


def counted(numbers: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
    return [((name,), float(number)) for name, number in sorted(numbers.items())]
