"""Prometheus metrics: our own, and beside them those that boards made for controller-runtime read, under its names.

Children are bound once, since looking them up costs four times what counting does. Nothing is labelled by object but the back-offs in
force, which go away with their reason, and what a kind measures at each scrape, of which nothing is kept.
Names of the others: https://book.kubebuilder.io/reference/metrics-reference
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics, generate_latest
from prometheus_client import Gauge as Meter

from rayfleet.api.meta import Key
from rayfleet.planning.gauge import Gauge

disable_created_metrics()  # they would double the number of series, and nobody reads them

SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0)
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
KINDS_RESULTS = {"done": "success", "gone": "success", "failed": "error"}

QUEUE = ("name", "controller")

Measure = Callable[[Iterable[Any]], Iterable[Gauge]]


class Queue(Protocol):
    """What is asked of a queue."""

    adds: int
    retries: int

    def __len__(self) -> int: ...


class Metrics:
    """One process' metrics, in a registry of their own. `host` is the API server's, `lease` the name of the lease ("" without)."""

    def __init__(self, host: str = "", lease: str = "") -> None:
        self.registry = into = CollectorRegistry()
        self._reconciles = Counter("rayfleet_reconciles_total", "Looks at an object, by outcome", ("kind", "result"), registry=into)
        self._durations = Histogram("rayfleet_reconcile_seconds", "Duration of a look", ("kind",), buckets=SECONDS, registry=into)
        self._requests = Counter("rayfleet_requests_total", "Requests; code 0: no answer", ("verb", "code"), registry=into)
        self._latency = Histogram("rayfleet_request_seconds", "Duration of a request", ("verb",), buckets=SECONDS, registry=into)
        self._writes = Counter("rayfleet_writes_total", "Writes, status writes among them", ("kind", "verb", "outcome"), registry=into)
        self._events = Counter("rayfleet_events_total", "Events told of, by what became of them", ("outcome",), registry=into)
        held_back = ("kind", "namespace", "name")
        self._backoffs = Meter("rayfleet_backoff_scopes", "Parts of an object that wait after a failure", held_back, registry=into)
        self._leading = Meter("rayfleet_leading", "1 while this process may write", registry=into)
        self._queues = Sums(Meter("rayfleet_queue_depth", "Objects that wait for their turn", ("kind",), registry=into))
        self._objects = Sums(Meter("rayfleet_cached_objects", "Objects in the caches", ("kind",), registry=into))
        self._peers = Peers(into, host, lease)
        ProcessCollector(registry=into)
        self._measured: dict[Measure, list[Iterable[Any]]] = {}
        self._bound: dict[tuple[str, ...], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def lead(self, is_leader: bool) -> None:
        """Did this process just begin or end to lead?"""
        self._leading.set(is_leader)
        self._peers.lead(is_leader)

    def answered(self, verb: str, code: int, seconds: float) -> None:
        """A request was answered (for the client's `on_answer`)."""
        self._count(self._requests, verb, str(code))
        timer = self._timers.get(verb)
        if timer is None:
            timer = self._timers[verb] = self._latency.labels(verb)
        timer.observe(seconds)
        self._peers.answered(verb, code, seconds)

    def wrote(self, kind: str, verb: str, outcome: str) -> None:
        self._count(self._writes, kind, verb, outcome)

    def event(self, outcome: str) -> None:
        self._count(self._events, outcome)

    def watch_cache(self, kind: str, size: Callable[[], int]) -> None:
        """Report a cache's size at each scrape."""
        self._objects.add(size, kind)

    def measure(self, measure: Measure, objects: Iterable[Any]) -> None:
        """Measure these objects at each scrape; of several caches with the same measure all are told together."""
        self._measured.setdefault(measure, []).append(objects)

    def of_kind(self, kind: str, queue: Queue) -> KindMetrics:
        self._queues.add(queue.__len__, kind)
        self._peers.watch_queue(kind.lower(), queue)
        return KindMetrics(kind, self._reconciles, self._durations.labels(kind), self._backoffs, self._peers)

    def text(self) -> bytes:
        """The exposition format."""
        measured = (gauge for measure, places in self._measured.items() for gauge in measure(each for place in places for each in place))
        lines = (line for gauge in (*self._peers.totals(), *measured) for line in exposition(gauge))
        return generate_latest(self.registry) + "".join(lines).encode()

    def _count(self, counter: Counter, *labels: str) -> None:
        found = self._bound.get(labels)
        if found is None:
            found = self._bound[labels] = counter.labels(*labels)
        found.inc()


class Sums:
    """A meter that asks at each scrape, and adds up what several tell under the same labels (the namespaces of one kind)."""

    def __init__(self, meter: Meter, fold: Callable[[Iterable[float]], float] = sum) -> None:
        self._meter = meter
        self._fold = fold
        self._parts: dict[tuple[str, ...], list[Callable[[], float]]] = {}

    def add(self, part: Callable[[], float], *labels: str) -> None:
        parts = self._parts.setdefault(labels, [])
        parts.append(part)
        self._meter.labels(*labels).set_function(lambda: self._fold(part() for part in parts))


class Peers:
    """What boards made for controller-runtime read. A controller has the name of its kind in lower case."""

    def __init__(self, into: CollectorRegistry, host: str, lease: str) -> None:
        by = ("controller",)
        queue = QUEUE
        self.results = Counter("controller_runtime_reconcile_total", "Looks at an object", (*by, "result"), registry=into)
        self.errors = Counter("controller_runtime_reconcile_errors_total", "Looks that failed", by, registry=into)
        self.durations = Histogram("controller_runtime_reconcile_time_seconds", "Duration of a look", by, buckets=SECONDS, registry=into)
        self.workers = Sums(Meter("controller_runtime_max_concurrent_reconciles", "Looks that may be under way", by, registry=into))
        self.active = Sums(Meter("controller_runtime_active_workers", "Looks under way", by, registry=into))
        oldest = Meter("workqueue_longest_running_processor_seconds", "Age of the oldest look under way", queue, registry=into)
        self.longest = Sums(oldest, max)
        self.work = Histogram("workqueue_work_duration_seconds", "Duration of a look", queue, buckets=SECONDS, registry=into)
        self._depth = Sums(Meter("workqueue_depth", "Objects that wait for their turn", queue, registry=into))
        self._leading = Meter("leader_election_master_status", "1 while this process leads", ("name",), registry=into) if lease else None
        self._requests = Counter("rest_client_requests_total", "Requests to the API", ("code", "method", "host"), registry=into)
        latency = ("verb", "host")
        self._latency = Histogram("rest_client_request_duration_seconds", "Of the API", latency, buckets=SECONDS, registry=into)
        self._bound: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._watched: dict[str, list[Queue]] = {}
        self._host, self._lease = host, lease
        self.lead(False)

    def lead(self, is_leader: bool) -> None:
        if self._leading:
            self._leading.labels(self._lease).set(is_leader)

    def watch_queue(self, name: str, queue: Queue) -> None:
        self._depth.add(queue.__len__, name, name)
        self._watched.setdefault(name, []).append(queue)

    def totals(self) -> Iterator[Gauge]:
        """What queues count themselves."""
        queues = self._watched.items()
        adds = [((name, name), sum(queue.adds for queue in parts)) for name, parts in queues]
        retries = [((name, name), sum(queue.retries for queue in parts)) for name, parts in queues]
        yield Gauge("workqueue_adds_total", "Objects put into the queue", QUEUE, adds, "counter")
        yield Gauge("workqueue_retries_total", "Objects put back after a failure", QUEUE, retries, "counter")

    def answered(self, verb: str, code: int, seconds: float) -> None:
        found = self._bound.get((verb, code))
        if found is None:
            counter = self._requests.labels(str(code) if code else "<error>", verb, self._host)
            found = self._bound[verb, code] = (counter, self._latency.labels(verb, self._host))
        found[0].inc()
        found[1].observe(seconds)


class KindMetrics:
    """What one controller counts. Results: done, waiting (for its own writes to show), gone, failed."""

    def __init__(self, kind: str, reconciles: Counter, seconds: Histogram, backoffs: Meter, peers: Peers) -> None:
        self._kind = kind
        self._results = {result: reconciles.labels(kind, result) for result in ("done", "waiting", "gone", "failed")}
        self._seconds = seconds
        self._backoffs = backoffs
        self._peers = peers
        name = kind.lower()
        self._peer_results = {ours: peers.results.labels(name, theirs) for ours, theirs in KINDS_RESULTS.items()}
        self._peer_errors, self._peer_seconds = peers.errors.labels(name), (peers.durations.labels(name), peers.work.labels(name, name))
        self._troubled: set[Key] = set()

    def watch(self, longest: Callable[[], float], active: Callable[[], int], workers: int) -> None:
        """Report at each scrape what is under way."""
        name = self._kind.lower()
        self._peers.longest.add(longest, name, name)
        self._peers.active.add(active, name)
        self._peers.workers.add(lambda: workers, name)

    def looked(self, result: str, seconds: float) -> None:
        self._results[result].inc()
        self._seconds.observe(seconds)
        if result in self._peer_results:
            self._peer_results[result].inc()
            for histogram in self._peer_seconds:
                histogram.observe(seconds)
        if result == "failed":
            self._peer_errors.inc()

    def troubled(self, key: Key, scopes: int) -> None:
        """How many parts of an object wait after a failure; the series exists only while there are any."""
        if scopes:
            self._troubled.add(key)
            self._backoffs.labels(self._kind, *key).set(scopes)
        elif key in self._troubled:
            self._troubled.discard(key)
            self._backoffs.remove(self._kind, *key)


def exposition(gauge: Gauge) -> Iterator[str]:
    """The lines of one gauge: written here, since a thousand objects of the library's would cost the loop ten times as much."""
    yield f"# HELP {gauge.name} {gauge.told}\n# TYPE {gauge.name} {gauge.form}\n"
    form = gauge.name + "{" + ",".join(f'{name}="%s"' for name in gauge.labels) + "} "
    for values, number in gauge.samples:
        joined = "".join(values)
        if '"' in joined or "\\" in joined or "\n" in joined:
            values = tuple(value.translate(ESCAPES) for value in values)
        yield f"{form % values}{number}\n"
