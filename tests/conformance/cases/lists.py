"""Lists: pages, selectors, versions."""

from __future__ import annotations

from tests.conformance.case import PARTIAL, PARTIAL_LIST, case, compact, delete, get, post
from tests.conformance.cases import manifests as m

FIVE = [
    post(m.CONFIGMAPS, m.configmap(f"m{n}", labels={"n": str(n), "odd": "yes" if n % 2 else "no", **({"big": ""} if n > 3 else {})}))
    for n in range(1, 6)
]
MINE = "labelSelector=n"


def asked(*selectors: str) -> list[object]:
    return [get(f"{m.CONFIGMAPS}?labelSelector={selector}") for selector in selectors]


CASES = [
    case("list-of-all", *FIVE, get(f"{m.CONFIGMAPS}?{MINE}")),
    case(
        "list-in-pages",
        *FIVE,
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.name!=kube-root-ca.crt&limit=2", keep={"c": "metadata.continue"}),
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.name!=kube-root-ca.crt&limit=2&continue=${{c}}", keep={"c": "metadata.continue"}),
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.name!=kube-root-ca.crt&limit=2&continue=${{c}}"),
    ),
    case(
        "pages-count-the-rest",
        *[post(m.BOATS, m.boat(f"b{n}")) for n in range(3)],
        get(f"{m.BOATS}?limit=1", keep={"c": "metadata.continue"}),
        post(m.BOATS, m.boat("b1-too-late")),
        delete(f"{m.BOATS}/b2"),
        get(f"{m.BOATS}?limit=5&continue=${{c}}"),
        get(f"{m.BOATS}?limit=3"),
    ),
    case(
        "broken-continue",
        get(f"{m.CONFIGMAPS}?continue=nonsense"),
        get(f"{m.CONFIGMAPS}?limit=x"),
        get(f"{m.CONFIGMAPS}?limit=-1"),
        get(f"{m.BOATS}?limit=1&continue=e30"),
    ),
    case("label-selectors", *FIVE, *asked("n=1", "n==2", "n!=1,n", "odd=yes,n!=1", "big", "n,!big")),
    case("label-selector-sets", *FIVE, *asked("n%20in%20(1,2)", "n%20notin%20(1,2),n", "n%20in%20()", "n>3", "n<2", "big=")),
    case("broken-label-selectors", *asked("a%20b", "a=b=c", "a%20in%20b", "=x", "a=b%20c", "!")),
    case(
        "field-selectors",
        *FIVE,
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.name=m1"),
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.name!=m1,metadata.namespace=${{ns}}&{MINE}"),
        get(f"{m.CONFIGMAPS}?fieldSelector=metadata.namespace=other"),
    ),
    case(
        "broken-field-selectors",
        get(f"{m.CONFIGMAPS}?fieldSelector=data.k=v"),
        get(f"{m.CONFIGMAPS}?fieldSelector=nonsense"),
        get(f"{m.BOATS}?fieldSelector=spec.length=9"),
        get(f"{m.PODS}?fieldSelector=spec.nope=1"),
    ),
    case(
        "field-selectors-of-pods",
        post(m.PODS, m.pod("a", {"nodeName": "n1"})),
        post(m.PODS, m.pod("b")),
        get(f"{m.PODS}?fieldSelector=spec.nodeName=n1"),
        get(f"{m.PODS}?fieldSelector=spec.nodeName="),
        get(f"{m.PODS}?fieldSelector=status.phase=Pending,spec.restartPolicy=Always,metadata.name=b"),
        get(f"{m.PODS}?fieldSelector=spec.serviceAccountName=default,spec.schedulerName=x"),
    ),
    case(
        "field-selectors-of-others",
        post(m.SECRETS, m.named("s", type="mine")),
        get(f"{m.SECRETS}?fieldSelector=type=mine"),
        post(m.SERVICES, m.service("h", {"clusterIP": "None"})),
        get(f"{m.SERVICES}?fieldSelector=spec.clusterIP=None"),
        get(f"{m.SERVICES}?fieldSelector=spec.type=NodePort"),
        get("/api/v1/namespaces?fieldSelector=status.phase=Active,metadata.name=${ns}"),
    ),
    case(
        "list-at-versions",
        post(m.BOATS, m.boat("a"), keep={"v": "metadata.resourceVersion"}),
        get(f"{m.BOATS}?resourceVersion=${{v}}"),
        get(f"{m.BOATS}?resourceVersion=${{v}}&resourceVersionMatch=NotOlderThan"),
        get(f"{m.BOATS}?resourceVersion=0"),
        get(f"{m.BOATS}?resourceVersion=abc"),
        get(f"{m.BOATS}?resourceVersionMatch=Exact"),
        get(f"{m.BOATS}?resourceVersion=0&resourceVersionMatch=Exact"),
        get(f"{m.BOATS}?resourceVersionMatch=Sometimes&resourceVersion=1"),
    ),
    case(
        "list-too-old",
        *[post(m.BOATS, m.boat(f"b{n}")) for n in range(4)],
        compact(),
        get(f"{m.BOATS}?resourceVersion=1&resourceVersionMatch=Exact"),
        get(f"{m.BOATS}?resourceVersion=1&resourceVersionMatch=Exact&limit=1"),
        get(f"{m.BOATS}?limit=1&continue=${{ancient}}", keep={"c": "metadata.continue"}),
        get(f"{m.BOATS}?limit=2&continue=${{c}}", keep={"c": "metadata.continue"}),
        get(f"{m.BOATS}?limit=2&continue=${{c}}"),
        get(f"{m.BOATS}?resourceVersion=1"),
    ),
    case(
        "get-at-versions",
        post(m.BOATS, m.boat("a"), keep={"v": "metadata.resourceVersion"}),
        get(f"{m.BOATS}/a?resourceVersion=0", until={"code": 200}),  # which asks what may be old
        get(f"{m.BOATS}/a?resourceVersion=${{v}}"),
    ),
    case(
        "lists-of-metadata",
        post(m.CONFIGMAPS, m.configmap("a", labels={"n": "1"})),
        get(f"{m.CONFIGMAPS}/a", headers={"Accept": PARTIAL}),
        get(f"{m.CONFIGMAPS}?{MINE}", headers={"Accept": PARTIAL_LIST}),
        get(f"{m.BOATS}", headers={"Accept": PARTIAL_LIST}),
    ),
    case(
        "lists-across-namespaces",
        post(m.BOATS, m.boat("a", labels={"where": "across"})),
        get("/apis/sea.example/v1/boats?labelSelector=where=across"),
        get("/api/v1/pods?labelSelector=no=such"),
        get("/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name=${ns}"),
    ),
]
