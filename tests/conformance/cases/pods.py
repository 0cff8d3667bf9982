"""Pods: what is filled in, what is refused, what may change; binding, eviction, logs of those that do not run."""

from __future__ import annotations

from tests.conformance.case import case, delete, get, patch, post, put
from tests.conformance.cases import manifests as m

POD = f"{m.PODS}/a"
FULL = {
    "image": "registry.example/app", "command": ["sh"], "args": ["-c", "true"], "env": [{"name": "N", "valueFrom": {"fieldRef":
    {"fieldPath": "metadata.name"}}}], "ports": [{"containerPort": 80, "name": "http"}], "resources": {"limits": {"cpu": "0.5",
    "memory": "1024Mi"}, "requests": {"cpu": "250m"}}, "readinessProbe": {"httpGet": {"port": "http"}}, "livenessProbe": {"exec":
    {"command": ["true"]}, "periodSeconds": 5}, "lifecycle": {"preStop": {"exec": {"command": ["true"]}}}, "volumeMounts":
    [{"name": "tmp", "mountPath": "/tmp"}],
}  # fmt: skip
VOLUMES = [
    {"name": "tmp"}, {"name": "map", "configMap": {"name": "m"}}, {"name": "secret", "secret": {"secretName": "s"}},
    {"name": "host", "hostPath": {"path": "/x"}}, {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "all", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    {"name": "down", "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
]  # fmt: skip
UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "bm90aGluZyB0byBzZWUgIQ==",
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}  # fmt: skip
NOBODY = {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    "declaredFeatures": ["ExtendWebSocketsToKubelet"],
}  # fmt: skip
SIDECAR = {"name": "side", "image": "busybox:latest", "restartPolicy": "Always"}


def pods(name: str, *many: object) -> object:
    return case(name, *(post(m.PODS, each) for each in many))


CASES = [
    pods("pod-defaults", m.pod("a"), m.pod("b", {"volumes": VOLUMES, "initContainers": [SIDECAR]}, FULL)),
    pods("pod-host-network", m.pod("a", {"hostNetwork": True}, {"ports": [{"containerPort": 80}]})),
    case("pod-with-its-token", post(m.PODS, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "busybox:1"}]}})),
    case(
        "pod-of-an-account",
        post(m.ACCOUNTS, m.named("robot", automountServiceAccountToken=False, imagePullSecrets=[{"name": "x"}])),
        post(m.PODS, m.pod("a", {"serviceAccountName": "robot"})),
        post(m.PODS, m.pod("b", {"serviceAccountName": "absent"})),
    ),
    pods(
        "pod-quality",
        m.pod("a", container={"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}),
        m.pod("b", container={"resources": {"requests": {"memory": "1Gi"}}}),
    ),
    pods(
        "pod-quantities",
        m.pod("a", container={"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi", "x.y/gpu": "1"}}}),
        m.pod("b", container={"resources": {"limits": {"cpu": 0.5, "memory": "1.5Gi"}}}),
    ),
    pods(
        "pods-refused",
        m.pod("a", {"containers": []}),
        m.pod("a", {"restartPolicy": "Maybe"}),
        m.pod("a", {"dnsPolicy": "Maybe"}),
        m.pod("a", container={"name": "No"}),
        m.pod("a", container={"image": ""}),
        m.pod("a", container={"imagePullPolicy": "Maybe"}),
    ),
    pods(
        "pod-ports-refused",
        m.pod("a", container={"ports": [{"containerPort": 0}]}),
        m.pod("a", container={"ports": [{"containerPort": 70000}]}),
        m.pod("a", container={"ports": [{"containerPort": 1, "name": "a-name-that-is-too-long"}]}),
        m.pod("a", container={"ports": [{"containerPort": 1, "name": "x"}, {"containerPort": 2, "name": "x"}]}),
        m.pod("a", container={"ports": [{"containerPort": 1, "protocol": "ICMP"}]}),
    ),
    pods(
        "pod-mounts-refused",
        m.pod("a", container={"volumeMounts": [{"name": "x", "mountPath": "/x"}]}),
        m.pod("a", {"volumes": [{"name": "x"}, {"name": "x"}]}),
        m.pod("a", {"volumes": [{"name": "x", "emptyDir": {}, "secret": {"secretName": "s"}}]}),
        m.pod("a", {"volumes": [{"name": "x"}]}, {"volumeMounts": [{"name": "x", "mountPath": "/x"}, {"name": "x", "mountPath": "/x"}]}),
    ),
    pods(
        "pod-env-refused",
        m.pod("a", container={"env": [{"name": ""}]}),
        m.pod("a", container={"env": [{"name": "a=b"}]}),
        m.pod("a", container={"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
        m.pod("a", container={"env": [{"name": "A", "valueFrom": {}}]}),
    ),
    pods(
        "pod-probes-refused",
        m.pod("a", container={"livenessProbe": {}}),
        m.pod("a", container={"livenessProbe": {"exec": {"command": ["a"]}, "successThreshold": 2}}),
        m.pod("a", container={"readinessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": -1}}),
    ),
    pods(
        "pod-resources-refused",
        m.pod("a", container={"resources": {"limits": {"cpu": 1}, "requests": {"cpu": 2}}}),
        m.pod("a", container={"resources": {"limits": {"cpu": -1}}}),
        m.pod("a", container={"resources": {"requests": {"no such": 1}}}),
        m.pod("a", container={"resources": {"requests": {"x.y/gpu": 1}}}),
    ),
    case(
        "pod-changes",
        post(m.PODS, m.pod("a")),
        patch(POD, {"spec": {"activeDeadlineSeconds": 5}}),
        patch(POD, {"spec": {"nodeName": "n"}}),
        patch(POD, {"spec": {"tolerations": []}}),
        patch(POD, {"spec": {"hostname": "h"}}),
        patch(POD, {"spec": {"terminationGracePeriodSeconds": 5}}),
        patch(POD, {"metadata": {"labels": {"x": "y"}}}),
    ),
    case(
        "pod-status",
        post(m.PODS, m.pod("a")),
        patch(
            f"{POD}/status",
            {"spec": {"nodeName": "x"}, "status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}},
        ),
        patch(POD, {"status": {"phase": "Failed"}}),
        get(f"{POD}/status"),
    ),
    case(
        "pod-binding",
        post(m.PODS, m.pod("a")),
        post(f"{POD}/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}),
        get(POD),
        post(f"{POD}/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}),
        post(f"{m.PODS}/absent/binding", {"metadata": {"name": "absent"}, "target": {"kind": "Node", "name": "n"}}),
    ),
    case(
        "pod-eviction",
        post(m.PODS, m.pod("a")),
        post(f"{POD}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}),
        get(POD, until={"code": 404}),
        post(f"{POD}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}),
    ),
    case(
        "log-of-a-pod-that-does-not-run",
        post(m.PODS, m.pod("a")),
        get(f"{POD}/log"),
        get(f"{m.PODS}/absent/log"),
        post(m.PODS, m.pod("b", {"containers": [{"name": "x", "image": "i"}, {"name": "y", "image": "i"}]})),
        get(f"{m.PODS}/b/log"),
        get(f"{m.PODS}/b/log?container=z"),
        get(f"{m.PODS}/b/log?container=x&tailLines=x"),
    ),
    case(
        "streams-refused",
        post(m.PODS, m.pod("a")),
        post(m.PODS, m.pod("b", {"containers": [{"name": "x", "image": "i"}, {"name": "y", "image": "i"}], "initContainers": [SIDECAR]})),
        *[get(f"{m.PODS}/{each}") for each in ("absent/exec?command=ls", "b/exec?command=ls", "b/attach", "b/log", "a/exec?container=z")],
        *[get(f"{POD}/{each}", headers=UPGRADE) for each in ("exec?command=ls", "attach?stdout=true", "portforward?ports=80")],
        put(f"{POD}/exec?command=ls", {}),
        post(f"{POD}/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "conformance-streams"}}),
        *[get(f"{POD}/{each}", headers=UPGRADE) for each in ("exec?command=ls", "portforward", "log")],
        post("/api/v1/nodes", m.named("conformance-streams"), unseen=True),
        patch("/api/v1/nodes/conformance-streams/status", {"status": NOBODY}, unseen=True),
        get(f"{POD}/exec?command=ls"),
        *[get(f"{POD}/{each}", headers=UPGRADE) for each in ("exec?command=ls", "portforward", "log")],
        delete("/api/v1/nodes/conformance-streams", unseen=True),
    ),
    case("pod-proxy-of-one-without-address", post(m.PODS, m.pod("a")), get(f"{POD}/proxy/"), get(f"{m.PODS}/absent/proxy/x")),
    case(
        "pod-with-owner-and-annotations",
        post(m.CONFIGMAPS, m.configmap("o"), keep={"uid": "metadata.uid"}),
        post(
            m.PODS,
            m.pod(
                "a",
                labels={"ray.io/cluster": "x"},
                annotations={"a.b/c": "multi\nline", "d": ""},
                ownerReferences=[m.owner("ConfigMap", "o", controller=True, blockOwnerDeletion=True)],
            ),
        ),
        put(POD, m.pod("a", labels={"only": "this"})),
        delete(POD),
    ),
]
