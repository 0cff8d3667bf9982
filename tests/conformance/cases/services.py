"""Services and the EndpointSlices that their controller writes."""

from __future__ import annotations

from tests.conformance.case import case, delete, get, patch, post
from tests.conformance.cases import manifests as m

S = f"{m.SERVICES}/s"
READY = {
    "status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "conditions": [{"type": "Ready", "status": "True"}]}
}
UNREADY = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}


def services(name: str, *specs: object) -> object:
    return case(name, *(post(m.SERVICES, m.service(f"s{number}", spec)) for number, spec in enumerate(specs)))


def slices(name: str, service: str, spec: object, *steps: object) -> object:
    node = post("/api/v1/nodes", m.named("${ns}"), unseen=True)
    made = post(m.SERVICES, m.service(service, spec), unseen=True)
    return case(name, node, made, *steps)


def listed(service: str, **until: object) -> object:
    path = f"{m.SLICES}?labelSelector=kubernetes.io/service-name={service}"
    return get(path, until={path.replace("_", "."): value for path, value in until.items()})


PORTS = [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "named", "port": 81, "targetPort": "web"}]
WEB = {"ports": [{"name": "web", "containerPort": 9000}]}
pod = post(m.PODS, m.pod("p", {"nodeName": "${ns}"}, WEB, labels={"app": "x"}), unseen=True)
READY_PATH, NONE = "items[0].endpoints[0].conditions.ready", "<absent>"

CASES = [
    services(
        "service-types",
        {},
        {"type": "NodePort"},
        {"type": "LoadBalancer"},
        {"type": "ExternalName", "externalName": "a.example"},
        {"clusterIP": "None"},
    ),
    services(
        "service-options",
        {"sessionAffinity": "ClientIP"},
        {"publishNotReadyAddresses": True},
        {"selector": None, "clusterIP": "None", "ports": None},
        {"ports": [{"name": "a", "port": 1, "protocol": "UDP", "appProtocol": "http"}]},
        {"ipFamilyPolicy": "PreferDualStack"},
    ),
    services(
        "service-addresses",
        {"clusterIP": "10.96.200.200"},
        {"clusterIP": "10.96.200.200"},
        {"clusterIP": "192.0.2.1"},
        {"clusterIP": "nonsense"},
        {"type": "NodePort", "ports": [{"port": 1, "nodePort": 31234}]},
        {"type": "NodePort", "ports": [{"port": 1, "nodePort": 31234}]},
        {"type": "NodePort", "ports": [{"port": 1, "nodePort": 1}]},
    ),
    services(
        "services-refused",
        {"ports": []},
        {"ports": [{"port": 0}]},
        {"ports": [{"port": 1}, {"port": 2}]},
        {"type": "Sometimes"},
        {"type": "ExternalName"},
        {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]},
        {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 1}]},
        {"ports": [{"name": "A_b", "port": 1}]},
    ),
    services(
        "services-refused-further",
        {"sessionAffinity": "Maybe"},
        {"ports": [{"port": 1, "protocol": "ICMP"}]},
        {"ports": [{"port": 1, "targetPort": "not a name"}]},
        {"selector": {"a b": "c"}},
        {"externalIPs": ["x"]},
    ),
    case(
        "service-changes",
        post(m.SERVICES, m.service("s"), keep={"ip": "spec.clusterIP"}),
        patch(S, {"spec": {"clusterIP": "10.96.3.3"}}),
        patch(S, {"spec": {"type": "NodePort"}}),
        patch(S, {"spec": {"type": "ClusterIP"}}),
        patch(S, {"spec": {"ports": [{"port": 81, "targetPort": 9}]}}),
        patch(S, {"spec": {"selector": None}}),
        patch(S, {"spec": {"type": "ExternalName", "externalName": "a.example"}}),
    ),
    case(
        "headless-service-changes",
        post(m.SERVICES, m.service("s", {"clusterIP": "None"})),
        patch(S, {"spec": {"clusterIP": ""}}),
        patch(S, {"spec": {"publishNotReadyAddresses": True}}),
        patch(S, {"spec": {"type": "NodePort"}}),
    ),
    case("service-replaced-without-address", post(m.SERVICES, m.service("s")), patch(S, {"metadata": {"annotations": {"a": "b"}}}), get(S)),
    slices(
        "slices-without-pods",
        "clustered",
        {"selector": {"app": "x"}, "ports": PORTS},
        listed("clustered", **{"items[0]_addressType": "IPv4"}),
    ),
    slices(
        "slices-of-a-ready-pod",
        "clustered",
        {"selector": {"app": "x"}, "ports": PORTS},
        pod,
        patch(f"{m.PODS}/p/status", READY, unseen=True),
        listed("clustered", **{READY_PATH.replace(".", "_"): True}),
    ),
    slices(
        "slices-of-an-unready-pod",
        "clustered",
        {"selector": {"app": "x"}, "ports": PORTS},
        pod,
        patch(f"{m.PODS}/p/status", READY, unseen=True),
        listed("clustered", **{READY_PATH.replace(".", "_"): True}),
        patch(f"{m.PODS}/p/status", UNREADY, unseen=True),
        listed("clustered", **{READY_PATH.replace(".", "_"): False}),
    ),
    slices(
        "slices-publish-unready-pods",
        "headless",
        {"selector": {"app": "x"}, "clusterIP": "None", "publishNotReadyAddresses": True, "ports": PORTS},
        pod,
        patch(f"{m.PODS}/p/status", {"status": {**READY["status"], **UNREADY["status"]}}, unseen=True),
        listed("headless", **{READY_PATH.replace(".", "_"): True}),
    ),
    slices(
        "slices-of-a-headless-service",
        "headless",
        {"selector": {"app": "x"}, "clusterIP": "None", "ports": None},
        post(m.PODS, m.pod("p", {"nodeName": "${ns}", "hostname": "h", "subdomain": "headless"}, labels={"app": "x"}), unseen=True),
        patch(f"{m.PODS}/p/status", READY, unseen=True),
        listed("headless", **{READY_PATH.replace(".", "_"): True}),
    ),
    slices(
        "slices-go-with-pods-and-services",
        "clustered",
        {"selector": {"app": "x"}, "ports": PORTS},
        pod,
        patch(f"{m.PODS}/p/status", READY, unseen=True),
        listed("clustered", **{READY_PATH.replace(".", "_"): True}),
        delete(f"{m.PODS}/p", {"gracePeriodSeconds": 0}, unseen=True),
        listed("clustered", **{"items[0]_endpoints[0]": NONE}),
        delete(f"{m.SERVICES}/clustered", unseen=True),
        listed("clustered", **{"items[0]": NONE}),
    ),
    slices(
        "slices-of-terminating-pods",
        "clustered",
        {"selector": {"app": "x"}, "ports": PORTS},
        pod,
        patch(f"{m.PODS}/p/status", READY, unseen=True),
        listed("clustered", **{READY_PATH.replace(".", "_"): True}),
        delete(f"{m.PODS}/p", unseen=True),
        listed("clustered", **{"items[0]_endpoints[0]_conditions_terminating": True}),
    ),
    slices("slices-without-selector", "clustered", {"selector": None}, get(m.SLICES)),
    case(
        "service-proxy-without-endpoints",
        post(m.SERVICES, m.service("s")),
        get(f"{S}/proxy/"),
        get(f"{m.SERVICES}/absent/proxy/"),
        get(f"{m.SERVICES}/s:nope/proxy/"),
    ),
]
