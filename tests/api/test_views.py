"""Views of Pods and Services, from the bytes that an API sends."""

from __future__ import annotations

import gc
from typing import Any

import msgspec
import pytest

from rayfleet.api.views import PodView, decode_child, decode_service

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "demo-small-worker-bcdfg",
        "namespace": "lab",
        "labels": {
            "ray.io/node-type": "worker",
            "ray.io/group": "small",
            "ray.io/worker-group-replica-index": "3",
            "ray.io/replica-host-index": "1",
        },
        "managedFields": [{"manager": "kubelet"}],
    },
    "spec": {"nodeName": "local", "containers": [{"name": "ray", "image": "x"}], "volumes": []},
    "status": {
        "phase": "Running",
        "podIP": "10.88.0.2",
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
        "containerStatuses": [
            {"name": "ray", "ready": True, "restartCount": 2, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "image": "x"}
        ],
    },
}


def pod(**status: Any) -> PodView:
    return msgspec.json.decode(msgspec.json.encode({**POD, "status": {**POD["status"], **status}}), type=PodView)


def test_a_worker_pod() -> None:
    view = pod()
    assert (view.name, view.group, view.is_worker, view.is_head) == ("demo-small-worker-bcdfg", "small", True, False)
    assert (view.running, view.ready, view.terminating, view.slot) == (True, True, False, (3, 1))
    assert (view.spec.node_name, view.status.pod_ip) == ("local", "10.88.0.2")
    assert view.status.container_statuses and view.status.container_statuses[0].restart_count == 2


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({"conditions": [{"type": "Ready", "status": "False"}]}, False),
        ({"conditions": None}, False),
        ({"phase": "Failed"}, False),
        ({"phase": "Pending"}, False),
        ({}, True),
    ],
)
def test_ready_is_running_with_a_true_condition(status: dict[str, Any], ready: bool) -> None:
    assert pod(**status).ready is ready


def test_states_of_containers() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    ended = {"terminated": {"exitCode": 42, "reason": "Error"}}
    view = pod(containerStatuses=[{"name": "a", "state": waiting}, {"name": "b", "state": ended}])
    first, second = view.status.container_statuses or ()
    assert first.state.waiting and first.state.waiting.reason == "ImagePullBackOff"
    assert second.state.terminated and second.state.terminated.exit_code == 42


def test_a_service() -> None:
    document = {
        "metadata": {"name": "demo-head-svc"},
        "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"name": "gcs", "port": 6379, "targetPort": "gcs"}]},
    }
    view = decode_service(msgspec.json.encode(document))
    assert (view.spec.cluster_ip, view.spec.selector) == ("None", {"a": "b"})
    assert view.spec.ports and (view.spec.ports[0].port, view.spec.ports[0].target_port) == (6379, "gcs")


def test_a_child_keeps_what_its_owner_may_have_written_and_nothing_else() -> None:
    metadata = {"name": "a", "labels": {"x": "y"}, "managedFields": [{}], "resourceVersion": "7", "uid": "u"}
    view = decode_child(msgspec.json.encode({"kind": "Role", "metadata": metadata, "rules": [1], "status": {"s": 1}}))
    assert (view.metadata.name, view.metadata.uid, view.metadata.resource_version) == ("a", "u", "7")
    assert view.body() == {"kind": "Role", "metadata": {"name": "a", "labels": {"x": "y"}}, "rules": [1]}


def test_the_garbage_collector_does_not_see_views() -> None:
    view = pod()
    assert not any(gc.is_tracked(each) for each in (view, view.metadata, view.spec, view.status))
