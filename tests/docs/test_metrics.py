"""docs/metrics.md lists every metric, and no other."""

from __future__ import annotations

from rayfleet.autoscaling.metrics import Measure
from rayfleet.autoscaling.tally import Tally
from rayfleet.raycluster.metrics import measure
from rayfleet.rayjob.metrics import measure as measure_jobs
from rayfleet.rayservice.metrics import measure as measure_services
from rayfleet.runtime.metrics import Metrics
from tests.docs.tables import rows


def test_every_metric_is_documented_with_its_type_and_labels_and_nothing_else_is() -> None:
    metrics, measure_sizes = Metrics(host="api", lease="rayfleet"), Measure(Tally(), tuple)
    metrics.measure(measure, ())
    metrics.measure(measure_services, ())
    metrics.measure(measure_jobs, ())
    metrics.measure(measure_sizes, ())
    told = [line.split()[2:] for line in metrics.text().decode().splitlines() if line.startswith("# TYPE")]
    measured = (*measure(()), *measure_services(()), *measure_jobs(()), *measure_sizes(()))
    labels = {gauge.name: set(gauge.labels) for gauge in (*measured, *metrics._peers.totals())}
    for collector in metrics.registry._collector_to_names:  # no public way leads to the labels of a metric without samples
        if name := getattr(collector, "_name", ""):
            labels[f"{name}_total" if collector._type == "counter" else name] = set(collector._labelnames)
    documented = {row[0]: row for row in rows("metrics.md")}
    assert dict(told) == {name: row[1] for name, row in documented.items()}
    listed = {name: set(filter(None, row[2].split(", "))) for name, row in documented.items() if not name.startswith("process_")}
    assert listed == labels
