"""Resource quotas."""

from __future__ import annotations

from tests.conformance.case import case, delete, get, patch, post
from tests.conformance.cases import manifests as m

Q = f"{m.QUOTAS}/q"
BIG = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}}


def quota(hard: dict[str, str], **more: object) -> tuple[object, object]:
    return post(m.QUOTAS, m.named("q", spec={"hard": hard, **more})), get(Q, until={"status.hard": hard}, unseen=True)


CASES = [
    case(
        "quota-of-pods",
        *quota({"pods": "1"}),
        get(Q),
        post(m.PODS, m.pod("a")),
        post(m.PODS, m.pod("b")),
        get(Q, until={"status.used.pods": "1"}),
        delete(f"{m.PODS}/a"),
        get(Q, until={"status.used.pods": "0"}),
        post(m.PODS, m.pod("b")),
    ),
    case(
        "quota-of-cpu",
        *quota({"requests.cpu": "3", "limits.cpu": "3"}),
        post(m.PODS, m.pod("bare")),
        post(m.PODS, m.pod("a", container=BIG)),
        post(m.PODS, m.pod("b", container=BIG)),
        get(Q, until={'status.used["limits.cpu"]': "2"}),
    ),
    case(
        "quota-of-finished-pods",
        *quota({"pods": "1"}),
        post(m.PODS, m.pod("a")),
        patch(f"{m.PODS}/a/status", {"status": {"phase": "Failed"}}),
        get(Q, until={"status.used.pods": "0"}),
        post(m.PODS, m.pod("b")),
    ),
    case(
        "quota-of-counts",
        *quota({"services": "1", "count/configmaps": "3"}),
        post(m.SERVICES, m.service("a")),
        post(m.SERVICES, m.service("b")),
        get(Q, until={"status.used.services": "1"}),
    ),
    case(
        "quotas-refused",
        post(m.QUOTAS, m.named("q", spec={"hard": {"pods": "x"}})),
        post(m.QUOTAS, m.named("q", spec={"hard": {"pods": "-1"}})),
        post(m.QUOTAS, m.named("q", spec={"hard": {"pods": "1.5"}})),
        post(m.QUOTAS, m.named("q", spec={"scopes": ["Nope"]})),
    ),
    case(
        "quota-changed",
        *quota({"pods": "1"}),
        post(m.PODS, m.pod("a")),
        patch(Q, {"spec": {"hard": {"pods": "2"}}}),
        get(Q, until={"status.hard.pods": "2"}, unseen=True),
        post(m.PODS, m.pod("b")),
        post(m.PODS, m.pod("c")),
    ),
]
