"""Situations as values: what a cluster, its Pods and their Events come to."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.diagnosis.diagnose import diagnose
from rayfleet.diagnosis.finding import Diagnosis
from rayfleet.diagnosis.pod_state import pod_state
from rayfleet.diagnosis.reading import logs_of, of_interest
from rayfleet.diagnosis.situation import Log, Situation, Told, cluster_of
from rayfleet.planning.clock import rfc3339

NOW = 1_900_000_000.0
Obj = dict[str, Any]


def ago(seconds: float) -> str:
    return rfc3339(NOW - seconds)


def cluster(*conditions: Obj, workers: int = 0, ready: int = 0, spec: Obj | None = None, status: Obj | None = None, **metadata: Any) -> Obj:
    found = {
        "observedGeneration": 1,
        "desiredWorkerReplicas": workers,
        "readyWorkerReplicas": ready,
        "lastUpdateTime": ago(5),
        "conditions": [{"lastTransitionTime": ago(300), **each} for each in conditions],
    }
    meta = {"name": "one", "namespace": "default", "uid": "u", "generation": 1, "creationTimestamp": ago(600), **metadata}
    return {"metadata": meta, "spec": spec or {}, "status": found if status is None else status}


def pod(name: str = "one-head-x7k2p", *, group: str = "headgroup", node: str = "n", conditions: tuple[Obj, ...] = (), **status: Any) -> Obj:
    node_type = "head" if group == "headgroup" else "worker"
    labels = {"ray.io/cluster": "one", "ray.io/node-type": node_type, "ray.io/group": group}
    spec = {"nodeName": node, "containers": [{"name": "ray", "image": "i", "resources": {"limits": {"memory": "1Gi", "cpu": 1}}}]}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels, "creationTimestamp": ago(600)},
        "spec": spec,
        "status": {"phase": "Pending", "conditions": list(conditions), **status},
    }


def told(reason: str, note: str, *, about: tuple[str, str] = ("Pod", "one-head-x7k2p"), age: float = 10, count: int = 1) -> Told:
    return Told(about, "Warning", reason, note, ago(age), count)


def judged(found: Obj, *pods: Obj, events: tuple[Told, ...] = (), logs: tuple[Log, ...] = (), **more: Any) -> Diagnosis:
    return diagnose(Situation(cluster_of(found), NOW, tuple(map(pod_state, pods)), events, logs, **more))


def ray(state: Obj, **more: Any) -> Obj:
    return {"containerStatuses": [{"name": "ray", "state": state, **more}]}


READY = {"type": "HeadPodReady", "status": "True", "reason": "HeadPodRunningAndReady"}
WAITS = {"waiting": {"reason": "ContainerCreating"}}
RUNS = {"running": {"startedAt": ago(300)}}


def scheduled(status: str, reason: str, message: str = "") -> Obj:
    return {"type": "PodScheduled", "status": status, "reason": reason, "message": message}


PODS: list[tuple[str, Obj, tuple[Told, ...], str]] = [
    ("NoScheduler", pod(node=""), (), "default-scheduler"),
    ("SchedulingGated", pod(node="", conditions=(scheduled("False", "SchedulingGated", "non-empty gates"),)), (), "non-empty gates"),
    ("Unschedulable", pod(node="", conditions=(scheduled("False", "Unschedulable", "no nodes available"),)), (), "add a node"),
    (
        "Unschedulable",
        pod(node="", conditions=(scheduled("False", "Unschedulable", "pod has unbound immediate PersistentVolumeClaims"),)),
        (),
        "describe pvc",
    ),
    ("VolumeNotMounted", pod(**ray(WAITS)), (told("FailedAttachVolume", "Multi-Attach error for volume pv"),), "Multi-Attach"),
    (
        "VolumeNotMounted",
        pod(**ray(WAITS)),
        (told("FailedMount", "hostPath /data is below no directory that `hostPaths` of local.yaml allows"),),
        "hostPaths: [DIRECTORY]",
    ),
    ("VolumeNotMounted", pod(**ray(WAITS)), (told("FailedMount", "nfs volumes are not offered by the local kubelet"),), "use a claim"),
    ("MissingSecret", pod(**ray(WAITS)), (told("FailedMount", "references non-existent secret key: ca.crt"),), "ca.crt"),
    ("SandboxFailed", pod(**ray(WAITS)), (told("FailedCreatePodSandBox", "cni plugin not initialized"),), "cni plugin"),
    ("ContainerCannotStart", pod(**ray({"waiting": {"reason": "RunContainerError", "message": "exec: no"}})), (), "exec: no"),
    (
        "MissingConfigMap",
        pod(**ray({"waiting": {"reason": "CreateContainerConfigError", "message": "couldn't find key k in ConfigMap default/c"}})),
        (),
        "The key k of the ConfigMap c",
    ),
    ("ContainerConfig", pod(**ray({"waiting": {"reason": "CreateContainerConfigError", "message": "runAsNonRoot"}})), (), "runAsNonRoot"),
    ("ImagePull", pod(**ray({"waiting": {"reason": "ErrImagePull", "message": "401 unauthorized"}})), (), "imagePullSecrets"),
    ("PodFailed", pod(phase="Failed", reason="Evicted", message="low on memory"), (), "low on memory"),
    (
        "OOMKilled",
        pod(phase="Failed", **ray({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
        (),
        "its limit of 1Gi",
    ),
    ("CrashLoop", pod(phase="Running", **ray({"terminated": {"exitCode": 1, "reason": "Error"}})), (), "has failed"),
    ("NotReady", pod(phase="Running", **ray(RUNS)), (told("Unhealthy", "Readiness probe failed: no"),), "probe failed: no"),
]


@pytest.mark.parametrize(("problem", "head", "events", "words"), PODS, ids=[f"{problem}-{words}" for problem, _, _, words in PODS])
def test_what_is_wrong_with_a_pod_is_found_with_its_reason(problem: str, head: Obj, events: tuple[Told, ...], words: str) -> None:
    found = judged(cluster({"type": "HeadPodReady", "status": "False", "reason": "X"}), head, events=events)
    (finding,) = found.findings
    assert finding.problem == problem
    assert finding.where == ("pod/one-head-x7k2p",)
    assert finding.why[0].says == "HeadPodReady=False: X"
    assert finding.advice
    assert words in " ".join((finding.seen, *(step.says for step in finding.why), *finding.advice))
    assert not found.healthy and found.state == "broken"


def test_a_pod_that_only_starts_is_no_fault() -> None:
    fresh = pod(phase="Running", **ray({"running": {"startedAt": ago(5)}}))
    unhealthy = told("Unhealthy", "Readiness probe failed: no")
    for found in (judged(cluster(), pod(**ray(WAITS))), judged(cluster(), fresh, events=(unhealthy,))):
        assert (found.findings, found.state) == ((), "starting")
        assert "nothing is wrong so far" in found.notes[0]


def test_a_deletion_that_does_not_end_is_told_with_what_holds_it() -> None:
    gone = pod()
    gone["metadata"] |= {"deletionTimestamp": ago(300), "finalizers": ["example.com/hold"]}
    found = judged(cluster(READY), gone, pod("one-head-b4d8f", phase="Running", conditions=({"type": "Ready", "status": "True"},)))
    assert [finding.problem for finding in found.findings] == ["StuckTerminating"]
    assert "example.com/hold" in found.findings[0].why[0].says
    held = judged(cluster(deletionTimestamp=ago(300), finalizers=["ray.io/gcs-ft-redis-cleanup-finalizer"]))
    assert ([finding.problem for finding in held.findings], held.state) == (["StuckDeleting"], "deleting")
    assert judged(cluster(deletionTimestamp=ago(3), finalizers=["a"])).healthy


def test_certificates_that_are_not_issued_are_the_cause() -> None:
    waits = {"type": "CertificatesReady", "status": "False", "reason": "CertManagerMissing", "message": "no cert-manager"}
    (finding,) = judged(cluster(waits)).findings
    assert (finding.problem, finding.why[0].says) == (
        "CertificatesNotReady",
        "CertificatesReady=False: CertManagerMissing: no cert-manager",
    )


def test_a_head_that_does_not_let_the_operator_size_its_cluster_is_told() -> None:
    said = {"type": "Autoscaling", "status": "False", "reason": "HeadUnreachable", "message": "the head's GCS does not answer: timeout"}
    (finding,) = judged(cluster(READY, said)).findings
    assert finding.problem == "NotSized"
    assert "network policy" in finding.advice[0]


@pytest.mark.parametrize("reason", ["SidecarPresent", "DemandInfeasible"])
def test_what_is_no_fault_of_autoscaling_is_a_note(reason: str) -> None:
    said = {"type": "Autoscaling", "status": str(reason == "DemandInfeasible"), "reason": reason, "message": "so and so"}
    found = judged(cluster(READY, said))
    assert (found.findings, found.notes) == ((), ("autoscaling: so and so",))


def test_an_operator_that_does_not_act_is_told_after_a_while_and_not_before() -> None:
    idle = cluster(READY, workers=2, status=None)
    idle["status"]["lastUpdateTime"] = ago(300)
    ready = pod(phase="Running", conditions=({"type": "Ready", "status": "True"},))
    assert [finding.problem for finding in judged(idle, ready).findings] == ["NoOperator"]
    idle["status"]["lastUpdateTime"] = ago(3)
    assert judged(idle, ready).healthy
    assert [finding.problem for finding in judged(cluster(status={})).findings] == ["NoOperator"]
    assert judged(cluster(status={}, creationTimestamp=ago(3))).healthy
    assert "last change" in judged(cluster(READY, generation=2), ready).findings[0].seen


def test_a_cluster_of_another_manager_is_left_alone() -> None:
    found = judged(cluster(status={}, spec={"managedBy": "kueue.x-k8s.io/multikueue"}))
    assert found.healthy
    assert "multikueue" in found.notes[0]


def test_a_refusal_that_only_an_event_tells_of_is_found_as_with_kuberay() -> None:
    """KubeRay sets no condition Valid, and tells the same event again and again."""
    note = "The RayCluster spec is invalid default/one: worker group names must be unique"
    event = told("InvalidRayClusterSpec", note, about=("RayCluster", "one"))
    assert [finding.problem for finding in judged(cluster(status={}), events=(event,)).findings] == ["NoOperator", "InvalidSpec"]
    late = told("InvalidRayClusterSpec", note, about=("RayCluster", "one"), age=5000)
    assert "InvalidSpec" not in [finding.problem for finding in judged(cluster(status={}), events=(late,)).findings]


def test_what_follows_from_a_head_that_is_broken_is_left_out() -> None:
    log = Log("one-small-worker-b4d8f", "ray", lines=("Failed to connect to GCS at address one-head-svc:6379 within 5 seconds.",))
    worker = pod("one-small-worker-b4d8f", group="small", phase="Running", **ray(RUNS))
    broken = pod(phase="Running", **ray({"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=3))
    assert [finding.problem for finding in judged(cluster(workers=1), broken, worker, logs=(log,)).findings] == ["CrashLoop"]
    well = pod(phase="Running", conditions=({"type": "Ready", "status": "True"},))
    alone = judged(cluster(READY, workers=1), well, worker, logs=(log,), services=frozenset())
    (finding,) = alone.findings
    assert finding.problem == "HeadUnreachable"
    assert "there is no Service one-head-svc" in [step.says for step in finding.why]


def test_of_many_alike_a_few_are_read_and_one_finding_is_told() -> None:
    crash = ray({"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=2, lastState={"terminated": {"exitCode": 1}})
    workers = [pod(f"one-small-worker-{letter}4d8f", group="small", phase="Running", **crash) for letter in "bcdfg"]
    states = [pod_state(each) for each in workers]
    chosen = of_interest(states)
    assert len(chosen) == 3
    assert [place.previous for place in logs_of(chosen[0])] == [False, True]
    well = pod(phase="Running", conditions=({"type": "Ready", "status": "True"},))
    passed = frozenset(each.name for each in states) - {each.name for each in chosen}
    found = judged(cluster(READY, workers=5), well, *workers, passed_over=passed)
    (finding,) = found.findings
    assert len(finding.where) == 3
    assert found.notes == ("not looked into: 2 more of the same groups that are not well",)


def test_a_restart_of_long_ago_is_forgotten() -> None:
    ready = ({"type": "Ready", "status": "True"},)

    def restarted(age: float) -> Diagnosis:
        last = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(age)}}
        return judged(cluster(READY), pod(phase="Running", conditions=ready, **ray(RUNS, ready=True, restartCount=1, lastState=last)))

    assert [finding.problem for finding in restarted(60).findings] == ["Restarted"]
    assert restarted(60).state == "ready"
    assert restarted(5000).healthy


def test_a_restart_is_no_habit_and_an_init_container_that_is_done_no_fault() -> None:
    ready = ({"type": "Ready", "status": "True"},)
    lost = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "finishedAt": ago(60)}}
    once = judged(cluster(READY), pod(phase="Running", conditions=ready, **ray(RUNS, ready=True, restartCount=1, lastState=lost)))
    assert [finding.seen for finding in once.findings] == ["The container ray of the head has ended, and runs again."]
    done = {"name": "wait", "ready": True, "restartCount": 1, "state": {"terminated": {"exitCode": 0}}, "lastState": lost}
    assert judged(cluster(READY), pod(phase="Running", conditions=ready, initContainerStatuses=[done], **ray(RUNS, ready=True))).healthy


def test_a_spec_that_makes_no_sense_at_all_is_explained_all_the_same() -> None:
    refused = {"type": "Valid", "status": "False", "reason": "InvalidSpec", "message": "spec.suspend: expected bool"}
    found = judged(cluster(refused, spec={"suspend": "perhaps", "workerGroupSpecs": 7}))
    assert (found.state, [finding.problem for finding in found.findings]) == ("refused", ["InvalidSpec"])
