"""Discovery. What a real server serves beyond the embedded one is on purpose; each resource that both serve is compared."""

from __future__ import annotations

from tests.conformance.case import case, get

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUPS = (
    "batch",
    "events.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "networking.k8s.io",
    "apiextensions.k8s.io",
    "rbac.authorization.k8s.io",
    "authorization.k8s.io",
    "authentication.k8s.io",
    "sea.example",
    "cert-manager.io",
)

CASES = [
    case("core-resources", get("/api/v1")),
    case("core-versions", get("/api"), get("/api/")),
    case("groups", get("/apis")),
    *[case(f"group-{group.replace('.', '-')}", get(f"/apis/{group}/v1"), get(f"/apis/{group}")) for group in GROUPS],
    case("group-of-several-versions", get("/apis/sea.example/v1alpha1"), get("/apis/sea.example/v9"), get("/apis/no.such")),
    case("aggregated-core", get("/api", headers={"Accept": AGGREGATED})),
    case("version", get("/version")),
    case("health", get("/healthz"), get("/livez"), get("/readyz")),
]
