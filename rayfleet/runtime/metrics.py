"""Prometheus metrics. Children are bound once, since looking them up costs four times what counting does.

Nothing is labelled by object but the back-offs in force, which go away with their reason.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from rayfleet.api.meta import Key

disable_created_metrics()  # they would double the number of series, and nobody reads them

SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0)


class Metrics:
    """One process' metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = into = CollectorRegistry()
        self._reconciles = Counter("rayfleet_reconciles_total", "Looks at an object, by outcome", ("kind", "result"), registry=into)
        self._durations = Histogram("rayfleet_reconcile_seconds", "Duration of a look", ("kind",), buckets=SECONDS, registry=into)
        self._depth = Gauge("rayfleet_queue_depth", "Objects that wait for their turn", ("kind",), registry=into)
        self._requests = Counter("rayfleet_requests_total", "Requests; code 0: no answer", ("verb", "code"), registry=into)
        self._latency = Histogram("rayfleet_request_seconds", "Duration of a request", ("verb",), buckets=SECONDS, registry=into)
        self._writes = Counter("rayfleet_writes_total", "Writes, status writes among them", ("kind", "verb", "outcome"), registry=into)
        self._events = Counter("rayfleet_events_total", "Events told of, by what became of them", ("outcome",), registry=into)
        self._objects = Gauge("rayfleet_cached_objects", "Objects in the caches", ("kind",), registry=into)
        held_back = ("kind", "namespace", "name")
        self._backoffs = Gauge("rayfleet_backoff_scopes", "Parts of an object that wait after a failure", held_back, registry=into)
        self.leading = Gauge("rayfleet_leading", "1 while this process may write", registry=into)
        self._bound: dict[tuple[str, ...], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def answered(self, verb: str, code: int, seconds: float) -> None:
        """A request was answered (for the client's `on_answer`)."""
        self._count(self._requests, verb, str(code))
        timer = self._timers.get(verb)
        if timer is None:
            timer = self._timers[verb] = self._latency.labels(verb)
        timer.observe(seconds)

    def wrote(self, kind: str, verb: str, outcome: str) -> None:
        self._count(self._writes, kind, verb, outcome)

    def event(self, outcome: str) -> None:
        self._count(self._events, outcome)

    def watch_cache(self, kind: str, size: Callable[[], int]) -> None:
        """Report a cache's size at each scrape."""
        self._objects.labels(kind).set_function(size)

    def of_kind(self, kind: str, depth: Callable[[], int]) -> KindMetrics:
        self._depth.labels(kind).set_function(depth)
        return KindMetrics(kind, self._reconciles, self._durations.labels(kind), self._backoffs)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)

    def _count(self, counter: Counter, *labels: str) -> None:
        found = self._bound.get(labels)
        if found is None:
            found = self._bound[labels] = counter.labels(*labels)
        found.inc()


class KindMetrics:
    """What one controller counts. Results: done, waiting (for its own writes to show), gone, failed."""

    def __init__(self, kind: str, reconciles: Counter, seconds: Histogram, backoffs: Gauge) -> None:
        self._kind = kind
        self._results = {result: reconciles.labels(kind, result) for result in ("done", "waiting", "gone", "failed")}
        self._seconds = seconds
        self._backoffs = backoffs
        self._troubled: set[Key] = set()

    def looked(self, result: str, seconds: float) -> None:
        self._results[result].inc()
        self._seconds.observe(seconds)

    def troubled(self, key: Key, scopes: int) -> None:
        """How many parts of an object wait after a failure; the series exists only while there are any."""
        if scopes:
            self._troubled.add(key)
            self._backoffs.labels(self._kind, *key).set(scopes)
        elif key in self._troubled:
            self._troubled.discard(key)
            self._backoffs.remove(self._kind, *key)
