"""Good and faulty RayClusters; each faulty one with what its faults start with and a word that they hold."""

from __future__ import annotations

from typing import Any

from rayfleet.api.raycluster import MAX_INT32
from tests.api.manifests import cluster, head_group, worker_group

V2 = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}
V2_ENV = [{"name": "RAY_enable_autoscaler_v2", "value": "1"}]
COLLECTOR_ENV = [{"name": "STORAGE_BACKEND", "value": "gcs"}, {"name": "GCS_BUCKET", "value": "b"}]
DNS_RULE = [{"ports": [{"port": 53}]}]
TOKEN = {"mode": "token"}


def named(name: str) -> dict[str, Any]:
    document = cluster()
    document["metadata"]["name"] = name
    return document


def annotated(document: dict[str, Any], **annotations: str) -> dict[str, Any]:
    document["metadata"]["annotations"] = {f"ray.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return document


def hosted(document: dict[str, Any]) -> dict[str, Any]:
    document["metadata"]["annotations"] = {"rayfleet.dev/autoscaling": "hosted"}
    return document


def ft(**options: Any) -> dict[str, Any]:
    return {"gcsFaultToleranceOptions": options}


def group(**fields: Any) -> dict[str, Any]:
    return cluster(workerGroupSpecs=[worker_group(**fields)])


GOOD = {
    "plain": cluster(),
    "head only": cluster(workerGroupSpecs=[]),
    "longest name": named("a" * 53),
    "upper-case group": group(groupName="Large.GPU"),
    "two groups": cluster(workerGroupSpecs=[worker_group(), worker_group(groupName="other")]),
    "equal bounds": group(minReplicas=2, maxReplicas=2),
    "huge groups": cluster(workerGroupSpecs=[worker_group(groupName=name, maxReplicas=MAX_INT32) for name in "ab"]),
    "resources alone": group(resources={"CPU": "2"}, rayStartParams={"block": "true"}),
    "labels": group(labels={"ray.io/market-type": "spot", "zone": ""}),
    "restart policy with v1": cluster(enableInTreeAutoscaling=True, headGroupSpec=head_group(pod={"restartPolicy": "Always"})),
    "hosted": hosted(cluster(enableInTreeAutoscaling=True, workerGroupSpecs=[worker_group(idleTimeoutSeconds=0, priority=5)])),
    "v2": cluster(**V2, workerGroupSpecs=[worker_group(idleTimeoutSeconds=0, priority=5)]),
    "v2 by environment": cluster(enableInTreeAutoscaling=True, headGroupSpec=head_group({"env": V2_ENV})),
    "suspended group": group(suspend=True),
    "redis": cluster(**ft(redisAddress="redis:6379", redisPassword={"value": "x"}, redisUsername={"value": "u"})),
    "redis by annotation": annotated(
        cluster(headGroupSpec=head_group({"env": [{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}]})), ft_enabled="true"
    ),
    "rocksdb": cluster(**ft(backend="rocksdb", storage={"size": "2Gi"})),
    "rocksdb on a claim": cluster(**ft(backend="rocksdb", storage={"claimName": "mine", "subPath": "a"})),
    "token": cluster(authOptions=TOKEN),
    "kubernetes token": cluster(authOptions={**TOKEN, "enableK8sTokenAuth": True}),
    "history": cluster(historyServerOptions={"collectorOptions": {"image": "c:1", "env": COLLECTOR_ENV}}),
    "network": cluster(networkPolicy={"workerGroups": [{"groupName": "small", "egressRules": DNS_RULE}]}),
    "tls": cluster(tlsOptions={"enabled": True}),
    "own service": cluster(headGroupSpec=head_group(headService={"spec": {"ports": [{"port": 80, "targetPort": "web"}]}})),
    "recreate": cluster(upgradeStrategy={"type": "Recreate"}),
    "amounts": cluster(headGroupSpec=head_group({"resources": {"limits": {"cpu": 0.5, "memory": "1e9", "nvidia.com/gpu": 1}}})),
}

HEAD = "spec.headGroupSpec"
RAY = f"{HEAD}.template.spec.containers[0]"
GROUP = "spec.workerGroupSpecs[0]"
FT = "spec.gcsFaultToleranceOptions"
BAD = [
    (named("a" * 54), ["metadata.name: "], "has 54 characters; at most 53"),
    (named("1abc"), ["metadata.name: "], "must start with a lower-case letter"),
    (named("Demo"), ["metadata.name: "], "lower-case"),
    (group(groupName=""), [f"{GROUP}.groupName: is empty"], "a name of its own"),
    (group(groupName="big_mem"), [f'{GROUP}.groupName: "big_mem" cannot be part of a Pod\'s name'], "hyphens"),
    (group(groupName="-a"), [f"{GROUP}.groupName"], "cannot be part"),
    (group(groupName="a" * 64), [f"{GROUP}.groupName"], "has 64 characters"),
    (group(groupName="a" * 44 + ".b"), [f"{GROUP}.groupName"], "which is none"),
    (cluster(workerGroupSpecs=[worker_group()] * 2), ["spec.workerGroupSpecs[1].groupName"], f"also the name of {GROUP}"),
    (group(minReplicas=5, maxReplicas=2), [f"{GROUP}.minReplicas: 5 is above maxReplicas 2"], "between 0 and maxReplicas"),
    (group(minReplicas=-1), [f"{GROUP}.minReplicas: -1 is negative"], "0 or more"),
    (group(replicas=-1, maxReplicas=-1), [f"{GROUP}.replicas: -1", f"{GROUP}.maxReplicas: -1"], "negative"),
    (group(replicas=2**31), [f"{GROUP}.replicas: 2147483648 is too large"], "at most 2147483647"),
    (group(numOfHosts=0), [f"{GROUP}.numOfHosts: 0"], "at least one host"),
    (group(template=None), [f"{GROUP}.template: is missing"], "at least one container"),
    (group(template={}), [f"{GROUP}.template.spec.containers: is empty"], "first container is the Ray container"),
    (group(template={"spec": {"containers": "ray"}}), [f"{GROUP}.template.spec.containers: expected array, got str"], ""),
    (group(template=[]), [f"{GROUP}.template: expected object, got array"], ""),
    (cluster(headGroupSpec={}), [f"{HEAD}.template: is missing"], ""),
    ({**cluster(), "spec": {}}, [f"{HEAD}.template: is missing"], ""),
    (cluster(headGroupSpec=head_group({"name": ""})), [f"{RAY}.name: is empty"], ""),
    (cluster(headGroupSpec=head_group({"resources": {"limits": {"cpu": "many"}}})), [f"{RAY}.resources.limits.cpu"], "is no quantity"),
    (cluster(headGroupSpec=head_group({"resources": {"requests": {"cpu": True}}})), [f"{RAY}.resources.requests.cpu"], "is no quantity"),
    (cluster(headGroupSpec=head_group({"env": ["A=1"]})), [f"{RAY}.env[0]: expected object, got str"], ""),
    (group(resources={"CPU": "1"}, rayStartParams={"num-cpus": "1"}), [f"{GROUP}.resources"], "only one of the two"),
    (cluster(headGroupSpec=head_group(rayStartParams={"labels": "a=b"})), [f"{HEAD}.rayStartParams.labels"], f"use {HEAD}.labels"),
    (group(labels={"a b": "c"}), [f"{GROUP}.labels.a b"], "no key of a label"),
    (group(labels={"UPPER/x": "c"}), [f"{GROUP}.labels[UPPER/x]"], "no key of a label"),
    (group(labels={"a": "-"}), [f"{GROUP}.labels.a"], "no value of a label"),
    (cluster(headGroupSpec=head_group(serviceType="Sideways")), [f'{HEAD}.serviceType: "Sideways"'], "one of ClusterIP, NodePort"),
    (cluster(headGroupSpec=head_group(headService=[])), [f"{HEAD}.headService: expected object, got array"], ""),
    (
        cluster(headGroupSpec=head_group(headService={"spec": {"ports": [{"port": "80"}]}})),
        [f"{HEAD}.headService.spec.ports[0].port"],
        "got str",
    ),
    (cluster(managedBy="me"), ['spec.managedBy: "me"'], "kueue.x-k8s.io/multikueue"),
    (cluster(upgradeStrategy={"type": "Sometimes"}), ['spec.upgradeStrategy.type: "Sometimes" is unknown'], "Recreate, None"),
    (
        cluster(autoscalerOptions={"version": "v3", "resources": 1}),
        ["spec.autoscalerOptions.resources: expected object, got int"],
        "v1, v2",
    ),
    (cluster(autoscalerOptions={"idleTimeoutSeconds": -1}), ["spec.autoscalerOptions.idleTimeoutSeconds"], "negative"),
    (
        cluster(autoscalerOptions={"env": [{"name": "KUBERAY_GEN_AUTOSCALER_START_CMD"}]}),
        ["spec.autoscalerOptions.env"],
        "set by the operator",
    ),
    (group(idleTimeoutSeconds=5), [f"{GROUP}.idleTimeoutSeconds: needs autoscaler v2"], "version: v2"),
    (cluster(**V2, workerGroupSpecs=[worker_group(idleTimeoutSeconds=-5)]), [f"{GROUP}.idleTimeoutSeconds: -5 is negative"], ""),
    (cluster(**V2, rayVersion="2.55.0", workerGroupSpecs=[worker_group(priority=1)]), [f"{GROUP}.priority"], "rayVersion is 2.55.0"),
    (group(priority=1), [f"{GROUP}.priority"], "needs autoscaler v2"),
    (cluster(enableInTreeAutoscaling=True, workerGroupSpecs=[worker_group(suspend=True)]), [f"{GROUP}.suspend"], "autoscaler sizes it"),
    (cluster(headGroupSpec=head_group({"env": V2_ENV})), [f"{RAY}.env"], "without autoscaling"),
    (cluster(**V2, headGroupSpec=head_group({"env": V2_ENV})), [f"{RAY}.env"], "autoscalerOptions.version"),
    (cluster(**V2, headGroupSpec=head_group(pod={"restartPolicy": "Always"})), [f"{HEAD}.template.spec.restartPolicy"], "Never"),
    (cluster(headGroupSpec=head_group({"env": [{"name": "REDIS_USERNAME"}]})), [f"{RAY}.env"], "redisUsername"),
    (cluster(headGroupSpec=head_group({"env": [{"name": "RAY_REDIS_ADDRESS"}]})), [f"{RAY}.env"], "silently"),
    (annotated(cluster(**ft(redisAddress="r")), ft_enabled="false"), ["metadata.annotations[ray.io/ft-enabled]"], "only the latter"),
    (
        annotated(cluster(**ft(redisAddress="r")), external_storage_namespace="n"),
        ["metadata.annotations[ray.io/external"],
        "externalStorage",
    ),
    (
        cluster(**ft(), headGroupSpec=head_group(rayStartParams={"redis-password": "x"})),
        [f"{HEAD}.rayStartParams.redis-password"],
        "redisPassword",
    ),
    (cluster(**ft(), headGroupSpec=head_group({"env": [{"name": "REDIS_PASSWORD"}]})), [f"{RAY}.env"], "redisPassword"),
    (cluster(**ft(storage={})), [f"{FT}.storage"], "backend rocksdb"),
    (cluster(**ft(backend="rocksdb", redisAddress="r")), [f"{FT}.redisAddress"], "backend redis"),
    (
        cluster(**ft(backend="rocksdb", storage={"claimName": "a", "size": "1Gi", "accessModes": ["x"]})),
        [f"{FT}.storage.size"],
        "claimName",
    ),
    (
        cluster(**ft(backend="rocksdb"), headGroupSpec=head_group({"volumeMounts": [{"name": "a", "mountPath": "/data/gcs"}]})),
        [f"{RAY}.volumeMounts[0]"],
        "by the operator",
    ),
    (cluster(rayVersion="2.40.0", authOptions=TOKEN), ["spec.authOptions.mode"], "rayVersion is 2.40.0"),
    (cluster(rayVersion="", authOptions=TOKEN), ["spec.authOptions.mode"], "rayVersion is not set"),
    (cluster(rayVersion="nightly", authOptions=TOKEN), ["spec.authOptions.mode"], "names no version"),
    (cluster(authOptions={"enableK8sTokenAuth": True}), ["spec.authOptions.enableK8sTokenAuth"], "mode: token"),
    (cluster(authOptions={**TOKEN, "secretName": "other/secret"}), ["spec.authOptions.secretName"], "own namespace"),
    (cluster(headGroupSpec=head_group(serviceType="ExternalName")), [f"{HEAD}.serviceType"], "one of"),
    (cluster(authOptions={**TOKEN, "secretName": "../secret"}), ["spec.authOptions.secretName"], "own namespace"),
    (
        cluster(headGroupSpec=head_group(headService={"spec": {"externalIPs": ["192.0.2.1"]}})),
        [f"{HEAD}.headService.spec.externalIPs"],
        "left out",
    ),
    (
        cluster(headGroupSpec=head_group(headService={"spec": {"type": "ExternalName", "externalName": "elsewhere.example.test"}})),
        [f"{HEAD}.headService.spec.externalName"],
        "left out",
    ),
    (cluster(authOptions={**TOKEN, "enableK8sTokenAuth": True, "secretName": "s"}), ["spec.authOptions.enableK8sTokenAuth"], "secretName"),
    (cluster(historyServerOptions={}), ["spec.historyServerOptions.collectorOptions: is missing"], ""),
    (
        cluster(historyServerOptions={"collectorOptions": {"env": COLLECTOR_ENV}}),
        ["spec.historyServerOptions.collectorOptions.image"],
        "missing",
    ),
    (
        cluster(historyServerOptions={"collectorOptions": {"image": "c", "env": COLLECTOR_ENV[:1]}}),
        ["spec.historyServerOptions.collectorOptions.env: GCS_BUCKET is missing"],
        "",
    ),
    (cluster(networkPolicy={"mode": "DenyAllEgress", "head": {"ingressRules": [{}]}}), ["spec.networkPolicy.head.ingressRules"], "open"),
    (
        cluster(networkPolicy={"workerGroups": [{"groupName": "other"}]}),
        ["spec.networkPolicy.workerGroups[0].groupName"],
        "names no worker",
    ),
    (cluster(networkPolicy={}, workerGroupSpecs=[worker_group(groupName="Up")]), [f"{GROUP}.groupName"], "NetworkPolicy's name"),
    (
        cluster(tlsOptions={"enabled": True}, headGroupSpec=head_group({"env": [{"name": "RAY_USE_TLS", "value": "1"}]})),
        [f"{RAY}.env: RAY_USE_TLS"],
        "set by the operator",
    ),
]

TLS = {"tlsOptions": {"enabled": True}}
ROCKSDB = ft(backend="rocksdb")
COLLECTOR = "spec.historyServerOptions.collectorOptions"


def history(*variables: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"historyServerOptions": {"collectorOptions": {"image": "c:1", "env": list(variables), **fields}}}


BAD += [
    (cluster(rayVersion="2.54.1", authOptions={**TOKEN, "enableK8sTokenAuth": True}), ["spec.authOptions.enableK8sTokenAuth"], "2.54.1"),
    (cluster(autoscalerOptions={"env": [{"name": 1}]}), ["spec.autoscalerOptions.env[0].name: expected str, got int"], ""),
    (cluster(autoscalerOptions={"volumeMounts": [{"name": 1}]}), ["spec.autoscalerOptions.volumeMounts[0].name: expected str"], ""),
    (
        cluster(networkPolicy={"workerGroups": [{"groupName": "small", "ingressRules": [80]}]}),
        ["spec.networkPolicy.workerGroups[0].ingressRules[0]: expected object, got int"],
        "",
    ),
    (
        cluster(networkPolicy={"mode": "DenyAllIngress", "workerGroups": [{"groupName": "small", "egressRules": DNS_RULE}]}),
        ["spec.networkPolicy.workerGroups[0].egressRules"],
        "open",
    ),
    (cluster(headGroupSpec=head_group(rayStartParams={"redis-username": "u"})), [f"{HEAD}.rayStartParams.redis-username"], "redisUsername"),
    (cluster(**ROCKSDB, headGroupSpec=head_group({"env": [{"name": "RAY_gcs_storage"}]})), [f"{RAY}.env: RAY_gcs_storage"], "left out"),
    (
        cluster(**ROCKSDB, headGroupSpec=head_group(pod={"volumes": [{"name": "gcs-storage"}]})),
        [f"{HEAD}.template.spec.volumes[0].name"],
        "own volume",
    ),
    (cluster(**history({"name": 1}, *COLLECTOR_ENV)), [f"{COLLECTOR}.env[0].name: expected str, got int"], ""),
    (cluster(**history()), [f"{COLLECTOR}.env: STORAGE_BACKEND is missing"], "literal value"),
    (cluster(**history({"name": "POD_IP"}, *COLLECTOR_ENV)), [f"{COLLECTOR}.env: POD_IP"], "set by the operator"),
    (
        cluster(**history(*COLLECTOR_ENV), headGroupSpec=head_group({"name": "ray-history-collector"})),
        [f"{RAY}.name: ray-history-collector"],
        "another name",
    ),
    (group(template={"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}), [f"{GROUP}.template.spec.containers[1].name"], "another"),
    (
        cluster(**TLS, headGroupSpec=head_group({"volumeMounts": [{"name": "a", "mountPath": "/etc/ray/tls"}]})),
        [f"{RAY}.volumeMounts: ray-tls"],
        "by the operator",
    ),
    (
        cluster(**TLS, autoscalerOptions={"volumeMounts": [{"name": "ray-tls"}]}),
        ["spec.autoscalerOptions.volumeMounts: ray-tls"],
        "by the operator",
    ),
]
