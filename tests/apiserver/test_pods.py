"""Pods and Services as the server completes and refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.manifests import PODS, SERVICES, Obj, pod
from tests.apiserver.peer import JSON_PATCH, STRATEGIC, TABLE, Peer


async def test_a_pod_gets_the_defaults_of_kubernetes(peer: Peer) -> None:
    body = pod()
    body["spec"]["containers"][0] |= {
        "image": "ray:2.60",
        "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": 1}},
        "readinessProbe": {"httpGet": {"port": 80}},
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }
    body["spec"]["volumes"] = [{"name": "x"}, {"name": "s", "secret": {"secretName": "s"}}]
    spec = (await peer.create(PODS, body)).body["spec"]
    container = spec.pop("containers")[0]
    assert container == {
        "name": "main",
        "image": "ray:2.60",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
        "readinessProbe": {
            "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP", "apiVersion": "v1"}}}],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    away = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    assert spec == {
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [{"key": f"node.kubernetes.io/{word}", **away} for word in ("not-ready", "unreachable")],
        "volumes": [{"name": "x", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"name": "UPPER"}, "spec.containers[0].name"),
        ({"image": ""}, "spec.containers[0].image"),
        ({"ports": [{"containerPort": 0}]}, "spec.containers[0].ports[0].containerPort"),
        ({"ports": [{"containerPort": 1, "name": "p"}, {"containerPort": 2, "name": "p"}]}, "spec.containers[0].ports[1].name"),
        ({"volumeMounts": [{"name": "nowhere", "mountPath": "/x"}]}, "spec.containers[0].volumeMounts[0].name"),
        ({"env": [{"value": "x"}]}, "spec.containers[0].env[0].name"),
        ({"livenessProbe": {}}, "spec.containers[0].livenessProbe"),
        ({"imagePullPolicy": "Sometimes"}, "spec.containers[0].imagePullPolicy"),
    ],
)
async def test_a_bad_container_is_refused_by_field(peer: Peer, container: Obj, field: str) -> None:
    body = pod()
    body["spec"]["containers"][0] |= container
    refused = await peer.create(PODS, body)
    assert refused.status == 422
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [field]


async def test_containers_are_needed_and_have_different_names(peer: Peer) -> None:
    body = pod()
    body["spec"]["containers"] *= 2
    doubled = await peer.create(PODS, body)
    assert doubled.body["message"] == 'Pod "a" is invalid: spec.containers[1].name: Duplicate value: "main"'
    none = await peer.create(PODS, {"metadata": {"name": "a"}, "spec": {"containers": []}})
    assert none.body["message"] == 'Pod "a" is invalid: spec.containers: Required value'


@pytest.mark.parametrize(
    "spec",
    [{"containers": "x"}, {"containers": [3]}, [], {"containers": [{"command": "ls"}]}, {"nodeSelector": {"a": 1}}, {"hostNetwork": "yes"}],
)
async def test_a_wrong_type_is_a_bad_request(peer: Peer, spec: Any) -> None:
    refused = await peer.create(PODS, {"metadata": {"name": "a"}, "spec": spec})
    assert (refused.status, refused.body["reason"]) == (400, "BadRequest")
    assert "json: cannot unmarshal" in refused.body["message"]


async def test_a_typo_in_a_pod_is_dropped_with_a_warning(peer: Peer) -> None:
    body = pod()
    body["spec"]["containers"][0]["resourses"] = {"limits": {"cpu": 1}}
    body["spec"]["restartPolcy"] = "Never"
    created = await peer.create(PODS, body)
    assert created.status == 201
    assert created.warnings == ['299 - "unknown field \\"spec.containers[0].resourses\\""', '299 - "unknown field \\"spec.restartPolcy\\""']
    assert (await peer.create(f"{PODS}?fieldValidation=Strict", body)).status == 400


async def test_the_spec_of_a_pod_does_not_change(peer: Peer) -> None:
    await peer.create(PODS, pod())
    refused = await peer.patch(f"{PODS}/a", {"spec": {"hostname": "x"}})
    assert refused.body["details"]["causes"][0]["field"] == "spec"
    image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    assert (await peer.patch(f"{PODS}/a", image, STRATEGIC)).status == 200
    assert (await peer.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})).status == 200


async def test_a_kubelet_writes_the_status_and_may_label(peer: Peer) -> None:
    await peer.create(PODS, pod())
    written = await peer.patch(
        f"{PODS}/a/status", {"metadata": {"labels": {"x": "y"}}, "spec": {"hostname": "no"}, "status": {"phase": "Running"}}
    )
    assert written.body["status"]["phase"] == "Running"
    assert written.meta["labels"] == {"x": "y"}
    assert "hostname" not in written.body["spec"]
    condition = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await peer.patch(f"{PODS}/a/status", {"status": {"conditions": [{"type": "Initialized", "status": "True"}]}}, STRATEGIC)
    merged = await peer.patch(f"{PODS}/a/status", condition, STRATEGIC)
    assert [each["type"] for each in merged.body["status"]["conditions"]] == ["Ready", "Initialized"]
    assert [row["cells"][:4] for row in (await peer.get(PODS, Accept=TABLE)).body["rows"]] == [["a", "0/1", "Running", "0"]]


async def test_json_patches_are_lenient_and_tested(peer: Peer) -> None:
    await peer.create(PODS, pod())
    added = await peer.patch(f"{PODS}/a", [{"op": "add", "path": "/metadata/labels", "value": {"a~/b": "c"}}], JSON_PATCH)
    assert added.status == 422
    operations = [{"op": "replace", "path": "/metadata/annotations", "value": {"a": "b"}}]
    assert (await peer.patch(f"{PODS}/a", operations, JSON_PATCH)).meta["annotations"] == {"a": "b"}
    failing = [{"op": "test", "path": "/metadata/annotations/a", "value": "c"}]
    assert (await peer.patch(f"{PODS}/a", failing, JSON_PATCH)).status == 422


async def test_a_service_gets_an_address_and_keeps_it(peer: Peer) -> None:
    created = (await peer.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).body
    address = created["spec"]["clusterIP"]
    assert address.startswith("10.96.")
    assert created["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "clusterIP": address,
        "clusterIPs": [address],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    replaced = await peer.put(f"{SERVICES}/s", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 81}]}})
    assert replaced.body["spec"]["clusterIP"] == address
    other = await peer.create(SERVICES, {"metadata": {"name": "t"}, "spec": {"ports": [{"port": 80}], "clusterIP": address}})
    assert "provided IP is already allocated" in other.body["message"]


async def test_headless_services_and_node_ports(peer: Peer) -> None:
    headless = await peer.create(SERVICES, {"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}})
    assert headless.body["spec"]["clusterIPs"] == ["None"]
    exposed = await peer.create(SERVICES, {"metadata": {"name": "n"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}})
    port = exposed.body["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    taken = {"metadata": {"name": "m"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}}
    assert (await peer.create(SERVICES, taken)).status == 422
    back = await peer.patch(f"{SERVICES}/n", {"spec": {"type": "ClusterIP"}})
    assert "nodePort" not in back.body["spec"]["ports"][0]
    assert (await peer.create(SERVICES, taken)).status == 201


async def test_the_address_of_a_deleted_service_is_free_again(peer: Peer) -> None:
    address = (await peer.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).body["spec"]["clusterIP"]
    await peer.delete(f"{SERVICES}/s")
    again = await peer.create(SERVICES, {"metadata": {"name": "t"}, "spec": {"ports": [{"port": 80}], "clusterIP": address}})
    assert again.status == 201


async def test_the_api_itself_is_a_service(peer: Peer) -> None:
    assert (await peer.get(f"{SERVICES}/kubernetes")).body["spec"]["clusterIP"] == "10.96.0.1"
