"""Lists and watches: every way to say from which version, and how exactly it is meant."""

from __future__ import annotations

from itertools import product

from tests.conformance.case import Case, Step, case, delete, get, patch, post, read, watch
from tests.conformance.cases import manifests as m

VERSIONS = ("", "&resourceVersion=", "&resourceVersion=0", "&resourceVersion=${v}", "&resourceVersion=abc")
MATCHES = ("", "&resourceVersionMatch=", *(f"&resourceVersionMatch={word}" for word in ("Exact", "NotOlderThan", "Sometimes")))
MAPS = f"{m.CONFIGMAPS}?labelSelector=n"
BOAT = f"{m.BOATS}/a"
CHANGE = patch(BOAT, {"spec": {"length": 10}}, unseen=True)


def maps(*names: str) -> list[Step]:
    return [post(m.CONFIGMAPS, m.configmap(name, labels={"n": ""}), keep={"v": "metadata.resourceVersion"}) for name in names]


def listed(name: str, path: str, *before: Step, query: str = "") -> Case:
    """Each version with each match."""
    return case(name, *before, *(get(path + query + version + match) for version, match in product(VERSIONS, MATCHES)))


def initial(name: str, *, wanted: str, bookmarks: bool) -> Case:
    """A watch from each version, with `sendInitialEvents`: the objects at once, a bookmark where it was asked for, then what changes."""
    query = f"{m.BOATS}?watch=1&sendInitialEvents={wanted}&resourceVersionMatch=NotOlderThan"
    query += "&allowWatchBookmarks=true" if bookmarks else ""
    first = (1 + bookmarks) * (wanted == "true")
    steps: list[Step] = []
    for number, version in enumerate(VERSIONS[:4]):
        changed = patch(BOAT, {"spec": {"length": 20 + number}}, keep={"v": "metadata.resourceVersion"}, unseen=True)
        opened = watch(f"w{number}", query + version)
        # From no version and from 0 without initial events: from some moment on, which need not be the last.
        steps += [opened, changed, read(f"w{number}", first + 1)] if first or "${v}" in version else [opened]
    return case(name, post(m.BOATS, m.boat("a"), keep={"v": "metadata.resourceVersion"}, unseen=True), *steps)


CASES = [
    listed("versions-of-a-list", MAPS, *maps("x", "y")),
    listed("versions-of-a-page", MAPS, *maps("x", "y"), query="&limit=1"),
    listed(
        "versions-of-the-rest",
        MAPS,
        *maps("x", "y"),
        get(MAPS + "&limit=1", keep={"c": "metadata.continue"}),
        query="&limit=1&continue=${c}",
    ),
    listed("versions-of-custom-objects", f"{m.BOATS}?limit=9", post(m.BOATS, m.boat("a"), keep={"v": "metadata.resourceVersion"})),
    case(
        "lists-of-the-past",
        *maps("x"),
        *maps("y"),
        delete(f"{m.CONFIGMAPS}/x", unseen=True),
        *[post(m.CONFIGMAPS, m.configmap(name, labels={"n": ""}), unseen=True) for name in ("y1", "z")],
        get(MAPS + "&resourceVersionMatch=Exact&resourceVersion=${v}"),
        get(MAPS + "&resourceVersionMatch=Exact&resourceVersion=${v}&limit=1", keep={"c": "metadata.continue"}),
        get(MAPS + "&limit=1&continue=${c}"),
        get(MAPS + "&resourceVersionMatch=NotOlderThan&resourceVersion=${v}"),
        get(MAPS + "&resourceVersion=${v}&limit=1"),
    ),
    case(
        "lists-of-the-future",
        *maps("x"),
        get(MAPS + "&resourceVersion=${v}000"),
    ),
    initial("versions-of-initial-events", wanted="true", bookmarks=False),
    initial("versions-of-initial-events-with-bookmarks", wanted="true", bookmarks=True),
    initial("versions-of-no-initial-events", wanted="false", bookmarks=False),
    case(
        "versions-of-watches-refused",
        *(
            watch("w", f"{m.BOATS}?watch=1{initial}{match}{version}")
            for initial, match, version in product(("&sendInitialEvents=true", "&sendInitialEvents=false", ""), MATCHES[2:], VERSIONS[1:3])
            if not ("NotOlderThan" in match and initial)
        ),
    ),
]
