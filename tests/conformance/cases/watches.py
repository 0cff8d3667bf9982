"""Watches: where they begin, what they tell, how they end."""

from __future__ import annotations

from tests.conformance.case import PARTIAL, TABLE, case, delete, get, patch, post, read, watch
from tests.conformance.cases import manifests as m

A, BOAT = f"{m.CONFIGMAPS}/a", f"{m.BOATS}/a"
begin = get(m.BOATS, keep={"v": "metadata.resourceVersion"}, unseen=True)
make = post(m.BOATS, m.boat("a", labels={"side": "port"}), unseen=True)
FROM = f"{m.BOATS}?watch=1&resourceVersion=${{v}}"

CASES = [
    case(
        "watch-from-a-version",
        begin,
        make,
        patch(BOAT, {"spec": {"length": 10}}, unseen=True),
        watch("w", FROM),
        read("w", 2),
        delete(BOAT, unseen=True),
        read("w", 1),
    ),
    case("watch-skips-what-was-before", make, begin, watch("w", FROM), patch(BOAT, {"spec": {"length": 10}}, unseen=True), read("w", 1)),
    case(
        "watch-from-0",
        make,
        watch("w", f"{m.BOATS}?watch=true&resourceVersion=0"),
        read("w", 1),
        patch(BOAT, {"spec": {"length": 10}}, unseen=True),
        read("w", 1),
    ),
    case("watch-without-a-version", make, watch("w", f"{m.BOATS}?watch=1"), read("w", 1), delete(BOAT, unseen=True), read("w", 1)),
    case("watch-ends-by-itself", begin, watch("w", f"{FROM}&timeoutSeconds=1"), make, read("w")),
    case("watch-with-bookmarks", begin, watch("w", f"{FROM}&timeoutSeconds=3&allowWatchBookmarks=true"), read("w")),
    case("watch-without-bookmarks", begin, watch("w", f"{FROM}&timeoutSeconds=1&allowWatchBookmarks=false"), read("w")),
    case(
        "watch-sends-initial-events",
        make,
        get(f"{BOAT}?resourceVersion=0", until={"code": 200}, unseen=True),  # what may be old has it, too
        watch(
            "w", f"{m.BOATS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=0"
        ),
        read("w", 2),
        patch(BOAT, {"spec": {"length": 10}}, unseen=True),
        read("w", 1),
    ),
    case(
        "watch-sends-initial-events-without-a-version",
        make,
        watch("w", f"{m.BOATS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"),
        read("w", 2),
    ),
    case(
        "watch-options-refused",
        watch("w", f"{m.BOATS}?watch=1&sendInitialEvents=true"),
        watch("w", f"{m.BOATS}?watch=1&resourceVersion=x"),
        watch("w", f"{m.BOATS}?watch=1&resourceVersionMatch=NotOlderThan"),
        watch("w", f"{m.BOATS}?watch=1&fieldSelector=a=b"),
        get(f"{m.BOATS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
    ),
    case(
        "watch-too-old",
        make,
        *[patch(BOAT, {"spec": {"length": n}}, unseen=True) for n in range(10, 34)],
        watch("w", f"{m.BOATS}?watch=1&resourceVersion=1&timeoutSeconds=1"),
        read("w"),
    ),
    case(
        "watch-selector-entering-and-leaving",
        begin,
        watch("w", f"{FROM}&labelSelector=side=port"),
        make,
        patch(BOAT, {"spec": {"length": 10}}, unseen=True),
        patch(BOAT, {"metadata": {"labels": {"side": "starboard"}}}, unseen=True),
        patch(BOAT, {"spec": {"length": 11}}, unseen=True),
        patch(BOAT, {"metadata": {"labels": {"side": "port"}}}, unseen=True),
        delete(BOAT, unseen=True),
        read("w", 5),
    ),
    case(
        "watch-field-selector",
        get(m.PODS, keep={"v": "metadata.resourceVersion"}, unseen=True),
        watch("w", f"{m.PODS}?watch=1&resourceVersion=${{v}}&fieldSelector=status.phase=Running"),
        post(m.PODS, m.pod("a"), unseen=True),
        patch(f"{m.PODS}/a/status", {"status": {"phase": "Running"}}, unseen=True),
        patch(f"{m.PODS}/a/status", {"status": {"phase": "Failed"}}, unseen=True),
        read("w", 2),
    ),
    case(
        "watch-of-one-name",
        begin,
        watch("w", f"{FROM}&fieldSelector=metadata.name=b"),
        make,
        post(m.BOATS, m.boat("b"), unseen=True),
        read("w", 1),
    ),
    case("watch-of-one-object", make, watch("w", f"{m.BOATS}?watch=1&fieldSelector=metadata.name=a&resourceVersion=0"), read("w", 1)),
    case(
        "watch-across-namespaces",
        get(f"{m.BOATS}", keep={"v": "metadata.resourceVersion"}, unseen=True),
        watch("w", "/apis/sea.example/v1/boats?watch=1&resourceVersion=${v}&labelSelector=side=both"),
        post(m.BOATS, m.boat("a", labels={"side": "both"}), unseen=True),
        read("w", 1),
    ),
    case("watch-of-metadata", make, watch("w", f"{m.BOATS}?watch=1&resourceVersion=0", headers={"Accept": PARTIAL}), read("w", 1)),
    case(
        "watch-of-tables",
        make,
        watch("w", f"{m.BOATS}?watch=1&resourceVersion=0", headers={"Accept": TABLE}),
        read("w", 1),
        patch(BOAT, {"spec": {"length": 10}}, unseen=True),
        read("w", 1),
    ),
    case(
        "watch-of-deletion-with-finalizer",
        post(m.CONFIGMAPS, m.configmap("a", finalizers=["a.b/c"]), keep={"v": "metadata.resourceVersion"}),
        delete(A, unseen=True),
        patch(A, {"metadata": {"finalizers": None}}, unseen=True),
        watch("w", f"{m.CONFIGMAPS}?watch=1&resourceVersion=${{v}}"),
        read("w", 2),
    ),
]
