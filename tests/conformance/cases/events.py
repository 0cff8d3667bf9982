"""Events of both groups: one store, two forms."""

from __future__ import annotations

from tests.conformance.case import case, get, patch, post
from tests.conformance.cases import manifests as m

ABOUT = {"kind": "Boat", "namespace": "${ns}", "name": "a", "uid": "u", "apiVersion": "sea.example/v1"}
OLD = {
    "metadata": {"name": "old"},
    "involvedObject": ABOUT,
    "reason": "Sailed",
    "message": "off she goes",
    "type": "Normal",
    "source": {"component": "harbour"},
    "firstTimestamp": "2026-01-02T03:04:05Z",
    "lastTimestamp": "2026-01-02T03:04:06Z",
    "count": 2,
}
NEW = {
    "metadata": {"name": "new"},
    "regarding": ABOUT,
    "reason": "Sailed",
    "note": "off she goes",
    "type": "Normal",
    "action": "Sail",
    "reportingController": "harbour",
    "reportingInstance": "harbour-1",
    "eventTime": "2026-01-02T03:04:05.000006Z",
}

CASES = [
    case("core-event", post(m.EVENTS, OLD), get(f"{m.EVENTS}/old"), get(f"{m.NEW_EVENTS}/old"), patch(f"{m.EVENTS}/old", {"count": 3})),
    case(
        "new-event",
        post(m.NEW_EVENTS, NEW),
        get(f"{m.NEW_EVENTS}/new"),
        get(f"{m.EVENTS}/new"),
        patch(f"{m.NEW_EVENTS}/new", {"series": {"count": 2, "lastObservedTime": "2026-01-02T03:04:07.000006Z"}}),
    ),
    case(
        "events-listed",
        post(m.EVENTS, OLD),
        post(m.NEW_EVENTS, NEW),
        get(f"{m.EVENTS}?fieldSelector=involvedObject.name=a,reason=Sailed"),
        get(f"{m.NEW_EVENTS}?fieldSelector=regarding.name=a"),
        get(f"{m.EVENTS}?fieldSelector=involvedObject.uid=other"),
        get(f"{m.EVENTS}?fieldSelector=source=harbour"),
        get(f"{m.EVENTS}?fieldSelector=nope=x"),
    ),
    case(
        "core-events-refused",
        post(m.EVENTS, {**OLD, "involvedObject": {**ABOUT, "namespace": "elsewhere"}}),
        post(m.EVENTS, {**OLD, "involvedObject": {}}),
        post(m.EVENTS, {"metadata": {"name": "bare"}}),
    ),
    case(
        "new-events-refused",
        post(m.NEW_EVENTS, {**NEW, "action": ""}),
        post(m.NEW_EVENTS, {**NEW, "reportingController": ""}),
        post(m.NEW_EVENTS, {**NEW, "note": "x" * 1025}),
        post(m.NEW_EVENTS, {**NEW, "note": "ж" * 513}),
        post(m.NEW_EVENTS, {**NEW, "type": "Loud"}),
        post(m.NEW_EVENTS, {**NEW, "eventTime": None}),
    ),
    case("new-events-are-measured-in-bytes", post(m.NEW_EVENTS, {**NEW, "note": "ж" * 512})),
    case("new-events-change-their-series-alone", post(m.NEW_EVENTS, NEW), patch(f"{m.NEW_EVENTS}/new", {"note": "other"})),
]
