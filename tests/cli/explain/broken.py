"""Broken clusters, one a function: made for real where the embedded API and the operator can, played where a kubelet is needed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

from tests.cli.explain import ray_words
from tests.cli.explain.kubelet_words import (
    HEAD,
    container,
    crash_loop,
    ended,
    running,
    unschedulable,
    wait_for_head,
    waiting,
    well,
    write,
)
from tests.cli.explain.ward import UNWATCHED, WATCHED, Obj, Ward, pods_of, stamp, told
from tests.local.waiting import eventually

IMAGE = "rayproject/ray:2.60.0"
READY = ("HeadPodReady", "HeadPodRunningAndReady")


class Broken(NamedTuple):
    """`apply` makes the cluster, `break_it` comes once its Pods are there."""

    name: str
    namespace: str
    break_it: Callable[[Ward, str, str], None]
    apply: Callable[[Ward, str, str], None]
    code: int = 1


def cluster(namespace: str, name: str, *, workers: int = 0, image: str = IMAGE, worker_image: str = IMAGE) -> Obj:
    def template(image: str) -> Obj:
        limits = {"cpu": "1", "memory": "2Gi"}
        return {"spec": {"containers": [{"name": "ray", "image": image, "resources": {"limits": limits, "requests": dict(limits)}}]}}

    group = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 9, "rayStartParams": {}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template(image)},
            "workerGroupSpecs": [{**group, "template": template(worker_image)}] if workers else [],
        },
    }


def plain(**how: object) -> Callable[[Ward, str, str], None]:
    def apply(place: Ward, namespace: str, name: str) -> None:
        place.create(cluster(namespace, name, **how), "rayclusters")  # type: ignore[arg-type]

    return apply


def nothing(place: Ward, namespace: str, name: str) -> None:
    pass


def no_room(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    unschedulable(
        place,
        head,
        "0/3 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: present}, 2 Insufficient cpu. preemption: 0/3 nodes are"
        " available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
    )
    told(place, namespace, name, "HeadPodReady", "Unschedulable")


def no_image(place: Ward, namespace: str, name: str) -> None:
    image = "rayproject/ray:2.60.O"
    full = f"docker.io/{image}"
    pull = f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": {full}: not found'
    for pod in (*pods_of(place, namespace, name, "head"), *pods_of(place, namespace, name, "worker", 2)):
        is_head = pod["metadata"]["labels"]["ray.io/node-type"] == "head"
        words = f'Back-off pulling image "{image}": ErrImagePull: rpc error: code = NotFound desc = {pull}'
        if is_head:
            write(place, pod, container(pod, HEAD, state=waiting("ImagePullBackOff", words)), phase="Pending")
        else:
            held = container(pod, "wait-gcs-ready", state=waiting("ImagePullBackOff", words))
            write(place, pod, container(pod, HEAD, state=waiting("PodInitializing")), initial=held, phase="Pending")
        place.event(pod, "Failed", f'Failed to pull image "{image}": rpc error: code = NotFound desc = {pull}', count=4)
        place.event(pod, "Failed", "Error: ImagePullBackOff", count=9)
    told(place, namespace, name, "HeadPodReady", "ImagePullBackOff")


def apply_with_quota(place: Ward, namespace: str, name: str) -> None:
    meta = {"name": "team-budget", "namespace": namespace}
    place.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"limits.cpu": "2"}}}, "resourcequotas")
    plain(workers=3)(place, namespace, name)


def quota_used_up(place: Ward, namespace: str, name: str) -> None:
    for node_type in ("head", "worker"):
        for pod in pods_of(place, namespace, name, node_type):
            well(place, pod)
    told(place, namespace, name, "ReplicaFailure", "FailedCreateWorkerPod")
    told(place, namespace, name, *READY)


def bad_command(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    log = "bash: line 1: ray: command not found\n"
    crash_loop(place, head, log, 127)
    told(place, namespace, name, "HeadPodReady", "CrashLoopBackOff")


def evicted_twice(place: Ward, namespace: str, name: str) -> None:
    words = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 71252Ki."
    gone = ""
    for _ in range(2):
        (head,) = (pod for pod in pods_of(place, namespace, name, "head") if pod["metadata"]["name"] != gone)
        place.bind(head)
        place.status(head, phase="Failed", reason="Evicted", message=words)
        place.event(head, "Evicted", words)
        gone = head["metadata"]["name"]
        await_other(place, namespace, name, gone)
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    told(place, namespace, name, *READY)


def workers_fail(place: Ward, namespace: str, name: str) -> None:
    """A Pod that may not restart is deleted and replaced."""
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    (worker,) = pods_of(place, namespace, name, "worker")
    place.bind(worker)
    place.status(worker, phase="Failed", containerStatuses=[container(worker, HEAD, state=ended(137, "OOMKilled"))])
    eventually(lambda: any(each["reason"] == "DeletedWorkerPod" for each in place.told(namespace, name)), 30.0, "an Event")
    for pod in eventually(lambda: living(place, namespace, name), 30.0, "another worker"):
        well(place, pod)
    told(place, namespace, name, "RayClusterProvisioned", "AllPodRunningAndReadyFirstTime")


def living(place: Ward, namespace: str, name: str) -> list[Obj]:
    """Workers that have not failed. Nobody confirms the end of the others but this test."""
    found = place.pods(namespace, name, "worker")
    for pod in found:
        if "deletionTimestamp" in pod["metadata"]:
            path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}"
            place.send("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") != "Failed"]


def await_other(place: Ward, namespace: str, name: str, gone: str) -> None:
    """Another head is there. Nobody confirms the end of the evicted one but this test."""

    def look() -> bool:
        heads = place.pods(namespace, name, "head")
        for pod in heads:
            if pod["metadata"]["name"] == gone and "deletionTimestamp" in pod["metadata"]:
                path = f"/api/v1/namespaces/{namespace}/pods/{gone}"
                place.send("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        return [pod["metadata"]["name"] for pod in heads if pod["metadata"]["name"] != gone] != []

    eventually(look, 30.0, f"a head of {name} other than {gone}")


def wrong_token(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    for pod in pods_of(place, namespace, name, "worker", 2):
        crash_loop(place, pod, ray_words.WRONG_TOKEN)
    told(place, namespace, name, *READY)


def port_taken(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    crash_loop(place, head, ray_words.PORT_TAKEN)
    (worker,) = pods_of(place, namespace, name, "worker")
    wait_for_head(place, worker, ray_words.WAIT_TIMEOUT.format(host=f"{name}-head-svc.{namespace}.svc.cluster.local"))
    told(place, namespace, name, "HeadPodReady", "CrashLoopBackOff")


def no_dns(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    for pod in pods_of(place, namespace, name, "worker", 4):
        wait_for_head(place, pod, ray_words.WAIT_NAME.format(host=f"{name}-head-svc.{namespace}.svc.cluster.local"))
    told(place, namespace, name, *READY)


def fenced(place: Ward, namespace: str, name: str) -> None:
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "default-deny", "namespace": namespace},
        "spec": {"podSelector": {"matchLabels": {"ray.io/cluster": name}}, "policyTypes": ["Ingress"]},
    }
    place.create(policy, "networkpolicies")
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    (worker,) = pods_of(place, namespace, name, "worker")
    wait_for_head(place, worker, ray_words.WAIT_TIMEOUT.format(host=f"{name}-head-svc.{namespace}.svc.cluster.local"))
    told(place, namespace, name, *READY)


def other_version(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    (worker,) = pods_of(place, namespace, name, "worker")
    crash_loop(place, worker, ray_words.OTHER_VERSION)
    told(place, namespace, name, *READY)


def apply_refused(place: Ward, namespace: str, name: str) -> None:
    body = cluster(namespace, name, workers=2)
    body["spec"]["workerGroupSpecs"].append(deepcopy(body["spec"]["workerGroupSpecs"][0]))
    body["spec"]["workerGroupSpecs"][0]["minReplicas"] = 12
    place.create(body, "rayclusters")


def refused(place: Ward, namespace: str, name: str) -> None:
    told(place, namespace, name, "Valid", "InvalidSpec")


def apply_with_webhook(place: Ward, namespace: str, name: str) -> None:
    """The embedded API calls no webhook: status and Event as the operator writes them when a real API server does."""
    place.create(cluster(namespace, name), "rayclusters")
    found = place.cluster(namespace, name)
    words = 'admission webhook "labels.policy.example.com" denied the request: every Pod needs the label cost-centre'
    conditions = [
        {"type": "HeadPodReady", "status": "False", "reason": "HeadPodNotFound", "message": "there is no head Pod"},
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreateHeadPod", "message": f"Pod {name}-head-*: {words}"},
        {"type": "Valid", "status": "True", "reason": "SpecAccepted", "message": ""},
    ]
    status = {
        "conditions": [{**each, "lastTransitionTime": stamp(300), "observedGeneration": 1} for each in conditions],
        "observedGeneration": found["metadata"]["generation"],
    }
    path = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/{name}/status"
    place.send("PATCH", path, {"status": status}, "application/merge-patch+json")
    about = {**found, "apiVersion": "ray.io/v1", "kind": "RayCluster"}
    place.event(about, "FailedToCreateHeadPod", f"Pod {name}-head-x7k2p: {words}", source="rayfleet", count=3)


def apply_beside_stranger(place: Ward, namespace: str, name: str) -> None:
    meta = {"name": f"{name}-head-svc", "namespace": namespace}
    place.create({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}]}}, "services")
    plain()(place, namespace, name)


def name_taken(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    told(place, namespace, name, "ReplicaFailure", "NameConflict")
    told(place, namespace, name, *READY)


def no_secret(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    write(place, head, container(head, HEAD, state=waiting("CreateContainerConfigError", 'secret "hub-login" not found')), phase="Pending")
    place.event(head, "Failed", 'Error: secret "hub-login" not found', count=21)
    told(place, namespace, name, "HeadPodReady", "CreateContainerConfigError")


def no_config_map(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    (worker,) = pods_of(place, namespace, name, "worker")
    initial = container(worker, "wait-gcs-ready", state=waiting("PodInitializing"))
    write(place, worker, container(worker, HEAD, state=waiting("PodInitializing")), initial=initial, phase="Pending")
    place.event(worker, "FailedMount", 'MountVolume.SetUp failed for volume "conf" : configmap "ray-conf" not found', count=8)
    told(place, namespace, name, *READY)


def out_of_memory(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    well(place, head)
    one, other = pods_of(place, namespace, name, "worker", 2)
    crash_loop(place, one, "2026-11-30 10:32:47,023\tSUCC scripts.py:1085 -- Ray runtime started.\n", 137, "OOMKilled")
    write(place, other, container(other, HEAD, ready=True, restarts=1, state=running(20), last=ended(137, "OOMKilled")))
    told(place, namespace, name, *READY)


def probe_fails(place: Ward, namespace: str, name: str) -> None:
    (head,) = pods_of(place, namespace, name, "head")
    write(place, head, container(head, HEAD, restarts=3, state=running(40), last=ended(137)))
    place.log(head, HEAD, "2026-11-30 10:32:47,023\tSUCC scripts.py:1085 -- Ray runtime started.\n", previous=True)
    place.event(head, "Unhealthy", 'Liveness probe failed: command timed out: "bash -c ray health-check" timed out after 2s', count=360)
    place.event(head, "Killing", f"Container {HEAD} failed liveness probe, will be restarted", type="Normal", count=3)
    told(place, namespace, name, "HeadPodReady", "ContainersNotReady")


def apply_unwatched(place: Ward, namespace: str, name: str) -> None:
    place.create(cluster(namespace, name), "rayclusters")


def apply_of_a_lost_try(place: Ward, namespace: str, name: str) -> None:
    """Somebody makes the cluster of a job anew, by hand, after that job was lost with the first one."""
    body = cluster(namespace, name)
    spec = {
        "entrypoint": "x",
        "submissionMode": "SidecarMode",
        "suspend": True,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 3600,
    }
    meta = {"name": "train", "namespace": namespace, "annotations": {"rayfleet.dev/submitted-to": "train-1 uid-of-the-first/head"}}
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": {**spec, "rayClusterSpec": body["spec"]}}
    owner = place.create(job, "rayjobs")["metadata"]["uid"]
    path = f"/apis/ray.io/v1/namespaces/{namespace}/rayjobs/train"
    eventually(lambda: (place.send("GET", path).get("status") or {}).get("jobDeploymentStatus") == "Suspended", 30.0, "it is suspended")
    lost = {"jobDeploymentStatus": "Failed", "reason": "ClusterLost", "jobId": "train-1", "rayClusterName": name, "endTime": stamp()}
    place.send("PATCH", f"{path}/status", {"status": {**lost, "failed": 1}}, "application/merge-patch+json")
    reference = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "train", "uid": owner, "controller": True}
    made = {"labels": {"ray.io/job-submission-mode": "SidecarMode"}, "ownerReferences": [reference]}
    place.create({**body, "metadata": {**body["metadata"], **made}}, "rayclusters")


def headless(place: Ward, namespace: str, name: str) -> None:
    told(place, namespace, name, "HeadPodReady", "HeadPodNotFound")


CLUSTERS = (
    Broken("unschedulable", "default", no_room, plain()),
    Broken("image", "default", no_image, plain(workers=2, image="rayproject/ray:2.60.O", worker_image="rayproject/ray:2.60.O")),
    Broken("quota", WATCHED, quota_used_up, apply_with_quota),
    Broken("crash-loop", "default", bad_command, plain()),
    Broken("head-restarts", "default", evicted_twice, plain()),
    Broken("workers-fail", "default", workers_fail, plain(workers=1)),
    Broken("auth-mismatch", "default", wrong_token, plain(workers=2)),
    Broken("port-clash", "default", port_taken, plain(workers=1)),
    Broken("dns", "default", no_dns, plain(workers=4)),
    Broken("network-policy", "default", fenced, plain(workers=1)),
    Broken("version-mismatch", "default", other_version, plain(workers=1, worker_image="rayproject/ray:2.59.0")),
    Broken("refused-spec", "default", refused, apply_refused),
    Broken("webhook", UNWATCHED, nothing, apply_with_webhook),
    Broken("foreign-service", "default", name_taken, apply_beside_stranger),
    Broken("missing-secret", "default", no_secret, plain()),
    Broken("missing-configmap", "default", no_config_map, plain(workers=1)),
    Broken("out-of-memory", "default", out_of_memory, plain(workers=2)),
    Broken("probe-fails", "default", probe_fails, plain()),
    Broken("waits-for-job", "default", headless, apply_of_a_lost_try),
)
